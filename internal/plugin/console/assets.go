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
	return http.FileServerFS(files)
}
