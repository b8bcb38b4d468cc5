package status

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/randfill"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/config/crd"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/poddiagnosis"
	"example.com/nginx-operator/internal/nginx/revision"
)

// FuzzCompute: whatever pods, instances, an edited history and the API server report, the API
// server accepts the status, which has every condition, and each event is a short line.
func FuzzCompute(f *testing.F) {
	schema := statusSchema(f)
	f.Add([]byte(nil))
	for _, seed := range []string{"a", "b", "some bytes that fill fields", strings.Repeat("\x00\xff\x13", 300), strings.Repeat("pods ", 500)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, fill []byte) {
		in := filled(t, fill)
		result := Compute(in)
		checkStatus(t, schema, in, result)
		checkEvents(t, result.Events)
		in.Nginx.Status = result.Status
		if again := Compute(in); again.Changed {
			t.Errorf("computed again it differs, or has events: %+v\n%+v", again, result)
		}
	})
}

// statusSchema returns a validator that validates like the API server.
func statusSchema(f testing.TB) validation.SchemaValidator {
	f.Helper()
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(crd.NginxOperators, definition); err != nil {
		f.Fatal(err)
	}
	at := slices.IndexFunc(definition.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == v1alpha2.GroupVersion.Version
	})
	props := definition.Spec.Versions[at].Schema.OpenAPIV3Schema.Properties["status"]
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&props, internal, nil); err != nil {
		f.Fatal(err)
	}
	validator, _, err := validation.NewSchemaValidator(internal)
	if err != nil {
		f.Fatal(err)
	}
	return validator
}

// filled returns an input whose values are derived from bytes. What the API server has validated is
// legal: names, counts and the spec. What other clients report is arbitrary.
func filled(t *testing.T, fill []byte) Input {
	t.Helper()
	filler := randfill.NewFromGoFuzz(fill).NilChance(0.3).NumElements(0, 2).MaxDepth(12).Funcs(
		func(s *string, c randfill.Continue) { *s = words[c.Intn(len(words))] },
		func(n *int32, c randfill.Continue) { *n = c.Int31n(5) },
		func(n *metav1.Time, c randfill.Continue) { n.Time = now.Add(time.Duration(c.Int63n(1e16)) - 5e15) },
		func(n *time.Time, c randfill.Continue) { *n = now.Add(time.Duration(c.Int63n(1e16)) - 5e15) },
		func(c *corev1.PodConditionType, r randfill.Continue) {
			*c = []corev1.PodConditionType{corev1.PodReady, corev1.PodScheduled}[r.Intn(2)]
		},
		func(c *appsv1.DeploymentConditionType, r randfill.Continue) {
			*c = []appsv1.DeploymentConditionType{appsv1.DeploymentProgressing, appsv1.DeploymentReplicaFailure}[r.Intn(2)]
		},
		func(c *corev1.ConditionStatus, r randfill.Continue) {
			*c = []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse}[r.Intn(2)]
		},
	)
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u1", Generation: 3}}
	filler.Fill(&nginx.Spec.Replicas)
	nginx.Spec.TLS = []v1alpha2.Certificate{{Name: "shop", SecretName: "shop-tls"}}
	in := Input{Nginx: nginx, State: observe.State{Owned: map[owned.Key]owned.Object{}, Instances: map[string]*instanceapi.Status{}}, Now: now}
	var d appsv1.Deployment
	var stable corev1.ConfigMap
	filler.Fill(&d)
	filler.Fill(&stable)
	filler.Fill(&in.State.Autoscaler)
	in.State.Owned[owned.Key{Kind: "Deployment", Name: "web"}] = &d
	in.State.Owned[owned.Key{Kind: "ConfigMap", Name: naming.ConfigMap("web")}] = &stable
	for _, name := range []string{"web-1", "web-2"} {
		in.State.Pods = append(in.State.Pods, filledPod(filler, name, d.Spec.Template.Annotations))
		instance := &instanceapi.Status{}
		filler.Fill(instance)
		instance.Certificates = append(instance.Certificates, instanceapi.Certificate{})
		filler.Fill(&instance.Certificates[0])
		instance.Certificates[0].Name = "shop"
		in.State.Instances[name] = instance
	}
	filler.Fill(&in.State.History)
	filler.Fill(&in.Blocked.Message)
	in.Selection = filledSelection(t, filler, in)
	return in
}

