package conversion

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/api/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
)

// annotated returns what a client of v1alpha1 writes if it sets the annotation.
func annotated(spec string) *v1alpha1.NginxOperator {
	return &v1alpha1.NginxOperator{ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{AnnotationSpec: spec}}}
}

func TestInvalidSpecIsRefused(t *testing.T) {
	for name, tt := range map[string]struct{ spec, want string }{
		"value":             {`{"image":""}`, "spec.image"},
		"rule on a value":   {`{"image":"nginx latest"}`, "must be an image reference"},
		"rule on a struct":  {`{"config":{"files":{"a":""},"configMap":{"name":"a"}}}`, "exactly one of config.files and config.configMap"},
		"rule on the spec":  {`{"ports":[{"name":"a","port":80},{"name":"b","port":53,"protocol":"UDP"}]}`, "spec.config is required when a port uses UDP"},
		"rule on a list":    {`{"ports":[{"name":"a","port":80},{"name":"b","port":80}]}`, "same port number and protocol"},
		"key of a list":     {`{"ports":[{"name":"a","port":80},{"name":"a","port":81}]}`, "Duplicate value"},
		"required field":    {`{"config":{"configMap":{}}}`, "spec.config.configMap.name"},
		"more than one":     {`{"image":"","config":{"configMap":{}}}`, "spec.config.configMap.name"},
		"length of a file":  {`{"config":{"files":{"a":"` + strings.Repeat("x", 262145) + `"}}}`, "may not be more than 262144"},
		"deep in a sidecar": {`{"podTemplate":{"containers":[{"name":"a","image":"b","runAsUser":0}]}}`, "greater than or equal to 1"},
	} {
		t.Run(name, func(t *testing.T) {
			err := V1Alpha1ToHub(t.Context(), annotated(tt.spec), &v1alpha2.NginxOperator{})
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), AnnotationSpec) {
				t.Errorf("error = %v, want one that says %q and names the annotation", err, tt.want)
			}
		})
	}
}

// TestDefaultsAreSetBeforeValidating: ports may leave out the protocol although rules read it,
// since validation sets the defaults first. The converted object does not contain them.
func TestDefaultsAreSetBeforeValidating(t *testing.T) {
	hub := &v1alpha2.NginxOperator{}
	must(t, V1Alpha1ToHub(t.Context(), annotated(`{"ports":[{"name":"a","port":80},{"name":"b","port":81}]}`), hub))
	if hub.Spec.Ports[1].Protocol != "" {
		t.Errorf("protocol = %s: defaults are the API server's to set", hub.Spec.Ports[1].Protocol)
	}
}

func TestOnlyWhatIsStoredIsValidated(t *testing.T) {
	for name, tt := range map[string]struct {
		edit    func(*v1alpha1.NginxOperator)
		refused bool
	}{
		"about to be stored": {func(*v1alpha1.NginxOperator) {}, true},
		"compared":           {func(o *v1alpha1.NginxOperator) { o.ResourceVersion = "1" }, false},
		"being deleted":      {func(o *v1alpha1.NginxOperator) { o.DeletionTimestamp = new(metav1.Now()) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, spec := range []string{
				`{"image":"nginx latest"}`,
				`{"ports":[{"name":"a","port":81},{"name":"b","port":80}]}`, // v1alpha1's default port, 80, is already in use.
			} {
				src, dst := annotated(spec), &v1alpha2.NginxOperator{}
				tt.edit(src)
				if err := V1Alpha1ToHub(t.Context(), src, dst); (err != nil) != tt.refused {
					t.Errorf("%s: error = %v", spec, err)
				}
			}
		})
	}
}

// TestInvalidObjectCanBeRead: an object that was stored before a rule existed can be read.
func TestInvalidObjectCanBeRead(t *testing.T) {
	stored := &v1alpha2.NginxOperator{Spec: v1alpha2.NginxOperatorSpec{Image: new("nginx latest")}}
	old, back := &v1alpha1.NginxOperator{}, &v1alpha2.NginxOperator{}
	must(t, HubToV1Alpha1(t.Context(), stored, old))
	old.ResourceVersion = "1"
	must(t, V1Alpha1ToHub(t.Context(), old, back))
	if diff := cmp.Diff(stored.Spec, back.Spec); diff != "" {
		t.Errorf("-stored +read:\n%s", diff)
	}
}

