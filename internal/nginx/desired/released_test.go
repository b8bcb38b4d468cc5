package desired_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	kubeapply "example.com/nginx-operator/internal/kube/apply"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/apply"
	"example.com/nginx-operator/internal/nginx/desired"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/manifests"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/revision"
	"example.com/nginx-operator/internal/nginx/status"
	"example.com/nginx-operator/test/golden"
	"example.com/nginx-operator/test/plan"
)

// exceptions are what this version writes for applications that a release left behind and that have
// not changed since, by release and sample. docs/upgrades.md must describe each of them. Pods are
// never among them.
var exceptions = map[string]map[string][]string{
	// The status gets its addresses, and the message of RolledBack has a clearer text.
	"0.4.0": {
		"canary": {"write the status"}, "full": {"write the status"}, "least": {"write the status"},
		"rolled-back": {"write the status"}, "tls": {"write the status"},
	},
}

// releasedRoot contains a folder for each release, with a folder for each sample: the objects in a
// cluster after the release had settled (see docs/upgrades.md).
const releasedRoot = "testdata/released"

// released is one application that a release left behind.
type released struct {
	version, sample, dir string
	nginx                *v1alpha2.NginxOperator
	// objects are all other objects, including those that the NginxOperator refers to.
	objects []client.Object
	// answers are the answers of the instances, by address.
	answers map[string]instanceapi.Status
	facts   facts
}

// facts are what a release has recorded in addition to the objects.
type facts struct {
	// At is when the objects were read.
	At time.Time `json:"at"`
	// Inputs is the hash of the user's declarations, Attempt that of what is requested.
	Inputs  string `json:"inputs"`
	Attempt string `json:"attempt"`
}

const factsFile = "facts.json"

// eachReleased runs a test for each sample of each release.
func eachReleased(t *testing.T, test func(t *testing.T, r *released)) {
	t.Helper()
	eachSample(t, func(*released) bool { return true }, test)
}

// eachWhole runs a test for each sample that contains all objects of the application.
func eachWhole(t *testing.T, test func(t *testing.T, r *released)) {
	t.Helper()
	eachSample(t, (*released).whole, test)
}

func eachSample(t *testing.T, wanted func(*released) bool, test func(t *testing.T, r *released)) {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(releasedRoot, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(dirs) == 0 {
		t.Fatalf("there is no release in %s", releasedRoot)
	}
	for _, dir := range dirs {
		version, sample := filepath.Base(filepath.Dir(dir)), filepath.Base(dir)
		r := readReleased(t, version, sample, dir)
		if wanted(r) {
			t.Run(version+"/"+sample, func(t *testing.T) { test(t, r) })
		}
	}
}

func readReleased(t *testing.T, version, sample, dir string) *released {
	t.Helper()
	r := &released{version: version, sample: sample, dir: dir, answers: map[string]instanceapi.Status{}}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]instanceapi.Status{}
	for _, file := range files {
		text := []byte(golden.Read(t, filepath.Join(dir, file.Name())))
		switch name := file.Name(); {
		case name == factsFile:
			decodeJSON(t, text, &r.facts)
		case strings.HasPrefix(name, "requests-"):
			// Decoding with package instanceapi proves that this version can read the answer.
		case filepath.Ext(name) == ".json":
			var status instanceapi.Status
			decodeJSON(t, text, &status)
			answers[strings.TrimSuffix(strings.TrimPrefix(name, "instance-"), ".json")] = status
		default:
			r.add(t, name, text)
		}
	}
	for _, pod := range r.pods() {
		if answer, ok := answers[pod.Name]; ok {
			r.answers[pod.Status.PodIP] = answer
		}
	}
	return r
}