func filledPod(filler *randfill.Filler, name string, template map[string]string) corev1.Pod {
	var pod corev1.Pod
	filler.Fill(&pod)
	pod.Name, pod.UID, pod.Annotations, pod.DeletionTimestamp = name, types.UID("uid-"+name), template, nil
	pod.Status.PodIP = "10.0.0.1"
	for i := range pod.Status.ContainerStatuses {
		pod.Status.ContainerStatuses[i].Name = naming.NginxContainer
	}
	return pod
}

// filledSelection returns a selection in any mode, with a failure if the history is not empty.
func filledSelection(t *testing.T, filler *randfill.Filler, in Input) revision.Selection {
	t.Helper()
	options := revision.Options{DefaultImage: "nginx", InstanceImage: "operator"}
	s, _, err := revision.Select(revision.Input{Nginx: in.Nginx, Options: options})
	if err != nil {
		t.Fatal(err)
	}
	filler.Fill(&s.Rollout)
	filler.Fill(&s.RolledBackTo)
	if len(in.State.History) > 0 {
		s.Mode, s.Failure = revision.RolledBack, &history.Failure{}
		if s.RolledBackTo%2 == 0 {
			s.Mode = revision.Held
		}
		filler.Fill(s.Failure)
	}
	return *s
}

// words are texts that other clients may report.
var words = []string{
	"", "nginx", "web-1", "Good", "good", "True", "r1", "1.30.4", naming.AnnotationTemplate, naming.AnnotationConfig,
	"ErrImagePull", "CrashLoopBackOff", "CreateContainerError", "Unschedulable", "NewReplicaSetAvailable", "ProgressDeadlineExceeded", "ConfigRejected",
	"two words", "a\nb\tc", "\x1b[31m", "\x7f\u0085\ufeff", "\u202eabc", "bad \xff byte", strings.Repeat("0", 65), strings.Repeat("image/", 100), strings.Repeat("\u00e9", 3000),
}

func checkStatus(t *testing.T, schema validation.SchemaValidator, in Input, result Result) {
	t.Helper()
	text, err := json.Marshal(result.Status)
	if err != nil {
		t.Fatal(err)
	}
	var plain map[string]any
	if err := json.Unmarshal(text, &plain); err != nil {
		t.Fatal(err)
	}
	if errs := validation.ValidateCustomResource(nil, plain, schema); len(errs) > 0 {
		t.Errorf("the API server would reject the status, so that none is reported: %.1000s", errs.ToAggregate())
	}
	for _, c := range conditions {
		if meta.FindStatusCondition(result.Status.Conditions, c.name) == nil {
			t.Errorf("there is no condition %s", c.name)
		}
	}
	for _, c := range result.Status.Conditions {
		if c.Message == "" || c.ObservedGeneration != in.Nginx.Generation {
			t.Errorf("condition %+v", c)
		}
		checkLine(t, c.Message)
	}
}

func checkEvents(t *testing.T, events []Event) {
	t.Helper()
	for _, e := range events {
		if e.Reason == "" || strings.ContainsFunc(e.Reason, func(c rune) bool { return !unicode.IsLetter(c) }) {
			t.Errorf("event %+v", e)
		}
		checkLine(t, e.Note)
	}
}

func checkLine(t *testing.T, line string) {
	t.Helper()
	if len(line) > poddiagnosis.MaxMessage || !utf8.ValidString(line) || strings.ContainsFunc(line, unicode.IsControl) {
		t.Errorf("it is no short line of text: %.300q", line)
	}
}

// TestWhatPodsSayFits: neither an instance nor an image that an admission webhook has set in a pod
// can prevent the status from being written.
func TestWhatPodsSayFits(t *testing.T) {
	long := strings.Repeat("0", 600)
	in := healthy()
	certified(lasting(time.Hour, time.Minute))(&in)
	for i := range in.State.Pods {
		in.State.Pods[i].Spec.Containers[0].Image = long
		instance := in.State.Instances[in.State.Pods[i].Name]
		instance.NginxVersion, instance.Certificates = long, []instanceapi.Certificate{{Name: "shop", Serial: long, NotAfter: &now}}
	}
	in.State.Owned[owned.Key{Kind: "ConfigMap", Name: naming.ConfigMap("web")}] = &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{naming.AnnotationConfig: long}},
	}
	checkStatus(t, statusSchema(t), in, Compute(in))
}
