package plugin

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"example.com/nginx-operator/internal/plugin/encode"
	"example.com/nginx-operator/internal/plugin/lint"
	"example.com/nginx-operator/internal/plugin/nginxtest"
	"example.com/nginx-operator/internal/plugin/screen"
	"example.com/nginx-operator/internal/plugin/userfile"
)

const lintLong = `Check manifests of the operator's kinds without a cluster, as the API server and the operator would: unknown fields,
values, rules between fields, the names and the syntax of configuration files, and whether a server listens on each port.
ConfigMaps in the same input are checked as configurations that refer to them. --nginx tests configurations with nginx
itself. Objects of other kinds are skipped.

The exit code is 3 if a manifest would be refused.`

type lintFlags struct {
	paths         []string
	nginx, output string
}

func newLint() *cobra.Command {
	f := &lintFlags{}
	cmd := &cobra.Command{
		Use:   "lint -f FILE...",
		Short: "Check manifests without a cluster",
		Long:  lintLong,
		Example: `  kubectl nginx lint -f app.yaml
  kustomize build . | kubectl nginx lint -f - --nginx /usr/sbin/nginx`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	cmd.Flags().StringSliceVarP(&f.paths, "filename", "f", nil, "files or folders with manifests; - is the standard input")
	cmd.Flags().StringVar(&f.nginx, "nginx", "", "the path of an nginx that tests the configurations")
	cmd.Flags().StringVarP(&f.output, "output", "o", "text", "the format of the result: text or json")
	if err := cmd.MarkFlagRequired("filename"); err != nil {
		panic(err) // the flag exists
	}
	return cmd
}

func (f *lintFlags) run(cmd *cobra.Command) error {
	if f.output != "text" && f.output != "json" {
		return fmt.Errorf("--output %s: use text or json", f.output)
	}
	var test lint.Tester
	if f.nginx != "" {
		nginx, err := nginxtest.New(cmd.Context(), f.nginx)
		if err != nil {
			return err
		}
		test = nginx
	}
	documents, err := f.read(cmd.InOrStdin())
	if err != nil {
		return err
	}
	report, err := lint.Check(cmd.Context(), documents, test)
	if err != nil {
		return err
	}
	if report.Checked == 0 && !report.Refused() {
		return fmt.Errorf("%s: there is no object of the operator's kinds", strings.Join(f.paths, ", "))
	}
	if err := f.write(cmd.OutOrStdout(), report); err != nil {
		return err
	}
	if report.Refused() {
		return errRejected
	}
	return nil
}

func (f *lintFlags) write(w io.Writer, report *lint.Report) error {
	if f.output == "json" {
		return encode.JSON(w, report, "    ")
	}
	for _, p := range report.Problems {
		if _, err := fmt.Fprintln(w, screen.Safe(p.String())); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "objects: %d checked, %d of other kinds skipped; problems: %d\n", report.Checked, report.Skipped, len(report.Problems))
	return err
}

// read returns the manifests of the paths.
func (f *lintFlags) read(in io.Reader) (found []lint.Document, err error) {
	for _, path := range f.paths {
		if path == "-" {
			text, err := userfile.ReadAll(in, "the standard input", userfile.MaxBytes)
			if err != nil {
				return nil, err
			}
			found = append(found, lint.Document{Name: "standard input", Text: text})
			continue
		}
		documents, err := manifestFiles(path)
		if err != nil {
			return nil, err
		}
		found = append(found, documents...)
	}
	return found, nil
}

// manifestFiles returns a file, or the files with manifests of a folder and the folders in it.
func manifestFiles(path string) (found []lint.Document, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		text, err := userfile.ReadFile(path, userfile.MaxBytes)
		return []lint.Document{{Name: path, Text: text}}, err
	}
	folder, err := userfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = folder.Close() }()
	total := 0
	err = userfile.Walk(folder, func(name string, entry fs.DirEntry) error {
		if entry.IsDir() || !strings.HasSuffix(name, ".yaml") && !strings.HasSuffix(name, ".yml") && !strings.HasSuffix(name, ".json") {
			return nil
		}
		text, err := userfile.ReadIn(folder, name, userfile.MaxBytes)
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(path, name), err)
		}
		if total += len(text); total > userfile.MaxBytes {
			return fmt.Errorf("%s has manifests of more than %d KiB", path, userfile.MaxBytes>>10)
		}
		found = append(found, lint.Document{Name: filepath.Join(path, name), Text: text})
		return nil
	})
	return found, err
}
