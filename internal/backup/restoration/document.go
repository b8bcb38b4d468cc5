package restoration

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	yamlv3 "go.yaml.in/yaml/v3"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/internal/quantities"
)

// ToJSON makes JSON of a document of an archive. It is for the pod that has read the archive:
// parsing YAML can take a hundred times the memory of the text, which must not be the operator's.
//
// A document that refers to parts of itself is refused: a few kilobytes of references to
// references can stand for gigabytes. No backup is written so.
func ToJSON(text []byte) ([]byte, error) {
	var document yamlv3.Node
	if err := yamlv3.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	if err := withoutReferences(&document); err != nil {
		return nil, err
	}
	return yaml.YAMLToJSONStrict(text)
}

func withoutReferences(node *yamlv3.Node) error {
	if node.Kind == yamlv3.AliasNode || node.Anchor != "" {
		return fmt.Errorf("line %d has a YAML anchor or alias, which no backup has", node.Line)
	}
	for _, child := range node.Content {
		if err := withoutReferences(child); err != nil {
			return err
		}
	}
	return nil
}

// valuesLimit is how many names and values a document may have. The largest that a person has
// written have thousands; a megabyte of empty containers would be a gigabyte in memory.
const valuesLimit = 100_000

// read reads a document, in which nothing may be that its kind does not have: of what a later
// version declares nothing is lost unheard.
func read(text []byte, into any, kind, apiVersion string) error {
	if err := within(text, valuesLimit); err != nil {
		return err
	}
	var head struct{ Kind, APIVersion string }
	if err := json.Unmarshal(text, &head); err != nil {
		return err
	}
	if head.Kind != kind || head.APIVersion != apiVersion {
		return fmt.Errorf("it is a %s of %s, not a %s of %s", head.Kind, head.APIVersion, kind, apiVersion)
	}
	strict, err := kjson.UnmarshalStrict(text, into)
	return errors.Join(append(strict, err)...)
}

// readable looks whether the spec of an application can be decoded at all.
func readable(text []byte) error {
	if err := within(text, valuesLimit); err != nil {
		return err
	}
	return quantities.CheckObject(text)
}

// within counts the values without keeping any.
func within(text []byte, limit int) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	for range limit {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return fmt.Errorf("it has more than %d names and values", limit)
}