func decodeJSON(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

// add reads an object. A field that this version does not know is an error.
func (r *released) add(t *testing.T, file string, text []byte) {
	t.Helper()
	var kind struct {
		APIVersion, Kind string
	}
	if err := yaml.Unmarshal(text, &kind); err != nil {
		t.Fatal(err)
	}
	if kind.Kind == v1alpha2.Kind {
		r.nginx = &v1alpha2.NginxOperator{}
		if err := yaml.UnmarshalStrict(text, r.nginx); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		return
	}
	object, _, err := clientgoscheme.Codecs.UniversalDeserializer().Decode(text, nil, nil)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	r.objects = append(r.objects, object.(client.Object))
}

// ofType returns the objects of a type.
func ofType[T client.Object](r *released) []T {
	var found []T
	for _, object := range r.objects {
		if o, ok := object.(T); ok {
			found = append(found, o)
		}
	}
	return found
}

func (r *released) pods() []*corev1.Pod { return ofType[*corev1.Pod](r) }

func (r *released) deployment(t *testing.T) *appsv1.Deployment {
	t.Helper()
	all := ofType[*appsv1.Deployment](r)
	if len(all) != 1 {
		t.Fatalf("there are %d Deployments", len(all))
	}
	return all[0]
}

// whole reports whether the sample contains all objects of the application, and not only some.
func (r *released) whole() bool { return len(ofType[*appsv1.Deployment](r)) > 0 }

// indexes registers the observer's indexes with a fake client.
type indexes struct{ builder *fake.ClientBuilder }

func (i indexes) IndexField(_ context.Context, object client.Object, field string, values client.IndexerFunc) error {
	i.builder.WithIndex(object, field, values)
	return nil
}

// gather observes what the release left behind, like the operator.
func (r *released) gather(t *testing.T) observe.State {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha2.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	builder := fake.NewClientBuilder().WithScheme(scheme).WithObjects(r.nginx)
	if err := observe.AddIndexes(t.Context(), indexes{builder}); err != nil {
		t.Fatal(err)
	}
	cluster := builder.WithObjects(r.objects...).WithObjects(r.replicaSets()...).Build()
	getStatus := func(_ context.Context, podIP string) (instanceapi.Status, error) {
		answer, ok := r.answers[podIP]
		if !ok {
			t.Errorf("there is no answer of %s", podIP)
		}
		return answer, nil
	}
	state, err := observe.New(cluster, cluster, cluster, getStatus, desired.Kinds(application.KindDeployment)).Observe(t.Context(), application.Of(r.nginx))
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// replicaSets returns the ReplicaSets of the pods, which the samples lack.
func (r *released) replicaSets() (sets []client.Object) {
	for _, deployment := range ofType[*appsv1.Deployment](r) {
		known := map[types.UID]bool{}
		for _, pod := range ofType[*corev1.Pod](r) {
			ref := metav1.GetControllerOf(pod)
			if known[ref.UID] {
				continue
			}
			known[ref.UID] = true
			sets = append(sets, &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
				Namespace: pod.Namespace, Name: ref.Name, UID: ref.UID, Labels: pod.Labels,
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(deployment, appsv1.SchemeGroupVersion.WithKind("Deployment"))},
			}})
		}
	}
	return sets
}

// another returns the options of an operator of another release.
func another() revision.Options {
	return revision.Options{DefaultImage: "nginx:another", InstanceImage: "nginx-operator:another"}
}

// anotherTemplate makes this version build different pods from the same spec.
func anotherTemplate(t *testing.T) {
	restore, err := manifests.ReplaceForTest("podtemplate.yaml", `"name":"nginx-operator-install",`,
		`"name":"nginx-operator-install","env":[{"name":"RELEASE","value":"another"}],`)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(restore)
}

// plan returns the plan of this version, which has keys for orders, and its changes.
func (r *released) plan(t *testing.T, state observe.State, options revision.Options) (plan.Plan, []kubeapply.Change) {
	t.Helper()
	planned, blocked, err := plan.Of(revision.Input{Nginx: r.nginx, State: state, Options: options, Keys: []instanceapi.PublicKey{{ID: "key"}}, Now: r.facts.At})
	if err != nil {
		t.Fatal(err)
	}
	if blocked.Reason != "" {
		t.Errorf("it is blocked: %+v", blocked)
	}
	changes, err := apply.Compare(application.Of(r.nginx), planned.Intents, state)
	if err != nil {
		t.Fatal(err)
	}
	return planned, changes
}

