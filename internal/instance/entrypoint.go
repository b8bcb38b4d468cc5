package instance

import (
	"cmp"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"slices"
	"strings"
)

// stockScripts are in the official image and in nginx-unprivileged. What they do, the instance does by itself or with
// fields of the spec.
var stockScripts = []string{
	"10-listen-on-ipv6-by-default.sh", "15-local-resolvers.envsh", "20-envsubst-on-templates.sh", "30-tune-worker-processes.sh",
}

// maxUnprocessed bounds how many files a warning names.
const maxUnprocessed = 10

// warnOfEntrypoint logs once which files of the image have no effect, because its entrypoint would process them.
func warnOfEntrypoint() {
	files := unprocessed(os.DirFS("/"), os.Getenv)
	if len(files) == 0 {
		return
	}
	slog.Warn("the entrypoint of the image does not run, so these files have no effect: put templates into spec.config with spec.config.env, and let the image or an additional container do what scripts do",
		"files", files[:min(len(files), maxUnprocessed)], "count", len(files))
}

// unprocessed returns the files that the entrypoint of the official image, or of Bitnami's, would run or process.
func unprocessed(root fs.FS, getenv func(string) string) []string {
	files := slices.Concat(
		find(root, "docker-entrypoint.d", ".sh", ".envsh"),
		find(root, cmp.Or(getenv("NGINX_ENVSUBST_TEMPLATE_DIR"), "/etc/nginx/templates"),
			cmp.Or(getenv("NGINX_ENVSUBST_TEMPLATE_SUFFIX"), ".template"), cmp.Or(getenv("NGINX_ENVSUBST_STREAM_TEMPLATE_SUFFIX"), ".stream-template")),
		find(root, "docker-entrypoint-initdb.d", ".sh"),
	)
	return slices.DeleteFunc(files, func(name string) bool {
		return path.Dir(name) == "/docker-entrypoint.d" && slices.Contains(stockScripts, path.Base(name))
	})
}

// find returns the paths of the files below a folder whose names have one of the suffixes.
func find(root fs.FS, dir string, suffixes ...string) []string {
	var found []string
	// A folder that is missing or cannot be read has no files that a script of this user could process.
	_ = fs.WalkDir(root, path.Clean(strings.TrimPrefix(dir, "/")), func(name string, entry fs.DirEntry, err error) error {
		// The folders of a volume with a ConfigMap begin with two dots, and hold its files a second time.
		if err != nil || entry.IsDir() && strings.HasPrefix(entry.Name(), "..") {
			return fs.SkipDir
		}
		if !entry.IsDir() && slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(name, s) }) {
			found = append(found, "/"+name)
		}
		return nil
	})
	return found
}
