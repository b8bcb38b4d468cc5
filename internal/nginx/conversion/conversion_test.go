package conversion

import (
	"encoding/json"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeserializer "k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/randfill"

	"example.com/nginx-operator/api/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
)

// rounds returns the number of objects to convert in each direction. `make measure WHAT=migration`
// sets it to 100,000.
func rounds(t *testing.T) int {
	t.Helper()
	text := os.Getenv("CONVERSION_ROUNDS")
	if text == "" {
		return 4000
	}
	n, err := strconv.Atoi(text)
	must(t, err)
	return n
}

// newFiller returns a filler that sets random values. The fixed seed makes failures reproducible.
func newFiller(t *testing.T, seed int64) *randfill.Filler {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, v1alpha2.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	funcs := fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs)
	return fuzzer.FuzzerFor(funcs, rand.NewSource(seed), runtimeserializer.NewCodecFactory(scheme)).NilChance(0.4).NumElements(0, 3)
}

func TestHubRoundTrip(t *testing.T) {
	fill := newFiller(t, 1)
	for i := range rounds(t) {
		want := &v1alpha2.NginxOperator{}
		fill.Fill(want)
		want = throughJSON(t, want)
		want.TypeMeta = metav1.TypeMeta{}

		spoke, got := &v1alpha1.NginxOperator{}, &v1alpha2.NginxOperator{}
		must(t, HubToV1Alpha1(t.Context(), want, spoke))
		spoke = throughJSON(t, spoke)
		must(t, V1Alpha1ToHub(t.Context(), spoke, got))
		if !apiequality.Semantic.DeepEqual(want, got) {
			t.Fatalf("object %d changed on its way through v1alpha1 (-before +after):\n%s", i, cmp.Diff(want, got))
		}
	}
}

func TestV1Alpha1RoundTrip(t *testing.T) {
	fill := newFiller(t, 2)
	for i := range rounds(t) {
		want := &v1alpha1.NginxOperator{}
		fill.Fill(want)
		// The conversion alone decides where the v1alpha2 spec is.
		want.Spec.V1Alpha2Spec = nil
		want = throughJSON(t, want)
		want.TypeMeta = metav1.TypeMeta{}

		hub, got := &v1alpha2.NginxOperator{}, &v1alpha1.NginxOperator{}
		must(t, V1Alpha1ToHub(t.Context(), want, hub))
		hub = throughJSON(t, hub)
		must(t, HubToV1Alpha1(t.Context(), hub, got))
		if !apiequality.Semantic.DeepEqual(want, got) {
			t.Fatalf("object %d changed on its way through v1alpha2 (-before +after):\n%s", i, cmp.Diff(want, got))
		}
	}
}

