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
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/apply"
	"example.com/nginx-operator/internal/desired"
	"example.com/nginx-operator/internal/golden"
	"example.com/nginx-operator/internal/history"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/naming"
	"example.com/nginx-operator/internal/nginxconf"
	"example.com/nginx-operator/internal/observe"
	"example.com/nginx-operator/internal/status"
)

// exceptions are what this version writes about applications that a release left behind and
// that nobody has changed since, by release and sample. Each of them has to stand in
// docs/upgrades.md. Pods are never among them.
var exceptions = map[string]map[string][]string{
	// The status gets its addresses, and the message of RolledBack is in plainer words.
	"0.4.0": {
		"canary": {"write the status"}, "full": {"write the status"}, "least": {"write the status"},
		"rolled-back": {"write the status"}, "tls": {"write the status"},
	},
}

// releasedRoot has a folder for each release, with a folder for each sample: the objects as
// they lay in a cluster after the release had settled (see docs/upgrades.md).
const releasedRoot = "testdata/released"

// released is one application that a release left behind.
type released struct {
	version, sample, dir string
	nginx                *v1alpha2.NginxOperator
	// objects are all others, those that the NginxOperator refers to included.
	objects []client.Object
	// answers are what the instances said, by their addresses.
	answers map[string]instanceapi.Status
	facts   facts
}

// facts are what a release has recorded beside the objects.
type facts struct {
	// At is when the objects were read.
	At time.Time `json:"at"`
	// Inputs is the hash of what the user declared, Attempt that of what is asked for.
	Inputs  string `json:"inputs"`
	Attempt string `json:"attempt"`
}

const factsFile = "facts.json"

// eachReleased runs a test for each sample of each release.
func eachReleased(t *testing.T, test func(t *testing.T, r *released)) {
	t.Helper()
	eachSample(t, func(*released) bool { return true }, test)
}

// eachWhole runs a test on the samples that are all that was in the cluster.
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
			// Package instanceapi reads it.
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

// add reads an object. A field that this version does not know any more is an error.
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

// ofType are the objects of a type.
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

// whole tells whether there is all that was in the cluster, and not a part alone.
func (r *released) whole() bool { return len(ofType[*appsv1.Deployment](r)) > 0 }

// indexes registers the observer's indexes with a fake client.
type indexes struct{ builder *fake.ClientBuilder }

func (i indexes) IndexField(_ context.Context, object client.Object, field string, values client.IndexerFunc) error {
	i.builder.WithIndex(object, field, values)
	return nil
}

// gather observes what the release left behind as the operator does.
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
	cluster := builder.WithObjects(r.objects...).Build()
	ask := func(_ context.Context, podIP string) (instanceapi.Status, error) {
		answer, ok := r.answers[podIP]
		if !ok {
			t.Errorf("there is no answer of %s", podIP)
		}
		return answer, nil
	}
	state, err := observe.New(cluster, cluster, cluster, ask, desired.ObservedKinds()).Gather(t.Context(), r.nginx)
	if err != nil {
		t.Fatal(err)
	}
	state.Now = r.facts.At
	return state
}

// another is an operator of another release.
func another() desired.Options {
	words := instanceapi.NewWords()
	return desired.Options{DefaultImage: "nginx:another", InstanceImage: "nginx-operator:another", Words: &words}
}

// anotherTemplate lets this version make other pods of the same spec.
func anotherTemplate(t *testing.T) {
	desired.ChangeManifest(t, "podtemplate.yaml", `"name":"nginx-operator-install",`,
		`"name":"nginx-operator-install","env":[{"name":"RELEASE","value":"another"}],`)
}

// plan is what this version wants.
func (r *released) plan(t *testing.T, state observe.State, options desired.Options) (*desired.Plan, []apply.Change) {
	t.Helper()
	plan, blocked, err := desired.Build(r.nginx, state, options)
	if err != nil {
		t.Fatal(err)
	}
	if blocked.Reason != "" {
		t.Errorf("it is blocked: %+v", blocked)
	}
	changes, err := apply.Decide(r.nginx, plan, state)
	if err != nil {
		t.Fatal(err)
	}
	return plan, changes
}

// writes are all that would be written.
func writes(nginx *v1alpha2.NginxOperator, state observe.State, plan *desired.Plan, changes []apply.Change) []string {
	var all []string
	for _, c := range changes {
		if c.Action != apply.Leave {
			all = append(all, string(c.Action)+" "+c.Intent.Kind.Name+" "+c.Intent.Name)
		}
	}
	for _, record := range plan.Records {
		all = append(all, "record "+record.Revision.Name)
	}
	for _, ask := range plan.Asks {
		all = append(all, "annotate Pod "+ask.Pod)
	}
	for _, tell := range plan.Tells {
		all = append(all, "tell Pod "+tell.Pod)
	}
	next := status.Compute(status.Input{Nginx: nginx, State: state, Plan: plan, Now: state.Now})
	if next.Changed {
		all = append(all, "write the status")
	}
	for _, e := range next.Events {
		all = append(all, "event "+e.Reason)
	}
	return all
}

