// Package volumes reads and watches the folders that the kubelet mounts: ConfigMaps and Secrets.
package volumes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// data is the symbolic link that the kubelet switches to a new folder with all new files
// (k8s.io/kubernetes/pkg/volume/util, AtomicWriter).
const data = "..data"

// attempts bounds the attempts to read a folder that is switched meanwhile.
const attempts = 5

// maxFile is larger than any file in a ConfigMap or Secret.
const maxFile = 2 << 20

// Read returns the files of a folder, all of the same version. A missing folder has no files.
//
// It reads behind the link: the kubelet creates the links of new files in the folder itself only
// after it has switched that one.
func Read(dir string) (map[string]string, error) {
	var err error
	for range attempts {
		before := Version(dir)
		var files map[string]string
		files, err = readFiles(filepath.Join(dir, before))
		if err == nil && Version(dir) == before {
			return files, nil
		}
	}
	if err == nil {
		err = errors.New("it keeps changing")
	}
	return nil, fmt.Errorf("read the folder %s: %w", dir, err)
}

func readFiles(dir string) (map[string]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), "..") {
			continue
		}
		path := filepath.Join(dir, entry.Name())
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() || info.Size() > maxFile {
			continue
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		files[entry.Name()] = string(content)
	}
	return files, nil
}

// Version identifies the content of a folder: it changes with each switch, and is empty for a
// folder that the kubelet does not manage.
func Version(dir string) string {
	target, err := os.Readlink(filepath.Join(dir, data))
	if err != nil {
		return ""
	}
	return target
}
