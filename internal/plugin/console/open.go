package console

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// redirect leads a browser to the page.
var redirect = template.Must(template.New("").Parse(`<!doctype html><meta http-equiv="refresh" content="0;url={{.}}"><a href="{{.}}">console</a>` + "\n"))

// LocalHosts returns the values of the header Host for an address on this machine.
func LocalHosts(address string) []string {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return []string{address}
	}
	return []string{address, net.JoinHostPort("localhost", port)}
}

// Open opens a page in the browser, and returns a function that removes what that needs. The arguments of a program are
// visible to all users of a machine, so the browser gets a file that only its user can read in place of the URL with its
// token.
func Open(ctx context.Context, url string) (remove func() error, err error) {
	dir, err := os.MkdirTemp("", "kubectl-nginx-console-")
	if err != nil {
		return nil, err
	}
	remove = func() error { return os.RemoveAll(dir) }
	file, err := write(dir, url)
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	name, arguments := opener(file)
	if err := exec.CommandContext(ctx, name, arguments...).Run(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), remove())
	}
	return remove, nil
}

// write writes the file that leads to a URL into a folder that only the user can read.
func write(dir, url string) (string, error) {
	path := filepath.Join(dir, "console.html")
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	if err := redirect.Execute(file, url); err != nil {
		return "", errors.Join(err, file.Close())
	}
	return path, file.Close()
}

// opener returns the command that opens a file in the browser.
func opener(file string) (string, []string) {
	switch runtime.GOOS {
	case "darwin":
		return "open", []string{file}
	case "windows":
		return "rundll32", []string{"url.dll,FileProtocolHandler", file}
	}
	return "xdg-open", []string{file}
}
