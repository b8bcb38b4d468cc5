// Package nginxconf turns the configuration that a user declares into the files
// that nginx runs with. It is pure: it renders text and never reads the cluster.
//
// The files are flat, as the keys of a ConfigMap are. A user's nginx.conf is the
// whole configuration. Otherwise a main file is added that includes the user's
// files, each where its name says:
//
//	*.main.conf    at the top level
//	*.stream.conf  in the stream context
//	*.conf         in the http context, in the order of the names
//
// The user's files are passed through byte for byte, so that the line numbers in
// nginx's messages are theirs.
package nginxconf

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/template"
)

const (
	// WholeFile is the name of the file that, if a user gives it, is the whole
	// configuration.
	WholeFile = "nginx.conf"
	// GeneratedFile is the name of the main file that is added otherwise. Its own
	// name keeps it apart from the user's files.
	GeneratedFile = "nginx-operator.conf"
)

// Limits of a configuration. A ConfigMap holds at most 1 MiB with all its metadata
// (https://kubernetes.io/docs/concepts/configuration/configmap/).
const (
	maxTotalBytes = 900 << 10
	maxFiles      = 256
)

//go:embed templates/*.tmpl
var templateFiles embed.FS

var templates = template.Must(template.ParseFS(templateFiles, "templates/*.tmpl"))

// Files are the files of a configuration, by name.
type Files map[string]string

// Config is a complete configuration.
type Config struct {
	// Files is everything that nginx reads, the main file included.
	Files Files
	// Main is the name of the file that nginx is started with.
	Main string
	// Revision is the content hash of Files.
	Revision string
}

// Render completes the user's files to a configuration.
// It returns an error that names the file when the files cannot be put together.
func Render(user Files) (Config, error) {
	if err := validate(user); err != nil {
		return Config{}, err
	}
	files := maps.Clone(user)
	if _, whole := user[WholeFile]; whole {
		return Config{Files: files, Main: WholeFile, Revision: Revision(files)}, nil
	}
	main, err := execute("main.conf.tmpl", sortIntoContexts(user))
	if err != nil {
		return Config{}, err
	}
	files[GeneratedFile] = main
	return Config{Files: files, Main: GeneratedFile, Revision: Revision(files)}, nil
}

// UserFiles takes what Render added out of rendered files again.
func UserFiles(rendered Files) Files {
	user := maps.Clone(rendered)
	delete(user, GeneratedFile)
	return user
}

// Default is the built-in configuration: it serves the files of the image's
// /usr/share/nginx/html on every port.
func Default(ports []int32) (Config, error) {
	site, err := execute("default.conf.tmpl", ports)
	if err != nil {
		return Config{}, err
	}
	return Render(Files{"default.conf": site})
}

// Revision is the content hash of files: 16 hexadecimal digits, the same for the
// same names and bytes.
func Revision(files Files) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h.Write(fmt.Appendf(nil, "%d %s %d ", len(name), name, len(files[name])))
		h.Write([]byte(files[name]))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// contexts are the user's files by the context that they are included in.
type contexts struct {
	Main, HTTP, Stream []string
}

func sortIntoContexts(files Files) contexts {
	var c contexts
	for _, name := range slices.Sorted(maps.Keys(files)) {
		switch {
		case strings.HasSuffix(name, ".main.conf"):
			c.Main = append(c.Main, name)
		case strings.HasSuffix(name, ".stream.conf"):
			c.Stream = append(c.Stream, name)
		case strings.HasSuffix(name, ".conf"):
			c.HTTP = append(c.HTTP, name)
		}
	}
	return c
}

func validate(files Files) error {
	if len(files) == 0 {
		return fmt.Errorf("the configuration has no files: add at least one *.conf file")
	}
	if len(files) > maxFiles {
		return fmt.Errorf("the configuration has %d files: at most %d are allowed", len(files), maxFiles)
	}
	total := 0
	conf := false
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := validateName(name); err != nil {
			return err
		}
		conf = conf || strings.HasSuffix(name, ".conf")
		total += len(name) + len(files[name])
	}
	if !conf {
		return fmt.Errorf("the configuration has no file that ends in .conf: nginx would serve nothing")
	}
	if total > maxTotalBytes {
		return fmt.Errorf("the configuration is %d KiB: at most %d KiB fit into a ConfigMap", total>>10, maxTotalBytes>>10)
	}
	return nil
}

var legalName = regexp.MustCompile(`^[-._a-zA-Z0-9]+$`)

// validateName allows what a key of a ConfigMap may be. nginx's own syntax is then
// safe: no such name needs quoting.
func validateName(name string) error {
	switch {
	case name == "" || name == "." || strings.HasPrefix(name, ".."):
		return fmt.Errorf("%q is not a file name: it must not be empty, '.' or start with '..'", name)
	case name == GeneratedFile:
		return fmt.Errorf("%s is the name of the operator's own file: rename it", name)
	case len(name) > 253:
		return fmt.Errorf("the file name %q… is longer than 253 characters", name[:32])
	case !legalName.MatchString(name):
		return fmt.Errorf("%q is not a file name: only letters, digits, '-', '_' and '.' are allowed", name)
	}
	return nil
}

func execute(name string, data any) (string, error) {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, data); err != nil {
		return "", fmt.Errorf("render %s: %w", name, err)
	}
	return b.String(), nil
}
