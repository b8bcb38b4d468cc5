package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"example.com/nginx-operator/hack/cluster/internal/host"
	"example.com/nginx-operator/hack/cluster/internal/image"
	"example.com/nginx-operator/hack/cluster/internal/state"
	"example.com/nginx-operator/hack/cluster/internal/topology"
)

func newLoadCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "load ARCHIVE...",
		Short: "Load image archives into every node, of this cluster and of later ones",
		Long: `Load image archives into every node. A copy is kept under the file's name and
loaded again by every later "up"; an archive of the same name replaces it.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(command *cobra.Command, archives []string) error {
			return withCluster(newProgress(command), func(cache state.Cache) error {
				return load(command.Context(), cache, archives)
			})
		},
	}
}

func load(ctx context.Context, cache state.Cache, archives []string) error {
	found, err := findReady(cache)
	if err != nil {
		return err
	}
	for _, archive := range archives {
		if err := found.load(ctx, archive); err != nil {
			return err
		}
		if err := remember(cache, archive); err != nil {
			return err
		}
	}
	return nil
}

// load loads an archive into all nodes at the same time.
func (r runningCluster) load(ctx context.Context, archive string) error {
	results := make([]error, len(r.status.Nodes))
	var all sync.WaitGroup
	for i, node := range r.status.Nodes {
		all.Go(func() { results[i] = r.loadInto(ctx, node.Node, archive) })
	}
	all.Wait()
	return errors.Join(results...)
}

// loadInto passes the archive as standard input, since the node may not see its path.
func (r runningCluster) loadInto(ctx context.Context, node topology.Node, archive string) (err error) {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	line, err := r.commandLine(node, r.ctr(), "--namespace=k8s.io", "images", "import", "--no-unpack", "-")
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, line[0], line[1:]...)
	command.Stdin = file
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("loading %s into %s: %w\n%s", archive, node.Name(), err, output)
	}
	return nil
}

// remember keeps a copy of the archive for the next `up`.
func remember(cache state.Cache, archive string) (err error) {
	if err := os.MkdirAll(cache.LoadedImages(), 0o755); err != nil {
		return err
	}
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return state.WriteFile(filepath.Join(cache.LoadedImages(), filepath.Base(archive)), 0o644, func(w io.Writer) error {
		_, err := io.Copy(w, file)
		return err
	})
}

func newImageCommand() *cobra.Command {
	command := &cobra.Command{Use: "image", Short: "Make image archives without a registry or a container engine"}
	command.AddCommand(newStaticImageCommand(), newImageNginxCommand())
	return command
}

func newStaticImageCommand() *cobra.Command {
	var binary image.Binary
	var out string
	command := &cobra.Command{
		Use:     "binary --tag TAG --out ARCHIVE --entrypoint DEST PATH=DEST...",
		Short:   "Make an image with only static programs; the same programs give the same archive",
		Example: `  cluster image binary --tag localhost/app:dev --out app.tar --entrypoint /app bin/app=/app`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, files []string) error {
			binary.Files = files
			return binary.Write(out)
		},
	}
	flags := command.Flags()
	flags.StringVar(&binary.Tag, "tag", "", "the image's name and tag")
	flags.StringVar(&out, "out", "", "the archive to write")
	flags.StringVar(&binary.Entrypoint, "entrypoint", "", "the program to run, one of the DESTs")
	flags.StringVar(&binary.User, "user", "65532:65532", "the user id to run as, and the group id")
	for _, name := range []string{"tag", "out", "entrypoint"} {
		if err := command.MarkFlagRequired(name); err != nil {
			panic(err) // the flag does not exist, because of a mistake in the lines above
		}
	}
	return command
}

func newImageNginxCommand() *cobra.Command {
	var out string
	command := &cobra.Command{
		Use:   "nginx --out FOLDER",
		Short: "Make images of the nginx versions in Debian; print the paths of the archives",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			progress := newProgress(command)
			return withCluster(progress, func(state.Cache) error {
				if err := host.Install(command.Context(), progress, host.Images); err != nil {
					return err
				}
				archives, err := image.Nginx(command.Context(), out, progress)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(command.OutOrStdout(), strings.Join(archives, "\n"))
				return err
			})
		},
	}
	command.Flags().StringVar(&out, "out", "", "folder for the archives; existing files are kept")
	if err := command.MarkFlagRequired("out"); err != nil {
		panic(err) // the flag does not exist, because of a mistake in the line above
	}
	return command
}