// writes returns everything that would be written.
func writes(nginx *v1alpha2.NginxOperator, state observe.State, now time.Time, planned plan.Plan, changes []kubeapply.Change) []string {
	var all []string
	for _, c := range changes {
		if c.Action != kubeapply.Leave {
			all = append(all, string(c.Action)+" "+c.Intent.Kind.Name+" "+c.Intent.Name)
		}
	}
	for _, record := range planned.Records {
		all = append(all, "record "+record.Revision.Name)
	}
	for _, annotation := range planned.PodAnnotations {
		all = append(all, "annotate Pod "+annotation.Pod)
	}
	for _, order := range planned.Orders {
		all = append(all, "order Pod "+order.Pod)
	}
	next := status.Compute(status.Input{Nginx: nginx, State: state, Selection: *planned.Selection, KeepsPorts: planned.KeepsPorts, Now: now})
	if next.Changed {
		all = append(all, "write the status")
	}
	for _, e := range next.Events {
		all = append(all, "event "+e.Reason)
	}
	return all
}

// TestReleasedStateIsLeftAlone: this version, with other images and another template, writes
// nothing for the applications that a release left behind, apart from the exceptions.
func TestReleasedStateIsLeftAlone(t *testing.T) {
	variants := map[string]struct {
		options  revision.Options
		template bool
	}{
		"other images":              {another(), false},
		"other images and template": {another(), true},
	}
	for name, variant := range variants {
		t.Run(name, func(t *testing.T) {
			if variant.template {
				anotherTemplate(t)
			}
			eachWhole(t, func(t *testing.T, r *released) {
				state := r.gather(t)
				planned, changes := r.plan(t, state, variant.options)
				if live := r.deployment(t).Spec.Template.Annotations["operator.example.com/template"]; planned.Run.Hash != live {
					t.Errorf("the pods would be replaced: template %s, live is %s", planned.Run.Hash, live)
				}
				if diff := cmp.Diff(exceptions[r.version][r.sample], writes(r.nginx, state, r.facts.At, planned, changes)); diff != "" {
					t.Errorf("what is written, -documented +planned:\n%s", diff)
				}
			})
		})
	}
}

// TestReleasedStateTakesTheNextRollout: a rollout that the user causes brings the new instance
// image and template. This proves that the test above can fail.
func TestReleasedStateTakesTheNextRollout(t *testing.T) {
	anotherTemplate(t)
	eachWhole(t, func(t *testing.T, r *released) {
		r.nginx.Spec.ForceRedeploy = new("the next one")
		planned, changes := r.plan(t, r.gather(t), another())
		if planned.Run.Hash == r.deployment(t).Spec.Template.Annotations[naming.AnnotationTemplate] {
			t.Error("the template is the old one")
		}
		for _, c := range changes {
			if c.Intent.Kind.Name != "Deployment" {
				continue
			}
			text, err := json.Marshal(c.Intent.Fields)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{another().InstanceImage, `{"name":"RELEASE","value":"another"}`} {
				if c.Action != kubeapply.Update || !strings.Contains(string(text), want) {
					t.Errorf("%s Deployment without %s", c.Action, want)
				}
			}
		}
		if len(planned.Records) == 0 {
			t.Error("the rollout is not recorded")
		}
	})
}

// TestStateWithoutHistory: without a history, which versions before 0.4.0 did not have and a user
// may have deleted, the pods keep their instance manager as long as only its image differs, and a
// new history begins.
func TestStateWithoutHistory(t *testing.T) {
	eachWhole(t, func(t *testing.T, r *released) {
		if r.sample == "rolled-back" {
			// Without a history, this sample is another declaration.
			return
		}
		r.objects = slices.DeleteFunc(r.objects, func(o client.Object) bool {
			_, revision := o.(*appsv1.ControllerRevision)
			return revision
		})
		options := another()
		options.DefaultImage = r.nginx.Status.Image
		state := r.gather(t)
		planned, changes := r.plan(t, state, options)
		for _, c := range changes {
			if c.Action != kubeapply.Leave {
				t.Errorf("%s %s %s", c.Action, c.Intent.Kind.Name, c.Intent.Name)
			}
		}
		if len(planned.Records) != 1 || planned.Records[0].Revision.State != history.StateGood || planned.Records[0].Revision.Number != 1 {
			t.Errorf("the history begins with %+v", planned.Records)
		}
		if len(planned.PodAnnotations)+len(planned.Orders) > 0 {
			t.Errorf("pods are asked: %+v %+v", planned.PodAnnotations, planned.Orders)
		}
	})
}

