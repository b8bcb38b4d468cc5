// Package local reads configurations of this machine.
package local

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/util/yaml"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/plugin/userfile"
	"example.com/nginx-operator/internal/plugin/view"
)

// maxBytes bounds what is read of a file: more than a configuration can have.
const maxBytes = 2 << 20

// Read returns the configuration at a path. A single file takes the place of the one of its name among others, and a folder
// or a manifest is the whole configuration; "-" is a manifest in stdin.
func Read(path string, stdin io.Reader, others map[string]string) (view.Config, error) {
	files, err := read(path, stdin, others)
	return view.Config{Name: "local", Files: files}, err
}

func read(path string, stdin io.Reader, others map[string]string) (map[string]string, error) {
	if path == "-" {
		text, err := userfile.ReadAll(stdin, "the standard input", maxBytes)
		if err != nil {
			return nil, unreadable(path, err)
		}
		return manifest(path, text)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return folder(path)
	}
	text, err := readFile(path)
	if err != nil {
		return nil, err
	}
	if slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)) {
		return manifest(path, text)
	}
	files := maps.Clone(others)
	if files == nil {
		files = map[string]string{}
	}
	files[filepath.Base(path)] = string(text)
	return files, nil
}

// folder returns the files in a folder. Configurations have no folders of their own.
func folder(path string) (map[string]string, error) {
	dir, err := userfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	entries, err := dir.ReadDir(".")
	if err != nil {
		return nil, err
	}
	files, total := map[string]string{}, 0
	for _, entry := range entries {
		name := filepath.Join(path, entry.Name())
		if info, err := dir.Stat(entry.Name()); err != nil || info.IsDir() {
			if err == nil {
				err = fmt.Errorf("%s is a folder: a configuration is flat, like the keys of a ConfigMap", name)
			}
			return nil, err
		}
		text, err := userfile.ReadIn(dir, entry.Name(), maxBytes)
		if err != nil {
			return nil, unreadable(name, err)
		}
		if total += len(text); total > maxBytes {
			return nil, unreadable(path, userfile.ErrTooLarge)
		}
		files[entry.Name()] = string(text)
	}
	return files, nil
}

func readFile(path string) ([]byte, error) {
	text, err := userfile.ReadFile(path, maxBytes)
	return text, unreadable(path, err)
}

// unreadable returns the error of a file for users.
func unreadable(path string, err error) error {
	if errors.Is(err, userfile.ErrTooLarge) {
		return fmt.Errorf("%s is larger than %d KiB, which no configuration can be", path, maxBytes>>10)
	}
	return err
}

// manifest returns the configuration in the first NginxOperator or ConfigMap of a manifest.
func manifest(path string, text []byte) (map[string]string, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), len(text))
	for {
		var object struct {
			Kind string                     `json:"kind"`
			Spec v1alpha2.NginxOperatorSpec `json:"spec"`
			Data map[string]string          `json:"data"`
		}
		err := decoder.Decode(&object)
		switch {
		case errors.Is(err, io.EOF):
			return nil, fmt.Errorf("%s has no NginxOperator with spec.config.files and no ConfigMap", path)
		case err != nil:
			return nil, fmt.Errorf("%s: %w", path, err)
		case object.Kind == "ConfigMap":
			return object.Data, nil
		case object.Kind == v1alpha2.Kind && object.Spec.Config != nil && len(object.Spec.Config.Files) > 0:
			files := map[string]string{}
			for name, text := range object.Spec.Config.Files {
				files[name] = string(text)
			}
			return files, nil
		}
	}
}
