package console

import (
	"embed"
	"io/fs"
	"net/http"
)

//go:embed assets
var embedded embed.FS

// assets serves the page.
func assets() http.Handler {
	files, err := fs.Sub(embedded, "assets")
	if err != nil {
		panic("console: the folder of the assets is a constant: " + err.Error())
	}
	return http.FileServerFS(unlisted{files})
}

// unlisted hides folders but the root, because http.FileServerFS lists those without an index.html.
type unlisted struct{ fs.FS }

// Open implements fs.FS.
func (u unlisted) Open(name string) (fs.File, error) {
	info, err := fs.Stat(u.FS, name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() && name != "." {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return u.FS.Open(name)
}
