package plugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"example.com/nginx-operator/internal/plugin/importer"
	"example.com/nginx-operator/internal/plugin/lint"
	"example.com/nginx-operator/internal/plugin/screen"
	"example.com/nginx-operator/internal/plugin/userfile"
)

const importLong = `Turn an existing set-up of nginx into an NginxOperator. The input is one of:

  a configuration: nginx.conf, or its folder, with the files that it includes
  a Deployment, StatefulSet, DaemonSet or Pod with its ConfigMaps, Services and NetworkPolicies, in one file or folder
  Ingress objects with annotations of ingress-nginx, with their Services

The manifests go to the standard output, and a review to the standard error: each directive, annotation and field is
carried over, changed, or named with the reason why it is not. Nothing is sent to a cluster, and no private key is read.`

// importFlags are the flags of the command.
type importFlags struct {
	path, name, class, root, output, review string
	summary                                 bool
}

func newImport(c *cluster) *cobra.Command {
	f := &importFlags{}
	cmd := &cobra.Command{
		Use:   "import -f PATH",
		Short: "Turn an nginx.conf, a Deployment or Ingress objects into manifests",
		Long:  importLong,
		Example: `  kubectl nginx import -f /etc/nginx/nginx.conf --name shop > shop.yaml
  kubectl get deployment,configmap,service,networkpolicy -o yaml | kubectl nginx import -f - > shop.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// Only a namespace that the user gives belongs into manifests.
			return f.run(cmd, *c.flags.Namespace)
		},
	}
	cmd.Flags().StringVarP(&f.path, "filename", "f", "", "the file or folder to import; - is the standard input")
	cmd.Flags().StringVar(&f.name, "name", "", "the name of the application; by default that of the Deployment or Ingress, or nginx")
	cmd.Flags().StringVar(&f.class, "class", "", "the class of the Ingress objects to import; by default that of ingress-nginx")
	cmd.Flags().StringVar(&f.root, "root", "", "the folder in which files outside of /etc/nginx are looked up, such as / on the machine of nginx")
	cmd.Flags().StringVarP(&f.output, "output", "o", "yaml", "the format of the manifests: yaml or json")
	cmd.Flags().StringVar(&f.review, "review", "changes", "what the review lists: changes (and what is not carried over), all, or none")
	cmd.Flags().BoolVar(&f.summary, "summary", false, "print how many directives, annotations and fields are carried over, in place of the manifests")
	if err := cmd.MarkFlagRequired("filename"); err != nil {
		panic(err) // the flag exists
	}
	return cmd
}

func (f *importFlags) run(cmd *cobra.Command, namespace string) error {
	if err := f.validate(); err != nil {
		return err
	}
	result, err := f.read(cmd.InOrStdin(), importer.Options{Name: f.name, Namespace: namespace, Class: f.class})
	if err != nil {
		return err
	}
	if err := checkResult(cmd.Context(), result); err != nil {
		return err
	}
	if f.review != "none" && (!f.summary || f.review == "all") {
		if err := result.Review.Write(cmd.ErrOrStderr(), f.review == "all", screen.Safe); err != nil {
			return err
		}
	}
	if f.summary {
		return result.Review.Summary(cmd.OutOrStdout())
	}
	if f.output == "json" {
		return result.Write(cmd.OutOrStdout(), f.output)
	}
	return result.Write(cmd.OutOrStdout(), f.output)
}

func (f *importFlags) validate() error {
	switch {
	case f.output != "yaml" && f.output != "json":
		return fmt.Errorf("--output %s: use yaml or json", f.output)
	case f.review != "changes" && f.review != "all" && f.review != "none":
		return fmt.Errorf("--review %s: use changes, all or none", f.review)
	}
	return nil
}

// checkResult checks the manifests as lint does, and makes a step of each problem: the input may have values that an
// application cannot have.
func checkResult(ctx context.Context, result *importer.Result) error {
	var text bytes.Buffer
	if err := result.Write(&text, "yaml"); err != nil {
		return err
	}
	report, err := lint.Check(ctx, []lint.Document{{Name: "the manifests", Text: text.Bytes()}}, nil)
	if err != nil {
		return err
	}
	for _, p := range report.Problems {
		if !p.Warning {
			result.Review.Steps = append(result.Review.Steps, "Correct "+p.String())
		}
	}
	return nil
}

// read imports what the path names.
func (f *importFlags) read(in io.Reader, o importer.Options) (*importer.Result, error) {
	if f.path == "-" {
		text, err := userfile.ReadAll(in, "the standard input", userfile.MaxBytes)
		if err != nil {
			return nil, err
		}
		const name = "/etc/nginx/nginx.conf"
		if importer.IsManifest(text) {
			return importer.Manifests([]importer.Document{{Name: f.path, Text: text}}, o)
		}
		return importer.Config(importer.Map{name: string(text)}, []string{name}, o)
	}
	info, err := os.Stat(f.path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return f.importFolder(o)
	}
	text, err := userfile.ReadFile(f.path, userfile.MaxBytes)
	if err != nil {
		return nil, err
	}
	if importer.IsManifest(text) {
		return importer.Manifests([]importer.Document{{Name: f.path, Text: text}}, o)
	}
	path, err := filepath.EvalSymlinks(f.path)
	if err != nil {
		return nil, err
	}
	source, done, err := f.source(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer done()
	return importer.Config(source, []string{"/etc/nginx/" + filepath.Base(path)}, o)
}

// importFolder imports the manifests of a folder, or else its configuration.
func (f *importFlags) importFolder(o importer.Options) (*importer.Result, error) {
	source, done, err := f.source(f.path)
	if err != nil {
		return nil, err
	}
	defer done()
	folder := source.Config
	documents, err := importer.FindManifests(folder)
	if err != nil {
		return nil, err
	}
	main, err := importer.FindMain(folder)
	switch {
	case err != nil:
		return nil, err
	case len(documents) > 0 && !slices.Contains(main, "/etc/nginx/nginx.conf"):
		return importer.Manifests(documents, o)
	case len(main) == 0:
		return nil, errors.New(f.path + " has neither an nginx.conf, nor *.conf files, nor manifests: pass the folder of nginx.conf, or a file")
	}
	result, err := importer.Config(source, main, o)
	if err != nil {
		return nil, err
	}
	return result, result.ReviewFiles(folder)
}

// source opens the folder of a configuration, and --root. Links lead to files of either, and never to others of this machine.
func (f *importFlags) source(dir string) (importer.Folder, func(), error) {
	folder, err := importer.ConfigFolder(dir)
	if err != nil {
		return importer.Folder{}, nil, err
	}
	closeFolder := func() { _ = folder.Close() }
	if f.root == "" {
		return importer.Folder{Config: folder}, closeFolder, nil
	}
	root, err := userfile.Open(f.root, "/")
	if err != nil {
		closeFolder()
		return importer.Folder{}, nil, err
	}
	return importer.Folder{Config: folder.Beside(root), Root: root}, func() { closeFolder(); _ = root.Close() }, nil
}