// TestV1Alpha1AllowsNothingElse: v1alpha2 allows every spec that v1alpha1 allows, so an object
// without the annotation needs no validation.
func TestV1Alpha1AllowsNothingElse(t *testing.T) {
	old, err := compile(v1alpha1.GroupVersion.Version)
	must(t, err)
	hub, err := hubSchema()
	must(t, err)
	specs := []v1alpha1.NginxOperatorSpec{{}}
	for port := range int32(10000) {
		specs = append(specs, v1alpha1.NginxOperatorSpec{Port: new(port)}, v1alpha1.NginxOperatorSpec{Port: new(65536 - port)})
	}
	for _, replicas := range []int32{-1, 0, 1, 1000, 1001} {
		specs = append(specs, v1alpha1.NginxOperatorSpec{Replicas: new(replicas)})
	}
	for _, length := range []int{0, 1, 256, 257} {
		specs = append(specs, v1alpha1.NginxOperatorSpec{ForceRedeploy: new(strings.Repeat("é", length))})
	}
	allowed := 0
	for i := range specs {
		if len(old.validate(t.Context(), unstructured(t, &specs[i]))) > 0 {
			continue
		}
		allowed++
		converted := specFromV1Alpha1(&specs[i], &v1alpha2.NginxOperatorSpec{})
		if errs := hub.validate(t.Context(), unstructured(t, &converted)); len(errs) > 0 {
			t.Errorf("v1alpha1 allows what v1alpha2 does not, give it the same rule: %v", errs)
		}
	}
	if allowed < 19000 {
		t.Errorf("only %d specs are allowed in v1alpha1", allowed)
	}
}

func unstructured(t *testing.T, spec any) map[string]any {
	t.Helper()
	obj, err := runtime.DefaultUnstructuredConverter.ToUnstructured(spec)
	must(t, err)
	return obj
}

// TestValidRoundTrip: a spec that the API server accepts survives a round trip through v1alpha1,
// unchanged and without an error.
func TestValidRoundTrip(t *testing.T) {
	props, err := specProps(v1alpha2.GroupVersion.Version)
	must(t, err)
	compiled, err := hubSchema()
	must(t, err)
	random := &generator{rand.New(rand.NewSource(3))}
	used := map[string]int{}
	for range 8000 {
		spec := random.object(props)
		data, err := json.Marshal(spec)
		must(t, err)
		if len(compiled.validate(t.Context(), spec)) > 0 {
			continue
		}
		want := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
		must(t, json.Unmarshal(data, &want.Spec))
		old, got := &v1alpha1.NginxOperator{}, &v1alpha2.NginxOperator{}
		must(t, HubToV1Alpha1(t.Context(), want, old))
		if err := V1Alpha1ToHub(t.Context(), throughJSON(t, old), got); err != nil {
			t.Fatalf("%s\n%v", data, err)
		}
		if !apiequality.Semantic.DeepEqual(want.Spec, got.Spec) {
			t.Fatalf("-before +after:\n%s", cmp.Diff(want.Spec, got.Spec))
		}
		count("", spec, used)
	}
	t.Logf("%d valid specs use %d fields", used[""], len(used))
	for name := range props.Properties {
		if used["."+name] < 10 {
			t.Errorf("%d valid specs have %s: the generator does not know it well enough", used["."+name], name)
		}
	}
}

// count counts the occurrences of each field.
func count(path string, value any, used map[string]int) {
	used[path]++
	switch value := value.(type) {
	case map[string]any:
		for name, child := range value {
			count(path+"."+name, child, used)
		}
	case []any:
		for _, child := range value {
			count(path, child, used)
		}
	}
}

// generator generates values that mostly satisfy a schema. It ignores the rules.
type generator struct{ *rand.Rand }

func (g *generator) object(props *apiextensionsv1.JSONSchemaProps) map[string]any {
	obj := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(props.Properties)) {
		if slices.Contains(props.Required, name) || g.Intn(4) == 0 {
			child := props.Properties[name]
			obj[name] = g.value(&child)
		}
	}
	if props.AdditionalProperties != nil {
		for range 1 + g.Intn(2) {
			obj[fmt.Sprintf("key%d", g.Intn(9))] = g.value(props.AdditionalProperties.Schema)
		}
	}
	return obj
}

