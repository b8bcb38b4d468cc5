package importer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// object is an object of the input, and what becomes of its fields.
type object struct {
	typed   runtime.Object
	content map[string]any
	// name is the kind and the name, as in the review.
	name string
	// outcomes are by path, and stand for the fields below it, too.
	outcomes map[string]outcomeNote
}

type outcomeNote struct {
	outcome Outcome
	note    string
}

// decoder reads manifests strictly: an unknown field is an error.
type decoder struct {
	scheme *runtime.Scheme
	codec  *json.Serializer
}

func newDecoder() (*decoder, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme, autoscalingv2.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return &decoder{scheme, json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{Strict: true})}, nil
}

var kindLine = regexp.MustCompile(`(?m)^kind\s*:\s*"?([A-Za-z]+)`)

// all returns the objects of a document with several, and of lists in it, and those that cannot be read.
func (d *decoder) all(doc Document) (found []*object, bad []broken, err error) {
	if bad := unread(doc); len(bad) > 0 {
		return nil, bad, nil
	}
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(doc.Text)))
	for n, at := 1, 0; ; n++ {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return found, bad, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", doc.Name, err)
		}
		if next := bytes.Index(doc.Text[at:], text); next >= 0 {
			at += next
		}
		line := 1 + bytes.Count(doc.Text[:at], []byte("\n"))
		at = min(at+len(text), len(doc.Text))
		objects, problems := d.one(text)
		found = append(found, objects...)
		for _, b := range problems {
			b.source, b.line, b.err = doc.Name, line, fmt.Errorf("%s:%d, document %d: %w", doc.Name, line, n, b.err)
			bad = append(bad, b)
		}
	}
}

// unread returns the entry of a document whose text could not be read, or nothing.
func unread(doc Document) []broken {
	if doc.Unread == nil {
		return nil
	}
	return []broken{{source: doc.Name, err: doc.Unread}}
}

// one returns the objects of a document.
func (d *decoder) one(text []byte) (found []*object, bad []broken) {
	content := map[string]any{}
	if err := yaml.UnmarshalStrict(text, &content); err != nil {
		b := broken{err: err}
		if kind := kindLine.FindSubmatch(text); kind != nil {
			b.kind = string(kind[1])
		}
		return nil, []broken{b}
	}
	if len(content) == 0 {
		return nil, nil
	}
	items, isList := content["items"].([]any)
	kind, _ := content["kind"].(string)
	if !isList || !strings.HasSuffix(kind, "List") {
		o, err := d.object(content)
		if err != nil {
			return nil, []broken{{kind: kind, err: err}}
		}
		return []*object{o}, nil
	}
	for i, item := range items {
		inner, ok := item.(map[string]any)
		if !ok {
			bad = append(bad, broken{err: fmt.Errorf("items[%d] is not an object", i)})
			continue
		}
		o, err := d.object(inner)
		if err != nil {
			kind, _ := inner["kind"].(string)
			bad = append(bad, broken{kind: kind, err: fmt.Errorf("items[%d]: %w", i, err)})
			continue
		}
		found = append(found, o)
	}
	return found, bad
}

// object decodes an object. Of a kind that the import does not know, it has no typed form.
func (d *decoder) object(content map[string]any) (*object, error) {
	apiVersion, _ := content["apiVersion"].(string)
	kind, _ := content["kind"].(string)
	if apiVersion == "" || kind == "" {
		return nil, errors.New("apiVersion or kind is missing")
	}
	upgradeIngress(content)
	metadata, _ := content["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	o := &object{content: content, name: strings.TrimSpace(kind + " " + name), outcomes: map[string]outcomeNote{}}
	apiVersion, _ = content["apiVersion"].(string)
	if !d.scheme.Recognizes(schema.FromAPIVersionAndKind(apiVersion, kind)) {
		return o, nil
	}
	text, err := yaml.Marshal(content)
	if err != nil {
		return nil, err
	}
	jsonText, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, err
	}
	o.typed, _, err = d.codec.Decode(jsonText, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.name, err)
	}
	return o, nil
}

// take records what becomes of a field and the fields below it.
func (o *object) take(path string, outcome Outcome, note string) {
	o.outcomes[path] = outcomeNote{outcome, note}
}

// annotationPath is the path of an annotation.
func annotationPath(key string) string { return "metadata.annotations[" + key + "]" }

// clusterFields are set by the cluster and have no meaning for another object.
var clusterFields = []string{
	"status", "metadata.uid", "metadata.resourceVersion", "metadata.generation", "metadata.creationTimestamp", "metadata.managedFields", "metadata.selfLink",
	"metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]", "metadata.annotations[deployment.kubernetes.io/revision]", "spec.clusterIP", "spec.clusterIPs",
}

// review adds an item for each field that has an outcome, and for each other one that is not carried over because of a reason.
func (o *object) review(r *Review, otherwise string) {
	for _, path := range clusterFields {
		if _, ok := o.outcomes[path]; !ok {
			o.take(path, NotCarried, "the cluster sets it")
		}
	}
	seen := map[string]bool{}
	for _, path := range leaves("", o.content) {
		if path == "apiVersion" || path == "kind" {
			continue
		}
		subject, found := o.outcome(path)
		if subject == "" {
			subject, found = path, outcomeNote{NotCarried, otherwise}
		}
		if seen[subject] {
			continue
		}
		seen[subject] = true
		r.add(Item{Source: o.name, Subject: subject, Kind: kindOfPath(subject), Outcome: found.outcome, Note: found.note})
	}
}

// outcome returns the longest path with an outcome that a field is, or is below of, or "".
func (o *object) outcome(path string) (longest string, found outcomeNote) {
	for prefix, outcome := range o.outcomes {
		below := strings.HasPrefix(path, prefix+".") || strings.HasPrefix(path, prefix+"[")
		if (path == prefix || below) && len(prefix) > len(longest) {
			longest, found = prefix, outcome
		}
	}
	return longest, found
}

func kindOfPath(path string) Kind {
	if strings.HasPrefix(path, "metadata.annotations[") {
		return KindAnnotation
	}
	return KindField
}

// leaves returns the paths of all fields without fields below them.
func leaves(path string, value any) []string {
	var found []string
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			found = append(found, leaves(childPath(path, key), v[key])...)
		}
	case []any:
		for i, item := range v {
			found = append(found, leaves(fmt.Sprintf("%s[%d]", path, i), item)...)
		}
	}
	if len(found) == 0 {
		return []string{path}
	}
	return found
}

func childPath(path, key string) string {
	switch {
	case path == "":
		return key
	case strings.ContainsAny(key, "./"), strings.HasSuffix(path, "metadata.annotations"), strings.HasSuffix(path, "metadata.labels"):
		return path + "[" + key + "]"
	}
	return path + "." + key
}