// TestReleasedHashes: the hashes that identify a declaration do not change with a Go type or a
// library. Otherwise every application would be rolled out again.
func TestReleasedHashes(t *testing.T) {
	eachReleased(t, func(t *testing.T, r *released) {
		inputs, attempt := hashes(t, r.nginx, r.facts.Inputs, requestedRevision(r))
		if inputs != r.facts.Inputs {
			t.Errorf("the hash of the inputs is %s, the release recorded %s", inputs, r.facts.Inputs)
		}
		if attempt != r.facts.Attempt {
			t.Errorf("the hash of the attempt is %s, the release recorded %s", attempt, r.facts.Attempt)
		}
		if !r.whole() {
			return
		}
		known := false
		for _, o := range ofType[*appsv1.ControllerRevision](r) {
			known = known || o.Annotations["operator.example.com/inputs"] == inputs
			if failed := o.Annotations["operator.example.com/failed-attempt"]; failed != "" && failed != attempt {
				t.Errorf("the attempt that failed is %s, the one asked for %s", failed, attempt)
			}
		}
		if !known {
			t.Errorf("no revision was made of the inputs %s", inputs)
		}
	})
}

// hashes returns the hashes of a spec. That of the attempt includes inputs.
func hashes(t *testing.T, nginx *v1alpha2.NginxOperator, inputs, config string) (own, attempt string) {
	t.Helper()
	own, err := history.Hash(history.Inputs(&nginx.Spec))
	if err != nil {
		t.Fatal(err)
	}
	if inputs == "" {
		inputs = own
	}
	if attempt, err = history.Attempt(inputs, config, nginx.Spec.Rollout); err != nil {
		t.Fatal(err)
	}
	return own, attempt
}

// requestedRevision returns the configuration revision that the release considered requested.
func requestedRevision(r *released) string {
	for _, cm := range ofType[*corev1.ConfigMap](r) {
		if cm.Name == r.nginx.Name+"-config-next" {
			return cm.Annotations["operator.example.com/config"]
		}
	}
	return "0000000000000000"
}

// TestReleasedConfigurations: the revisions of configurations do not change, since pods of all
// releases compute them from the files.
func TestReleasedConfigurations(t *testing.T) {
	eachReleased(t, func(t *testing.T, r *released) {
		for _, cm := range ofType[*corev1.ConfigMap](r) {
			if revision := cm.Annotations["operator.example.com/config"]; revision != "" && revision != nginxconf.Revision(cm.Data) {
				t.Errorf("ConfigMap %s: revision %s, the release computed %s", cm.Name, nginxconf.Revision(cm.Data), revision)
			}
		}
	})
}

// TestNewerHistoryIsLeftAlone: nothing is written after a downgrade by one version either, if the
// later release has added fields to the history.
func TestNewerHistoryIsLeftAlone(t *testing.T) {
	add := func(t *testing.T, raw []byte, path ...string) []byte {
		t.Helper()
		var data map[string]any
		decodeJSON(t, raw, &data)
		at := data
		for _, key := range path {
			at = at[key].(map[string]any)
		}
		at["addedLater"] = map[string]any{"deep": []any{"value", 1.5}}
		text, err := json.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	eachWhole(t, func(t *testing.T, r *released) {
		for _, o := range ofType[*appsv1.ControllerRevision](r) {
			o.Annotations["operator.example.com/added-later"] = "value"
			for _, path := range [][]string{{}, {"spec"}, {"config"}} {
				o.Data.Raw = add(t, o.Data.Raw, path...)
			}
		}
		for ip, answer := range r.answers {
			text, err := json.Marshal(answer)
			if err != nil {
				t.Fatal(err)
			}
			var again instanceapi.Status
			decodeJSON(t, add(t, text), &again)
			r.answers[ip] = again
		}
		state := r.gather(t)
		planned, changes := r.plan(t, state, another())
		if diff := cmp.Diff(exceptions[r.version][r.sample], writes(r.nginx, state, r.facts.At, planned, changes)); diff != "" {
			t.Errorf("what is written:\n%s", diff)
		}
		// Everything that the newer release has written is kept, except for the files.
		for _, o := range ofType[*appsv1.ControllerRevision](r) {
			trimmed, err := history.TrimFiles(o.Data.Raw)
			if err != nil || strings.Count(string(trimmed), "addedLater") != 3 {
				t.Errorf("%s without its files: %s (%v)", o.Name, trimmed, err)
			}
		}
	})
}

// sorted returns the keys of a map in order.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
