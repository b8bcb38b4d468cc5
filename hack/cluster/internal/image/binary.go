package image

import (
	"fmt"
	"os"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Binary is an image that contains only static programs.
type Binary struct {
	Tag        string
	Entrypoint string
	// User is a user ID, since there is no /etc/passwd to look up a name.
	User string
	// Files are PATH=DEST: a file of the machine and its path in the image.
	Files []string
}

// Write writes the image as an archive.
func (b Binary) Write(path string) error {
	layer := Layer{}
	for _, mapping := range b.Files {
		source, destination, ok := strings.Cut(mapping, "=")
		if !ok || source == "" || !strings.HasPrefix(destination, "/") {
			return fmt.Errorf("%q is not of the form PATH=/DESTINATION", mapping)
		}
		content, err := os.ReadFile(source)
		if err != nil {
			return err
		}
		layer.Add(destination, File(0o755, content))
	}
	// If the root is writable, programs expect a folder for temporary files.
	layer.Add("/tmp", DirEntry(0o1777, 0))
	if entry, ok := layer[cleanPath(b.Entrypoint)]; !ok || len(entry.Content) == 0 {
		return fmt.Errorf("the entrypoint %q is not one of the files", b.Entrypoint)
	}
	content, err := layer.Tar()
	if err != nil {
		return err
	}
	return Write(path, content, v1.Config{
		Entrypoint: []string{b.Entrypoint},
		User:       b.User,
		WorkingDir: "/",
		Env:        []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
	}, b.Tag)
}
