package importer

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"example.com/nginx-operator/internal/plugin/userfile"
)

// configDir is where the paths of a configuration are taken to be, wherever its folder is.
const configDir = "/etc/nginx"

// ConfigFolder opens a folder as that of nginx.conf. Absolute links to a folder of nginx.conf lead to files of the folder.
func ConfigFolder(name string) (*userfile.Folder, error) { return userfile.Open(name, configDirs...) }

// configDirs are the folders of nginx.conf in images and packages.
var configDirs = []string{
	configDir, "/usr/local/etc/nginx", "/usr/local/nginx/conf", "/usr/local/openresty/nginx/conf", "/opt/bitnami/nginx/conf", "/etc/angie",
}

// maxFileSize bounds a file of a configuration, as the API does.
const maxFileSize = 256 << 10

// Source is where the files of a configuration are. Paths are absolute, and those of the configuration's folder begin with
// /etc/nginx.
type Source interface {
	// Read returns the text of a file, or an error that wraps fs.ErrNotExist.
	Read(path string) (string, error)
	// Glob returns the files that match a pattern, sorted.
	Glob(pattern string) []string
}

// Folder is a Source of files below a folder, and optionally of a whole file system for paths outside of it.
type Folder struct {
	Config fs.FS
	Root   fs.FS
}

// locate returns the file system and the name of a path.
func (f Folder) locate(name string) (fs.FS, string) {
	if inside, ok := strings.CutPrefix(name, configDir+"/"); ok {
		return f.Config, inside
	}
	return f.Root, strings.TrimPrefix(name, "/")
}

// Read implements Source.
func (f Folder) Read(name string) (string, error) {
	system, inside := f.locate(name)
	if system == nil || !fs.ValidPath(inside) {
		return "", fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	text, err := userfile.ReadIn(system, inside, maxFileSize)
	if errors.Is(err, userfile.ErrTooLarge) {
		err = fmt.Errorf("%s: a file of a configuration has at most %d KiB: mount it with podTemplate.volumes", name, maxFileSize>>10)
	}
	return string(text), err
}

// Glob implements Source.
func (f Folder) Glob(pattern string) []string {
	system, inside := f.locate(pattern)
	if system == nil {
		return nil
	}
	names, err := fs.Glob(system, inside)
	if err != nil {
		return nil // nginx and Go differ in what a pattern may be; the include is then reported as one without files
	}
	prefix := strings.TrimSuffix(pattern, inside)
	var found []string
	for _, name := range names {
		// nginx's pattern does not match hidden files. A link that leads nowhere is reported when it is read.
		if info, err := fs.Stat(system, name); (err != nil || !info.IsDir()) && hiddenAsIn(pattern, name) {
			found = append(found, prefix+name)
		}
	}
	slices.Sort(found)
	return found
}

// Map is a Source of texts, such as those of ConfigMaps.
type Map map[string]string

// Read implements Source.
func (m Map) Read(name string) (string, error) {
	text, ok := m[name]
	if !ok {
		return "", fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return text, nil
}

// Glob implements Source.
func (m Map) Glob(pattern string) []string {
	var found []string
	for name := range m {
		if matched, err := path.Match(pattern, name); err == nil && matched && hiddenAsIn(pattern, name) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

func hiddenAsIn(pattern, name string) bool {
	return !strings.HasPrefix(path.Base(name), ".") || strings.HasPrefix(path.Base(pattern), ".")
}

// locatePath returns the path that nginx means by a name in a configuration.
func locatePath(name string) string {
	if !path.IsAbs(name) {
		return path.Join(configDir, name)
	}
	name = path.Clean(name)
	for _, dir := range configDirs {
		if inside, ok := strings.CutPrefix(name, dir+"/"); ok {
			return configDir + "/" + inside
		}
	}
	return name
}

// shown returns a path as it is named in the review.
func shown(name string) string { return strings.TrimPrefix(name, configDir+"/") }

// missing reports whether a file does not exist, rather than cannot be read.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// hasPrivateKey reports whether a text contains a private key in the PEM format.
func hasPrivateKey(text string) bool { return strings.Contains(text, "PRIVATE KEY-----") }

// checkText returns why a file cannot be a file of an application, which is text in UTF-8 without control characters.
func checkText(name, text string) error {
	if !utf8.ValidString(text) {
		return fmt.Errorf("%s is not in UTF-8: convert it (iconv -f latin1 -t utf-8), and import again", shown(name))
	}
	line := 1
	for _, r := range text {
		switch {
		case r == '\n':
			line++
		case r < ' ' && r != '\t' && r != '\r', r >= 0x7f && r < 0xa0, r == 0xfeff, r == 0xfffe, r == 0xffff:
			return fmt.Errorf("%s:%d: there is a control character (%U): remove it, and import again", shown(name), line, r)
		}
	}
	return nil
}
