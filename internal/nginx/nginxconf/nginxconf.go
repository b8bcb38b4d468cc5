// Package nginxconf builds the configuration files of the pods from the configuration that a user
// declares, and identifies a configuration by the hash of its content. It is pure: it never reads
// the cluster.
//
// The files are flat, like the keys of a ConfigMap, and are passed on byte for byte. The pod adds
// what nginx needs around them (internal/instance/assemble).
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
	// WholeFile is the name of the file that, if a user provides it, is the whole configuration.
	WholeFile = "nginx.conf"
	// ReservedPrefix is the prefix of the names of files that the pod or the operator adds.
	ReservedPrefix = "nginx-operator"
)

// MaxTotalBytes and maxFiles are the limits of a configuration. A ConfigMap holds at most 1 MiB with all its metadata
// (https://kubernetes.io/docs/concepts/configuration/configmap/).
const (
	MaxTotalBytes = 900 << 10
	maxFiles      = 256
)

//go:embed templates/*.tmpl
var templateFiles embed.FS

var templates = template.Must(template.ParseFS(templateFiles, "templates/*.tmpl"))

// Files maps the names of a configuration's files to their contents.
type Files map[string]string

// Config is a configuration and its revision.
type Config struct {
	// Files are the user's files, and those of the operator, whose names begin with ReservedPrefix.
	Files Files
	// Revision is the content hash of Files.
	Revision string
}

// New returns a configuration with the user's files. If one of them is invalid, it returns an error
// that names it.
func New(user Files) (Config, error) {
	if err := validate(user); err != nil {
		return Config{}, err
	}
	return Config{Files: user, Revision: Revision(user)}, nil
}

// With returns the configuration with one more file of the operator.
func (c Config) With(name, text string) Config {
	files := maps.Clone(c.Files)
	files[name] = text
	return Config{Files: files, Revision: Revision(files)}
}

// User returns the user's files of a configuration.
func (f Files) User() Files {
	user := maps.Clone(f)
	maps.DeleteFunc(user, func(name, _ string) bool { return strings.HasPrefix(name, ReservedPrefix) })
	return user
}

// Default returns the built-in configuration, which serves the image's /usr/share/nginx/html on
// every port, and with ipv6 on IPv6 addresses, too: a pod of a cluster without IPv6 may not be able to.
func Default(ports []int32, ipv6 bool) (Config, error) {
	site, err := execute("default.conf.tmpl", map[string]any{"Ports": ports, "IPv6": ipv6})
	if err != nil {
		return Config{}, err
	}
	return New(Files{"default.conf": site})
}

// Revision returns the content hash of files: 16 hexadecimal digits that depend only on the names
// and bytes.
func Revision(files Files) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h.Write(fmt.Appendf(nil, "%d %s %d ", len(name), name, len(files[name])))
		h.Write([]byte(files[name]))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
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
		if err := validateText(name, files[name]); err != nil {
			return err
		}
		conf = conf || strings.HasSuffix(name, ".conf")
		total += len(name) + len(files[name])
	}
	if !conf {
		return fmt.Errorf("the configuration has no file that ends in .conf: nginx would serve nothing")
	}
	if total > MaxTotalBytes {
		return fmt.Errorf("the configuration is %d KiB: at most %d KiB fit into a ConfigMap", total>>10, MaxTotalBytes>>10)
	}
	return nil
}

var legalName = regexp.MustCompile(`^[-._a-zA-Z0-9]+$`)

// LegalName reports whether name can be the name of a file.
func LegalName(name string) bool { return validateName(name) == nil }

// validateName allows what a key of a ConfigMap may be. Such names are safe in nginx's syntax: none
// needs quoting.
func validateName(name string) error {
	switch {
	case len(name) > 253:
		return fmt.Errorf("the file name %q… is longer than 253 characters", name[:32])
	case name == "" || name == "." || strings.HasPrefix(name, ".."):
		return fmt.Errorf("%q is not a file name: it must not be empty, '.' or start with '..'", name)
	case !legalName.MatchString(name):
		return fmt.Errorf("%q is not a file name: only letters, digits, '-', '_' and '.' are allowed", name)
	case strings.HasPrefix(name, ReservedPrefix):
		return fmt.Errorf("%s: names that begin with %s are reserved for the operator: rename the file", name, ReservedPrefix)
	}
	return nil
}

// validateText rejects invisible characters that nginx takes for a part of a word, such as a byte
// order mark before the first directive or control characters from a terminal.
func validateText(name, text string) error {
	line := 1
	for _, c := range text {
		switch {
		case c == '\n':
			line++
		case c == 0x7f, c >= 0x80 && c < 0xa0, c == 0xfeff, c == 0xfffe, c == 0xffff:
			return fmt.Errorf("%s:%d: there is a control character (%U): a configuration is text, remove it", name, line, c)
		}
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
