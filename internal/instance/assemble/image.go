package assemble

import (
	"path"
	"slices"

	"example.com/nginx-operator/internal/instance/syntax"
)

// Image is where the image has files that the assembled configuration includes.
type Image struct {
	// ConfigDir is the folder of the image's configuration.
	ConfigDir string
	// MimeTypes is the path of mime.types; empty if the image has none.
	MimeTypes string
	// EnabledModules matches the files in which Debian's packages enable their modules. nginx accepts a pattern that
	// matches no file.
	EnabledModules string
	// OtherModules match the files that load modules in the images of other distributions.
	OtherModules []string
}

// DefaultImage returns where the official image and Debian's package have them.
func DefaultImage() Image {
	return Image{ConfigDir: "/etc/nginx", MimeTypes: "/etc/nginx/mime.types", EnabledModules: "/etc/nginx/modules-enabled/*.conf"}
}

// modules returns the statements that load the modules of the image.
func (f *findings) modules(l layout, image Image) []string {
	patterns := append([]string{image.EnabledModules}, image.OtherModules...)
	own := slices.ContainsFunc(f.main["include"], func(v syntax.Visit) bool { return image.includes(v, patterns) })
	if own || image.EnabledModules == "" {
		return nil
	}
	statements := []string{"include " + image.EnabledModules}
	// nginx cannot load a module twice.
	if f.main.has("load_module") {
		if l.whole {
			return nil
		}
		return statements
	}
	for _, pattern := range image.OtherModules {
		statements = append(statements, "include "+pattern)
	}
	return statements
}

// includes reports whether a directive includes files of a folder that has one of the patterns.
func (i Image) includes(v syntax.Visit, patterns []string) bool {
	if len(v.Args) != 1 {
		return false
	}
	name := v.Args[0]
	if !path.IsAbs(name) {
		name = path.Join(i.ConfigDir, name)
	}
	return slices.ContainsFunc(patterns, func(p string) bool { return p != "" && path.Dir(p) == path.Dir(name) })
}
