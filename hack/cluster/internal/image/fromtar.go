package image

import (
	"archive/tar"
	"errors"
	"io"
	"regexp"
	"strings"
)

// unneeded matches files that a container does not read: documentation, translations, character
// sets, service files, and the records of apt and dpkg.
var unneeded = regexp.MustCompile(`^(` + strings.Join([]string{
	`usr/share/(doc|doc-base|man|info|locale|lintian|bash-completion|initramfs-tools|bug|perl5|debconf|menu|gdb)`,
	`usr/lib/(systemd|udev|init|[^/]+/gconv)`,
	`var/(cache|lib/apt|lib/dpkg|log)`,
	`etc/(apt|init\.d|systemd|logrotate\.d|ufw|cron\.[^/]+|nginx/sites-[^/]+)`,
}, "|") + `)(/|$)`)

// usrMerged matches the folders of the root that Debian has moved below /usr. The packages of older
// suites still contain files in them.
var usrMerged = regexp.MustCompile(`^(bin|sbin|lib|lib64)/`)

// FromTar reads a root file system as mmdebstrap writes it.
func FromTar(r io.Reader) (Layer, error) {
	layer := Layer{}
	for _, dir := range []string{"bin", "sbin", "lib", "lib64"} {
		layer.Add(dir, Link("usr/"+dir))
	}
	for reader := tar.NewReader(r); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return layer, nil
		}
		if err != nil {
			return nil, err
		}
		name := merge(cleanPath(header.Name))
		if name == "" || unneeded.MatchString(name) || layer.holdsLink(name) {
			continue
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			return nil, err
		}
		if header.Typeflag == tar.TypeLink {
			header.Linkname = merge(cleanPath(header.Linkname))
		}
		layer.Add(name, Entry{Header: *header, Content: content})
	}
}

// merge returns the path of a file after /usr is merged.
func merge(name string) string {
	if usrMerged.MatchString(name) {
		return "usr/" + name
	}
	return name
}

// holdsLink reports whether the layer has a symbolic link with this name. Older packages contain
// the merged folders as folders.
func (l Layer) holdsLink(name string) bool {
	entry, ok := l[name]
	return ok && entry.Header.Typeflag == tar.TypeSymlink
}
