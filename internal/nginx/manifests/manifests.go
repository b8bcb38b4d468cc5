// Package manifests holds the part of each owned object that is the same for every application.
package manifests

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"sync"

	"sigs.k8s.io/yaml"
)

//go:embed *.yaml
var files embed.FS

// Decode returns the manifest of a file name as an apply configuration. It returns an error for an
// unknown field, so that a typing mistake does not go unnoticed.
func Decode[T any](name string) (*T, error) {
	all, err := asJSON()
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(all[name]))
	decoder.DisallowUnknownFields()
	object := new(T)
	if err := decoder.Decode(object); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return object, nil
}

// asJSON returns the manifests as JSON, by file name. It parses YAML once: parsing would be most of
// the cost of a build.
var asJSON = sync.OnceValues(func() (map[string][]byte, error) {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil, err
	}
	all := make(map[string][]byte, len(entries))
	for _, entry := range entries {
		text, err := files.ReadFile(entry.Name())
		if err != nil {
			return nil, err
		}
		if all[entry.Name()], err = yaml.YAMLToJSONStrict(text); err != nil {
			return nil, fmt.Errorf("%s: %w", entry.Name(), err)
		}
	}
	return all, nil
})

// ReplaceForTest lets a test stand in for a release with another manifest. It replaces old by text and
// returns a function that restores the manifest.
func ReplaceForTest(name, old, text string) (restore func(), err error) {
	original := asJSON
	all, err := original()
	if err != nil {
		return nil, err
	}
	changed := maps.Clone(all)
	changed[name] = bytes.Replace(all[name], []byte(old), []byte(text), 1)
	if bytes.Equal(changed[name], all[name]) {
		return nil, fmt.Errorf("%s does not contain %s", name, old)
	}
	asJSON = func() (map[string][]byte, error) { return changed, nil }
	return func() { asJSON = original }, nil
}
