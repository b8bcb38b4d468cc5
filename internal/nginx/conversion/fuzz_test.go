package conversion

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"

	"example.com/nginx-operator/api/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/revision"
	"example.com/nginx-operator/test/plan"
)

// FuzzAnnotation: for any annotation that a client of v1alpha1 writes, either the error names what
// to correct, or the result is valid in v1alpha2, has the values of v1alpha1's own fields, and
// survives another round trip through v1alpha1.
func FuzzAnnotation(f *testing.F) {
	for _, spec := range []string{
		`{}`, `null`, `[]`, `{`, `"x"`, `{"image":"nginx latest"}`, `{"ports":[]}`, `{"ports":[{"name":"a","port":80},{"name":"b","port":81}]}`,
		`{"podTemplate":{"containers":[{"name":"a","image":"b","runAsUser":0}]}}`, `{"config":{"files":{"a.conf":"server {}"}},"suspend":true}`,
		`{"rollout":{"maxSurge":"0%","canary":{"maxLatencyRatio":"1.5"}}}`, `{"replicas":7,"Replicas":8,"unknown":{}}`,
	} {
		f.Add(spec, int32(8080), int32(2))
	}
	f.Fuzz(func(t *testing.T, annotation string, port, replicas int32) {
		src := annotated(annotation)
		// Restrict the fields to values that v1alpha1's own schema allows.
		if port = 1 + port&0x3fff; port == 9113 {
			port = 80
		}
		src.Spec.Port, src.Spec.Replicas = &port, new(replicas&0x1ff)
		hub := &v1alpha2.NginxOperator{}
		if err := V1Alpha1ToHub(t.Context(), src.DeepCopy(), hub); err != nil {
			if text := err.Error(); !strings.Contains(text, AnnotationSpec) && !strings.HasPrefix(text, "spec.port: ") {
				t.Errorf("the error names nothing that could be corrected: %.300s", text)
			}
			checkStored(t, src)
			return
		}
		if *hub.Spec.Replicas != *src.Spec.Replicas || hub.Spec.Ports[0].Port != port {
			t.Errorf("v1alpha1 says port %d and %d replicas, v1alpha2 %d and %d", port, *src.Spec.Replicas, hub.Spec.Ports[0].Port, *hub.Spec.Replicas)
		}
		compiled, err := hubSchema()
		must(t, err)
		if errs := compiled.validate(t.Context(), unstructured(t, &hub.Spec)); len(errs) > 0 {
			t.Errorf("what is accepted is invalid in v1alpha2: %v", errs.ToAggregate())
		}
		checkRound(t, hub)
	})
}

// checkStored checks that an object that is already stored can be read, and written back unchanged.
func checkStored(t *testing.T, src *v1alpha1.NginxOperator) {
	t.Helper()
	hub := &v1alpha2.NginxOperator{}
	must(t, LenientV1Alpha1ToHub(func() bool { return true })(t.Context(), src.DeepCopy(), hub))
	if _, none := hub.Annotations[AnnotationSpec]; !none {
		checkRound(t, hub)
	}
}

// checkRound checks that a round trip through v1alpha1 does not change an object.
func checkRound(t *testing.T, want *v1alpha2.NginxOperator) {
	t.Helper()
	want = throughJSON(t, want)
	spoke, got := &v1alpha1.NginxOperator{}, &v1alpha2.NginxOperator{}
	must(t, HubToV1Alpha1(t.Context(), want, spoke))
	spoke = throughJSON(t, spoke)
	spoke.ResourceVersion = "1"
	must(t, V1Alpha1ToHub(t.Context(), spoke, got))
	got.ResourceVersion = ""
	if !apiequality.Semantic.DeepEqual(want, got) {
		t.Errorf("the object changed on its way through v1alpha1 (-before +after):\n%s", cmp.Diff(want, got))
	}
}

// FuzzDefaults: a spec that the API server accepts, defaulted and pruned, fits the Go types:
// decoding loses nothing, and the spec can be converted and built.
func FuzzDefaults(f *testing.F) {
	for _, spec := range []string{
		`{}`, `{"ports":[{"name":"a","port":80}],"service":{}}`, `{"ports":[{"name":"dns","port":53,"protocol":"UDP"}],"config":{"configMap":{"name":"a"}}}`,
		`{"service":{"type":"LoadBalancer","loadBalancerSourceRanges":["10.0.0.0/8"]},"rollout":{"maxSurge":3,"gates":["a"]}}`,
		`{"podTemplate":{"containers":[{"name":"a","image":"b","env":[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}],"ports":[{"name":"x","containerPort":1}]}]}}`,
		`{"podTemplate":{"volumes":[{"name":"v","csi":{"driver":"d","volumeAttributes":{"a":"b"}}}],"volumeMounts":[{"name":"v","mountPath":"/data"}]}}`,
		`{"content":[{"mountPath":"/srv","image":{"reference":"a"}}],"tls":[{"name":"a","secretName":"b"}],"resources":{"limits":{"cpu":"1"}}}`,
	} {
		f.Add([]byte(spec))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var spec map[string]any
		if json.Unmarshal(text, &spec) != nil || spec == nil {
			return
		}
		compiled, err := hubSchema()
		must(t, err)
		pruning.Prune(spec, compiled.structural, false)
		if len(compiled.validate(t.Context(), spec)) > 0 {
			return
		}
		hub := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(spec, &hub.Spec, true); err != nil {
			t.Fatalf("the schema accepts what the types do not: %v", err)
		}
		checkRound(t, hub)
		if _, _, err := plan.Fresh(hub, revision.Options{DefaultImage: "nginx", InstanceImage: "operator"}); err != nil {
			t.Errorf("it cannot be built: %v", err)
		}
	})
}
