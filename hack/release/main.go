// Command release makes what is released: the Helm chart and the OLM bundle, which are
// committed, and the archive of a release.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"example.com/nginx-operator/hack/release/internal/chart"
	"example.com/nginx-operator/hack/release/internal/project"
)

func main() {
	if err := newCommand().Execute(); err != nil {
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	var root string
	command := &cobra.Command{Use: "release", Short: "Make what is released", SilenceUsage: true}
	command.PersistentFlags().StringVar(&root, "root", ".", "the repository")
	command.AddCommand(&cobra.Command{
		Use: "generate", Short: "Make charts/ and bundle/ from config/", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			p, err := project.Open(root)
			if err != nil {
				return err
			}
			return generate(p)
		},
	})
	return command
}

func generate(p *project.Project) error {
	files, err := chart.Files(p)
	if err != nil {
		return fmt.Errorf("make the chart: %w", err)
	}
	return chart.Write(p.Path(chart.Dir), files)
}
