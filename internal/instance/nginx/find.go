package nginx

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// programs are the names of nginx and its forks, in the order in which they are looked for.
var programs = []string{"nginx", "angie", "openresty", "freenginx"}

// folders are where images have one of the programs that do not have it in PATH.
var folders = []string{
	"/usr/sbin", "/usr/local/sbin", "/usr/bin", "/usr/local/bin",
	"/usr/local/nginx/sbin", "/usr/local/openresty/nginx/sbin", "/usr/local/openresty/bin", "/usr/local/angie/sbin",
	"/usr/local/tengine/sbin", "/opt/bitnami/nginx/sbin", "/opt/nginx/sbin",
}

// findProgram returns the path of the first program in searchPath, or else in the usual folders.
func findProgram(searchPath string, folders []string) (string, error) {
	denied := ""
	for _, dirs := range [][]string{filepath.SplitList(searchPath), folders} {
		for _, name := range programs {
			for _, dir := range dirs {
				path := filepath.Join(dir, name)
				if !filepath.IsAbs(path) {
					continue
				}
				_, err := exec.LookPath(path)
				if err == nil {
					return path, nil
				}
				if denied == "" && errors.Is(err, fs.ErrPermission) && isFile(path) {
					denied = path
				}
			}
		}
	}
	if denied != "" {
		return "", fmt.Errorf("user %d may not execute %s: set podTemplate.securityContext.runAsUser and runAsGroup to the owner of the image's files",
			os.Getuid(), denied)
	}
	return "", fmt.Errorf("the image has no nginx: there is no %s in PATH (%s) or in %s; use an image of nginx, or add the folder of the program to PATH in podTemplate.env",
		strings.Join(programs, ", "), searchPath, strings.Join(folders, ", "))
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// cannotRun describes why a program that exists could not be run. Its output is text.
func cannotRun(path string, err error, text string) error {
	failed, _ := errors.AsType[*fs.PathError](err)
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("%s is not a program for this node (%s): use an image for its architecture", path, runtime.GOARCH)
	case errors.Is(err, fs.ErrNotExist) && failed != nil && failed.Path == path:
		return fmt.Errorf("%s cannot start: its dynamic loader is not in the image", path)
	}
	return fmt.Errorf("get the version of nginx: %s -V: %w: %.200s", path, err, text)
}