// throughJSON encodes and decodes an object, as the API server does between two conversions.
func throughJSON[T any](t *testing.T, in *T) *T {
	t.Helper()
	data, err := json.Marshal(in)
	must(t, err)
	out := new(T)
	must(t, json.Unmarshal(data, out))
	return out
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestFirstDesignNeedsNoAnnotation(t *testing.T) {
	for name, spec := range map[string]v1alpha1.NginxOperatorSpec{
		"empty":    {},
		"verbatim": {Port: new(int32(80)), Replicas: new(int32(1))},
		"full":     {Port: new(int32(8080)), Replicas: new(int32(0)), ForceRedeploy: new("")},
	} {
		t.Run(name, func(t *testing.T) {
			hub, back := &v1alpha2.NginxOperator{}, &v1alpha1.NginxOperator{}
			must(t, V1Alpha1ToHub(t.Context(), &v1alpha1.NginxOperator{Spec: spec}, hub))
			must(t, HubToV1Alpha1(t.Context(), hub, back))
			if diff := cmp.Diff(&v1alpha1.NginxOperator{Spec: spec}, back); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestEditThroughV1Alpha1(t *testing.T) {
	before := v1alpha2.NginxOperatorSpec{
		Image:    new("nginx:1.30"),
		Replicas: new(int32(3)),
		Ports: []v1alpha2.Port{
			{Name: "web", Port: 8080, Protocol: corev1.ProtocolTCP, NodePort: new(int32(30080))},
			{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP},
		},
		Config: &v1alpha2.Config{Files: map[string]v1alpha2.ConfigFile{"site.conf": "server {}"}},
	}
	tests := map[string]struct {
		edit func(*v1alpha1.NginxOperatorSpec)
		want func(*v1alpha2.NginxOperatorSpec)
	}{
		"nothing":  {func(*v1alpha1.NginxOperatorSpec) {}, func(*v1alpha2.NginxOperatorSpec) {}},
		"replicas": {func(s *v1alpha1.NginxOperatorSpec) { s.Replicas = new(int32(5)) }, func(s *v1alpha2.NginxOperatorSpec) { s.Replicas = new(int32(5)) }},
		"port":     {func(s *v1alpha1.NginxOperatorSpec) { s.Port = new(int32(81)) }, func(s *v1alpha2.NginxOperatorSpec) { s.Ports[0].Port = 81 }},
		"port unset": {func(s *v1alpha1.NginxOperatorSpec) { s.Port = nil },
			func(s *v1alpha2.NginxOperatorSpec) { s.Ports[0].Port = 80 }},
		"redeploy": {func(s *v1alpha1.NginxOperatorSpec) { s.ForceRedeploy = new("x") }, func(s *v1alpha2.NginxOperatorSpec) { s.ForceRedeploy = new("x") }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			hub := &v1alpha2.NginxOperator{Spec: *before.DeepCopy()}
			spoke, got := &v1alpha1.NginxOperator{}, &v1alpha2.NginxOperator{}
			must(t, HubToV1Alpha1(t.Context(), hub, spoke))
			tt.edit(&spoke.Spec)
			must(t, V1Alpha1ToHub(t.Context(), spoke, got))

			want := before.DeepCopy()
			tt.want(want)
			if diff := cmp.Diff(*want, got.Spec); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if _, left := got.Annotations[AnnotationSpec]; left {
				t.Error("the annotation is still there in v1alpha2")
			}
		})
	}
}

func TestOnlyPortUnset(t *testing.T) {
	hub := &v1alpha2.NginxOperator{Spec: v1alpha2.NginxOperatorSpec{Ports: []v1alpha2.Port{{Name: "web", Port: 8080}}}}
	spoke, got := &v1alpha1.NginxOperator{}, &v1alpha2.NginxOperator{}
	must(t, HubToV1Alpha1(t.Context(), hub, spoke))
	spoke.Spec.Port = nil
	must(t, V1Alpha1ToHub(t.Context(), spoke, got))
	if got.Spec.Ports != nil {
		t.Errorf("ports = %v, want the default", got.Spec.Ports)
	}
}

func TestTakenPortIsRefused(t *testing.T) {
	hub := &v1alpha2.NginxOperator{Spec: v1alpha2.NginxOperatorSpec{Ports: []v1alpha2.Port{
		{Name: "web", Port: 80, Protocol: corev1.ProtocolTCP}, {Name: "admin", Port: 81, Protocol: corev1.ProtocolTCP},
	}}}
	spoke := &v1alpha1.NginxOperator{}
	must(t, HubToV1Alpha1(t.Context(), hub, spoke))
	spoke.Spec.Port = new(int32(81))
	err := V1Alpha1ToHub(t.Context(), spoke, &v1alpha2.NginxOperator{})
	if err == nil || !strings.Contains(err.Error(), "spec.port: 81 is already the number of the port admin") {
		t.Errorf("error = %v, want one that names the port", err)
	}
}

func TestBrokenAnnotationIsRefused(t *testing.T) {
	broken := &v1alpha1.NginxOperator{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{AnnotationSpec: "{"}}}
	err := V1Alpha1ToHub(t.Context(), broken, &v1alpha2.NginxOperator{})
	if err == nil || !strings.Contains(err.Error(), AnnotationSpec) {
		t.Errorf("error = %v, want one that names %s", err, AnnotationSpec)
	}
}

// TestEndlessQuantityIsRefused: the quantity is rejected before it is parsed, which would take
// unbounded time and memory.
func TestEndlessQuantityIsRefused(t *testing.T) {
	endless := &v1alpha1.NginxOperator{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
		AnnotationSpec: `{"resources":{"limits":{"cpu":"1e-99999999999"}}}`,
	}}}
	err := V1Alpha1ToHub(t.Context(), endless, &v1alpha2.NginxOperator{})
	if err == nil || !strings.Contains(err.Error(), "spec.resources.limits.cpu") {
		t.Errorf("error = %v, want one that names the field", err)
	}
}

// TestWhatIsStoredCanBeRead: everything that an earlier CRD could have stored as v1alpha1 can be
// read. One object that cannot be converted would block every client from listing any. Like the API
// server, the test reads without a resourceVersion.
func TestWhatIsStoredCanBeRead(t *testing.T) {
	tests := map[string]struct {
		hidden string
		image  string
		// kept reports whether the annotation stays, since it does not hold a v1alpha2 spec.
		kept bool
	}{
		"invalid":  {hidden: `{"image":"nginx latest"}`, image: "nginx latest"},
		"no spec":  {hidden: `{`, kept: true},
		"a string": {hidden: `"x"`, kept: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			src := &v1alpha1.NginxOperator{
				ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{AnnotationSpec: tt.hidden, "other": "x"}},
				Spec:       v1alpha1.NginxOperatorSpec{Port: new(int32(8080)), Replicas: new(int32(2))},
			}
			got := &v1alpha2.NginxOperator{}
			must(t, LenientV1Alpha1ToHub(func() bool { return true })(t.Context(), src, got))
			if _, kept := got.Annotations[AnnotationSpec]; kept != tt.kept || got.Annotations["other"] != "x" {
				t.Errorf("annotations = %v", got.Annotations)
			}
			if image := ptr.Deref(got.Spec.Image, ""); image != tt.image {
				t.Errorf("image = %q, want %q", image, tt.image)
			}
			if *got.Spec.Replicas != 2 || got.Spec.Ports[0].Port != 8080 {
				t.Errorf("spec = %+v", got.Spec)
			}
			if err := LenientV1Alpha1ToHub(func() bool { return false })(t.Context(), src, &v1alpha2.NginxOperator{}); err == nil {
				t.Error("it is not refused where nothing is stored as v1alpha1")
			}
		})
	}
}