func (g *generator) value(props *apiextensionsv1.JSONSchemaProps) any {
	switch {
	case len(props.Enum) > 0:
		var value any
		if err := json.Unmarshal(props.Enum[g.Intn(len(props.Enum))].Raw, &value); err != nil {
			panic(err)
		}
		return value
	case props.XIntOrString && g.Intn(2) == 0:
		return int64(g.Intn(100))
	case props.XIntOrString:
		return g.text("", 10)
	}
	switch props.Type {
	case "object":
		return g.object(props)
	case "array":
		list := make([]any, max(int(ptr.Deref(props.MinItems, 0)), g.Intn(3)))
		for i := range list {
			list[i] = g.value(props.Items.Schema)
		}
		return list
	case "integer":
		low := int64(ptr.Deref(props.Minimum, 0))
		return low + g.Int63n(min(int64(ptr.Deref(props.Maximum, 100)), 70000)-low+1)
	case "boolean":
		return g.Intn(2) == 0
	default:
		return g.text(props.Pattern, int(ptr.Deref(props.MaxLength, 100)))
	}
}

// text returns a text that matches a pattern.
func (g *generator) text(pattern string, maxLength int) string {
	texts := []string{"", "a", "web", "metrics-a", "b7", "/srv", "/srv/a", "nginx:1.30", "10%", "100%", "1Gi", "500m", "10.0.0.0/8", "2026-11-20T10:00:00Z", "A_b", "A_B", "10.0.0.1", "168h", "8760h"}
	for _, i := range g.Perm(len(texts)) {
		if len(texts[i]) <= maxLength && regexp.MustCompile(pattern).MatchString(texts[i]) {
			return texts[i]
		}
	}
	panic("no text matches " + pattern)
}

func BenchmarkV1Alpha1ToHub(b *testing.B) {
	stored := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	text, err := os.ReadFile("../../../config/samples/v1alpha2_full.yaml")
	if err != nil {
		b.Fatal(err)
	}
	documents := strings.Split(string(text), "---\n")
	if err := yaml.UnmarshalStrict([]byte(documents[len(documents)-1]), stored); err != nil {
		b.Fatal(err)
	}
	full := &v1alpha1.NginxOperator{}
	if err := HubToV1Alpha1(b.Context(), stored, full); err != nil {
		b.Fatal(err)
	}
	read := full.DeepCopy()
	read.ResourceVersion = "1"
	plain := &v1alpha1.NginxOperator{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1alpha1.NginxOperatorSpec{Port: new(int32(80)), Replicas: new(int32(1))}}
	for _, bb := range []struct {
		name string
		src  *v1alpha1.NginxOperator
	}{{"without the annotation", plain}, {"compared", read}, {"validated", full}} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := V1Alpha1ToHub(b.Context(), bb.src, &v1alpha2.NginxOperator{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := compile(v1alpha2.GroupVersion.Version); err != nil {
			b.Fatal(err)
		}
	}
}

// TestPieces: validated in pieces, a spec is valid if and only if the API server's validator says so.
func TestPieces(t *testing.T) {
	props, err := specProps(v1alpha2.GroupVersion.Version)
	must(t, err)
	internal := &apiextensions.JSONSchemaProps{}
	must(t, apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, internal, nil))
	whole, _, err := validation.NewSchemaValidator(internal)
	must(t, err)
	pieces, err := compilePiece(internal)
	must(t, err)
	random, counts := &generator{rand.New(rand.NewSource(7))}, map[bool]int{}
	for range 4000 {
		spec := random.object(props)
		if random.Intn(2) == 0 {
			random.spoil(spec)
		}
		want := validation.ValidateCustomResource(field.NewPath("spec"), spec, whole)
		got := pieces.validate(field.NewPath("spec"), spec)
		counts[len(want) > 0]++
		if (len(got) > 0) != (len(want) > 0) {
			t.Fatalf("%v\nwhole: %v\npieces: %v", spec, want, got)
		}
		for _, violation := range got {
			if !slices.ContainsFunc(want, func(w *field.Error) bool { return strings.HasPrefix(w.Field, violation.Field) }) {
				t.Fatalf("%v is not among %v", violation, want)
			}
		}
	}
	if counts[true] < 1000 || counts[false] < 1000 {
		t.Errorf("invalid and valid specs: %v", counts)
	}
}

// spoil replaces a value somewhere in an object.
func (g *generator) spoil(value any) {
	bad := []any{nil, "", "\x00", int64(-1), map[string]any{}, []any{}, []any{map[string]any{}, int64(7)}, true}
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if g.Intn(8) == 0 {
				value[name] = bad[g.Intn(len(bad))]
				return
			}
			g.spoil(value[name])
		}
	case []any:
		for _, child := range value {
			g.spoil(child)
		}
	}
}
