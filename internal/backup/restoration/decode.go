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

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/config/crd"
	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/boundedjson"
	"example.com/nginx-operator/internal/kube/quantities"
)

// YAMLToJSON converts a document of an archive to JSON. It is for the pod that has read the archive:
// parsing YAML can take a hundred times the memory of the text, which the operator must not use.
//
// A document with anchors or aliases is refused, since a few kilobytes of nested aliases can expand
// to gigabytes. No backup contains them.
func YAMLToJSON(text []byte) ([]byte, error) {
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

// valuesLimit bounds the number of names and values in a document. The largest ones that people
// write have thousands. One megabyte of empty containers would take a gigabyte of memory.
const valuesLimit = 100_000

// documentLimits bounds a document before it is decoded. Decoders report where an error is, so deep documents and long names
// would multiply. An application has 12 levels; the API server allows names of at most 317 bytes.
var documentLimits = boundedjson.Limits{
	Bytes: documentsLength, Depth: 32, Items: valuesLimit, Values: valuesLimit, String: documentsLength, Name: 4 << 10,
}

// documentsLength bounds all documents together: a text can be six times as long in JSON.
var documentsLength = int(archive.DefaultLimits().Documents)

// read decodes a document strictly: an unknown field is an error, so that nothing that a later
// version declares is lost silently.
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

// quantitySchema finds the quantities of an application.
var quantitySchema = quantities.NewSchema(crd.NginxOperators, v1alpha2.GroupVersion.Version)

// readable returns an error if an application has too many values, or a quantity that cannot be
// parsed safely.
func readable(text []byte) error {
	if err := within(text, valuesLimit); err != nil {
		return err
	}
	return quantitySchema.CheckObject(text)
}

// within returns an error if a document exceeds documentLimits, has more names and values than the limit, or is not JSON.
func within(text []byte, limit int) error {
	if err := documentLimits.Check(text); err != nil {
		return err
	}
	if found, err := values(text, limit); err != nil || found < limit {
		return err
	}
	return fmt.Errorf("it has more than %d names and values", limit)
}

// values counts the names and values of a document, up to a limit. It keeps none of them in memory.
func values(text []byte, limit int) (int, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	for found := range limit {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return found, err
		}
	}
	return limit, nil
}

// valueCost is the memory in bytes that a name or a value counts, in addition to its text. An empty container is about as large.
const valueCost = 512

// Cost estimates the memory in bytes that Parse uses in addition to the text of the documents.
func Cost(files []archive.File) int64 {
	cost := int64(0)
	for _, f := range files {
		// Parse returns the error of a document.
		found, _ := values(f.Data, valuesLimit)
		cost += valueCost * int64(found)
	}
	return cost
}
