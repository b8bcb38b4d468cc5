package instance

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"example.com/nginx-operator/internal/instance/assemble"
	"example.com/nginx-operator/internal/instance/nginx"
)

// defaultConfigDir is the folder of the configuration in most images. Configurations find its files by relative names
// in every image, after those of the folder for which nginx was compiled.
const defaultConfigDir = "/etc/nginx"

// moduleDirs are folders whose *.conf files load modules, in the images of Alpine and Red Hat.
var moduleDirs = []string{"modules", "/usr/share/nginx/modules"}

// configDirs returns the folders of the image with files that configurations include by relative names.
func configDirs(build nginx.Build) []string {
	dir := filepath.Dir(build.ConfPath)
	if dir == defaultConfigDir {
		return []string{dir}
	}
	return []string{dir, defaultConfigDir}
}

// imageFiles finds the files of the image that an assembled configuration includes.
func imageFiles(build nginx.Build) assemble.Image {
	dirs := configDirs(build)
	image := assemble.DefaultImage()
	image.ConfigDir, image.MimeTypes = dirs[0], ""
	for _, dir := range dirs {
		if path := filepath.Join(dir, "mime.types"); image.MimeTypes == "" && isFile(path) {
			image.MimeTypes = path
		}
	}
	if image.MimeTypes == "" {
		slog.Warn("the image has no mime.types, so nginx knows the types of HTML, GIF and JPEG files only: add a types block to spec.config for others",
			"looked in", dirs)
	}
	for _, dir := range moduleDirs {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(dirs[0], dir)
		}
		pattern := filepath.Join(dir, "*.conf")
		if found, err := filepath.Glob(pattern); err == nil && len(found) > 0 {
			image.OtherModules = append(image.OtherModules, pattern)
		}
	}
	return image
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// restoreFolders makes what the image had below folders that the pod's scratch volume covers: Alpine's nginx finds
// modules through a link in /var/lib/nginx, and the configuration of OpenResty's image has its temporary files in
// /var/run/openresty.
func restoreFolders(build nginx.Build) {
	link := filepath.Join(build.Prefix, "modules")
	if _, err := os.Lstat(link); errors.Is(err, fs.ErrNotExist) && link != build.Modules {
		// It fails where the folder is the image's own, which is read-only and has what it needs.
		_ = os.Symlink(build.Modules, link)
	}
	if strings.HasPrefix(build.Product, "openresty/") {
		if err := os.MkdirAll("/var/run/openresty", 0o750); err != nil {
			slog.Warn("a configuration with temporary files in /var/run/openresty cannot be loaded", "error", err)
		}
	}
}
