// Command casts records the plugin on a cluster whose operator runs, and draws the recordings as animated pictures.
//
//	go run . --out ../../docs/images [--only status,badconfig,traffic]
//
// It needs kubectl and kubectl-nginx in the PATH, and KUBECONFIG. Everything happens in a namespace of its own.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/nginx-operator/hack/casts/internal/svg"
	"example.com/nginx-operator/hack/casts/internal/terminal"
)

// maxSize bounds a picture, in bytes: the repository keeps them.
const maxSize = 200 << 10

func main() {
	out := flag.String("out", ".", "the folder of the pictures")
	only := flag.String("only", "", "record these only, separated by commas")
	flag.Parse()
	var names []string
	if *only != "" {
		names = strings.Split(*only, ",")
	}
	if err := record(*out, names); err != nil {
		fmt.Fprintln(os.Stderr, "casts:", err)
		os.Exit(1)
	}
}

func record(folder string, names []string) error {
	for _, name := range names {
		if !slices.ContainsFunc(scenes, func(s scene) bool { return s.name == name }) {
			return fmt.Errorf("--only: there is no %s", name)
		}
	}
	for _, s := range scenes {
		if len(names) > 0 && !slices.Contains(names, s.name) {
			continue
		}
		if err := s.record(folder); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// record records a scene in a new namespace, and writes its picture.
func (s scene) record(folder string) (err error) {
	c, err := newCluster(s.manifests)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	r := terminal.NewRecorder(s.columns, s.rows, c.folder, c.environment())
	if err := s.run(c, r); err != nil {
		return err
	}
	still := len(r.Frames) - 1
	for i, f := range r.Frames {
		if strings.Contains(f.Text(), s.still) {
			still = i
		}
	}
	picture := svg.Draw(svg.Cast{Title: s.title, Description: s.description, Columns: s.columns, Rows: s.rows, Frames: r.Frames, Still: still})
	if len(picture) > maxSize {
		return fmt.Errorf("the picture has %d KiB, at most %d KiB are kept", len(picture)>>10, maxSize>>10)
	}
	name := filepath.Join(folder, "cast-"+s.name+".svg")
	fmt.Fprintf(os.Stderr, "%s: %d frames, %s, %d KiB\n", name, len(r.Frames), r.Frames[len(r.Frames)-1].At.Round(1e8), len(picture)>>10)
	return os.WriteFile(name, []byte(picture), 0o644) //nolint:gosec // It is a public picture.
}