// TestReleasedStateIsLeftAlone has each application that a release left behind looked at by
// this version, with other images and another template: nothing is written.
func TestReleasedStateIsLeftAlone(t *testing.T) {
	variants := map[string]struct {
		options  desired.Options
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
				plan, changes := r.plan(t, state, variant.options)
				if live := r.deployment(t).Spec.Template.Annotations["operator.example.com/template"]; plan.Template != live {
					t.Errorf("the pods would be replaced: template %s, live is %s", plan.Template, live)
				}
				if diff := cmp.Diff(exceptions[r.version][r.sample], writes(r.nginx, state, plan, changes)); diff != "" {
					t.Errorf("what is written, -documented +planned:\n%s", diff)
				}
			})
		})
	}
}

// TestReleasedStateTakesTheNextRollout proves that the test above can fail, and that what the
// user causes brings the new instance image and template.
func TestReleasedStateTakesTheNextRollout(t *testing.T) {
	anotherTemplate(t)
	eachWhole(t, func(t *testing.T, r *released) {
		r.nginx.Spec.ForceRedeploy = new("the next one")
		plan, changes := r.plan(t, r.gather(t), another())
		if plan.Template == r.deployment(t).Spec.Template.Annotations[naming.AnnotationTemplate] {
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
				if c.Action != apply.Update || !strings.Contains(string(text), want) {
					t.Errorf("%s Deployment without %s", c.Action, want)
				}
			}
		}
		if len(plan.Records) == 0 {
			t.Error("the rollout is not recorded")
		}
	})
}

// TestStateWithoutHistory is what versions before 0.4.0 left behind, or somebody who has
// deleted the history: as long as nothing but the image of the instance manager differs, the
// pods keep theirs, and the history begins.
func TestStateWithoutHistory(t *testing.T) {
	eachWhole(t, func(t *testing.T, r *released) {
		if r.sample == "rolled-back" {
			// Without a history it is another declaration.
			return
		}
		r.objects = slices.DeleteFunc(r.objects, func(o client.Object) bool {
			_, revision := o.(*appsv1.ControllerRevision)
			return revision
		})
		options := another()
		options.DefaultImage = r.nginx.Status.Image
		state := r.gather(t)
		plan, changes := r.plan(t, state, options)
		for _, c := range changes {
			if c.Action != apply.Leave {
				t.Errorf("%s %s %s", c.Action, c.Intent.Kind.Name, c.Intent.Name)
			}
		}
		if len(plan.Records) != 1 || plan.Records[0].Revision.State != history.Good || plan.Records[0].Revision.Number != 1 {
			t.Errorf("the history begins with %+v", plan.Records)
		}
		if len(plan.Asks)+len(plan.Tells) > 0 {
			t.Errorf("pods are asked: %+v %+v", plan.Asks, plan.Tells)
		}
	})
}

// TestReleasedHashes makes sure that a later change of a Go type, or of a library, does not
// change what identifies a declaration: every application would be rolled out again.
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

// hashes are those of a spec; inputs goes into that of the attempt.
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

// requestedRevision is what the release found to be asked for.
func requestedRevision(r *released) string {
	for _, cm := range ofType[*corev1.ConfigMap](r) {
		if cm.Name == r.nginx.Name+"-config-next" {
			return cm.Annotations["operator.example.com/config"]
		}
	}
	return "0000000000000000"
}

// TestReleasedConfigurations makes sure that the revisions of configurations stay what they
// were: pods of all releases compute them from the files.
func TestReleasedConfigurations(t *testing.T) {
	eachReleased(t, func(t *testing.T, r *released) {
		for _, cm := range ofType[*corev1.ConfigMap](r) {
			if revision := cm.Annotations["operator.example.com/config"]; revision != "" && revision != nginxconf.Revision(cm.Data) {
				t.Errorf("ConfigMap %s: revision %s, the release computed %s", cm.Name, nginxconf.Revision(cm.Data), revision)
			}
		}
	})
}

// TestNewerHistoryIsLeftAlone has a release after this one add fields to what it keeps: after
// a downgrade by one version, nothing is written either.
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
		plan, changes := r.plan(t, state, another())
		if diff := cmp.Diff(exceptions[r.version][r.sample], writes(r.nginx, state, plan, changes)); diff != "" {
			t.Errorf("what is written:\n%s", diff)
		}
		// What the newer release wrote is read whole, but for the files.
		for _, o := range ofType[*appsv1.ControllerRevision](r) {
			trimmed, err := history.TrimFiles(o.Data.Raw)
			if err != nil || strings.Count(string(trimmed), "addedLater") != 3 {
				t.Errorf("%s without its files: %s (%v)", o.Name, trimmed, err)
			}
		}
	})
}

// sorted are the keys of a map, in their order.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
