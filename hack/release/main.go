// Command release generates what is released: the Helm chart and the OLM bundle, which are
// committed, and the archive of a release.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/nginx-operator/hack/release/internal/archive"
	"example.com/nginx-operator/hack/release/internal/bundle"
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
	command := &cobra.Command{Use: "release", Short: "Make the chart, the bundle and the files of a release", SilenceUsage: true}
	command.PersistentFlags().StringVar(&root, "root", ".", "root of the repository")
	command.AddCommand(
		&cobra.Command{
			Use: "generate", Short: "Make charts/ and bundle/ from config/", Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error { return generate(root) },
		},
		&cobra.Command{
			Use: "validate DIR", Short: "Check an OLM bundle against the published rules", Args: cobra.ExactArgs(1),
			RunE: func(command *cobra.Command, args []string) error {
				return validateBundle(command.OutOrStdout(), args[0])
			},
		},
		newArchiveCommand(&root),
	)
	return command
}

func newArchiveCommand(root *string) *cobra.Command {
	var out, revision string
	var date int64
	command := &cobra.Command{
		Use: "archive", Short: "Make every file of a release", Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			p, err := project.Open(*root)
			if err != nil {
				return err
			}
			programs, err := os.MkdirTemp("", "release-")
			if err != nil {
				return err
			}
			a := &archive.Archive{Project: p, Revision: revision, Date: time.Unix(date, 0).UTC(), Programs: programs}
			return errors.Join(a.Make(command.Context(), out), os.RemoveAll(programs))
		},
	}
	command.Flags().StringVar(&out, "out", "dist", "folder for the files; it is emptied first")
	command.Flags().StringVar(&revision, "revision", "", "ID of the commit")
	command.Flags().Int64Var(&date, "date", 0, "time of the commit, in seconds since the epoch")
	for _, name := range []string{"revision", "date"} {
		_ = command.MarkFlagRequired(name)
	}
	return command
}

func generate(root string) error {
	p, err := project.Open(root)
	if err != nil {
		return err
	}
	if err := p.Stamp(); err != nil {
		return err
	}
	files, err := chart.Files(p)
	if err != nil {
		return fmt.Errorf("make the chart: %w", err)
	}
	if err := chart.Write(p.Path(chart.Dir), files); err != nil {
		return err
	}
	if files, err = bundle.Files(p); err != nil {
		return fmt.Errorf("make the bundle: %w", err)
	}
	return bundle.Write(p.Path(bundle.Dir), files)
}

// validatedKubeVersion is the newest Kubernetes that the bundle is validated for.
const validatedKubeVersion = "1.37"

func validateBundle(out io.Writer, dir string) error {
	findings, err := bundle.Validate(dir, validatedKubeVersion)
	if err != nil {
		return err
	}
	broken := 0
	var text strings.Builder
	for _, finding := range findings {
		broken += len(finding.Errors)
		fmt.Fprintf(&text, "%s: %d errors, %d warnings\n", finding.Validator, len(finding.Errors), len(finding.Warnings))
		for _, message := range slices.Concat(finding.Errors, finding.Warnings) {
			text.WriteString("  " + message + "\n")
		}
	}
	if _, err := io.WriteString(out, text.String()); err != nil {
		return err
	}
	if broken > 0 {
		return fmt.Errorf("%s breaks %d rules", dir, broken)
	}
	return nil
}
