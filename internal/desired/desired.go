// Package desired decides what should exist for an application. It is pure: it
// looks at the resource and at what was observed, and returns intents.
//
// The part of an object that is always the same is a YAML manifest under
// manifests/, decoded strictly into an apply configuration. Go sets only what
// depends on the resource. An apply configuration names exactly the fields that
// the operator wants to own, so that nobody else's fields are touched.
package desired

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/history"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/naming"
	"example.com/nginx-operator/internal/nginxconf"
	"example.com/nginx-operator/internal/observe"
	"example.com/nginx-operator/internal/rollout"
)

//go:embed manifests/*.yaml
var manifests embed.FS

// Options are the operator's own settings.
type Options struct {
	// DefaultImage is run where spec.image is unset.
	DefaultImage string
	// Words are those at which pods load a configuration that they have tested; nil: they
	// are asked by another annotation, which takes longer.
	Words *instanceapi.Words
	// InstanceImage holds the instance manager, which an init container copies into
	// every pod.
	InstanceImage string
}

// Plan is what should exist.
type Plan struct {
	// Intents are in the order in which they have to be carried out.
	Intents []Intent
	// Config is the configuration that the pods should serve. Its revision is empty
	// when there is none: what needs one is then left as it is.
	Config nginxconf.Config
	// Rollout is how far it has come and what the pods are to be asked next.
	Rollout rollout.Decision
	// Asks are the pods that are to be asked, after the intents were carried out.
	Asks []Ask
	// Tells are the pods that are to be told the word at which they load it.
	Tells []Tell
	// Records are the writes to the history. They come first.
	Records []Record
	// Template is the hash of the pod template that is to run.
	Template string
	// Settled tells that every pod is of that template, and serves.
	Settled bool
	// Step is how far the rollout of the template has come; zero: none is under way.
	Step rollout.Step
	// After is when to look again, without an event; 0: never.
	After time.Duration
	// Trial is a comparison that has to be made before the plan is carried out; nil: none.
	Trial *Trial
	// Failure is why the revision that the spec asks for does not run, or is held; nil: it
	// runs. Back is the number of the one that runs in its place, 0 where it is held.
	Failure *history.Failure
	Back    int64
	// Retry is when the revision that failed is tried again; nil: it is not.
	Retry *Retry
	// Pinned tells that the revision of rollout.toRevision runs.
	Pinned bool
	// Waiting is the rollout that waits for its gates; nil: none does.
	Waiting *Waiting
	// Retreat tells that the last good revision runs for a moment before the one asked for, until the
	// pods of another rollout, which was given up, are gone.
	Retreat *Retreat
	// KeepsPorts tells that the Service has the ports of pods that are being replaced, until they are gone.
	KeepsPorts bool
}

// Retreat is a rollout that has not begun, because of one before it.
type Retreat struct {
	// Pods are those that have to be gone.
	Pods []string
}

// Intent is one object as it should be.
type Intent struct {
	Kind Kind
	Name string
	// Config holds the fields that the operator wants to own; nil: should not exist.
	Config runtime.ApplyConfiguration
	// Meta is the metadata inside Config.
	Meta *metav1ac.ObjectMetaApplyConfiguration
	// Fields is Config as plain values.
	Fields map[string]any
}

// ShouldExist tells whether the intent is an object, not its absence.
func (i Intent) ShouldExist() bool { return i.Config != nil }

// Blocked tells why a spec cannot be carried out (in full). A zero Blocked means
// that nothing stands in the way.
type Blocked struct {
	// Reason is a reason of the condition Accepted.
	Reason string
	// Message names the thing to fix.
	Message string
}

// input is what the builders look at.
type input struct {
	nginx   *v1alpha2.NginxOperator
	state   observe.State
	options Options
	// course is which revision runs.
	course course
	// requested is its configuration; the revision is empty when there is none.
	requested resolved
	// template is that of its pods.
	template *corev1ac.PodTemplateSpecApplyConfiguration
	decision rollout.Decision
	// began is the revision whose template is being rolled out, nil when none is, and step
	// how far that has come.
	began *history.Revision
	step  rollout.Step
}

// Build returns what should exist for nginx. When something that the user can fix
// stands in the way, blocked says what; the configuration is then left as it is.
func Build(nginx *v1alpha2.NginxOperator, state observe.State, options Options) (plan *Plan, blocked Blocked, err error) {
	requested, blocked := requestedConfig(nginx, state)
	if blocked.Reason == "" && len(state.MissingContent) > 0 {
		blocked = contentMissing(nginx, state.MissingContent)
	}
	in := &input{nginx: nginx, state: state, options: options}
	missing, err := in.decide(requested, blocked.Reason != "")
	if err != nil {
		return nil, blocked, err
	}
	if blocked.Reason == "" {
		blocked = missing
	}
	plan, err = in.plan()
	return plan, blocked, err
}

// decide fills in what the plan is made from. Each decision needs those before it.
func (in *input) decide(requested resolved, unknown bool) (Blocked, error) {
	course, blocked, err := in.chart(requested, unknown)
	if err != nil {
		return blocked, fmt.Errorf("find the revision to run: %w", err)
	}
	in.course, in.requested, in.template = course, course.run.config, course.run.template
	in.began = in.rolling()
	in.decision = rollout.Decide(in.rollout())
	in.step = in.advance()
	return blocked, nil
}

func (in *input) plan() (*Plan, error) {
	plan := &Plan{
		Config:   in.requested.Config,
		Rollout:  in.decision,
		Asks:     in.asks(),
		Tells:    in.tells(),
		Template: in.course.run.hash,
		Settled:  in.complete(),
		Step:     in.step,
		After:    rollout.Soonest(in.step.After, in.retryAfter()),
		Retry:    in.course.retry,
		Trial:    in.trial(),
		Failure:  in.course.failure,
		Pinned:   in.course.pinned,
		Waiting:  in.course.waiting,
	}
	if in.course.back() && in.course.failure != nil {
		plan.Back = in.state.History.Named(in.course.run.name).Number
	}
	if in.course.retreating {
		plan.Retreat = &Retreat{Pods: in.leftovers(in.course.asked.hash)}
	}
	var err error
	if plan.Records, err = in.records(); err != nil {
		return nil, fmt.Errorf("keep the history: %w", err)
	}
	if plan.KeepsPorts, err = in.keepsPorts(); err != nil {
		return nil, fmt.Errorf("find the ports of the pods: %w", err)
	}
	for _, kind := range Kinds() {
		if kind.needsConfig && in.next().Files == nil {
			continue
		}
		intent, err := in.intent(kind)
		if err != nil {
			return nil, fmt.Errorf("build %s: %w", kind.Name, err)
		}
		plan.Intents = append(plan.Intents, intent)
	}
	return plan, nil
}

func contentMissing(nginx *v1alpha2.NginxOperator, names []string) Blocked {
	return Blocked{
		Reason: v1alpha2.ReasonConfigMapNotFound,
		Message: fmt.Sprintf("ConfigMap %s, named by spec.content, does not exist in namespace %s: create it, or change spec.content",
			strings.Join(names, ", "), nginx.Namespace),
	}
}

func (in *input) intent(kind Kind) (Intent, error) {
	built, err := kind.build(in)
	if err != nil {
		return Intent{}, err
	}
	if built.config == nil {
		return Intent{Kind: kind, Name: kind.ObjectName(in.nginx.Name)}, nil
	}
	intent := Intent{Kind: kind, Name: *built.meta.Name, Config: built.config, Meta: built.meta}
	intent.Fields, err = runtime.DefaultUnstructuredConverter.ToUnstructured(built.config)
	return intent, err
}

// object is what a builder returns; zero for "should not exist".
type object struct {
	config runtime.ApplyConfiguration
	meta   *metav1ac.ObjectMetaApplyConfiguration
}

func (in *input) image() string {
	return cmp.Or(ptr.Deref(in.nginx.Spec.Image, ""), in.options.DefaultImage)
}

// ports are those of a spec.
func ports(spec *v1alpha2.NginxOperatorSpec) []v1alpha2.Port {
	if len(spec.Ports) == 0 {
		return []v1alpha2.Port{{Name: "http", Port: 80, Protocol: "TCP"}}
	}
	return spec.Ports
}

// replicas is the number of pods to ask for, nil to leave it to its owner.
//
// An autoscaler that targets the Deployment owns the field from its first write on.
// Until then the operator is its only owner: leaving the field out would let it
// fall to 1, so the live value is carried.
func (in *input) replicas() *int32 {
	live := in.state.Deployment()
	switch {
	case in.state.Autoscaler == "" || live == nil:
		return new(ptr.Deref(in.nginx.Spec.Replicas, 1))
	case observe.OthersOwnReplicas(live):
		return nil
	default:
		return live.Spec.Replicas
	}
}

// meta is the metadata of every owned object. There is no blockOwnerDeletion: it
// would need a permission on finalizers and nothing here has to be waited for.
func (in *input) meta(name string) *metav1ac.ObjectMetaApplyConfiguration {
	return metav1ac.ObjectMeta().
		WithName(name).
		WithNamespace(in.nginx.Namespace).
		WithLabels(naming.Labels(in.nginx.Name)).
		WithOwnerReferences(metav1ac.OwnerReference().
			WithAPIVersion(v1alpha2.GroupVersion.String()).
			WithKind(v1alpha2.Kind).
			WithName(in.nginx.Name).
			WithUID(in.nginx.UID).
			WithController(true))
}

func (in *input) selector() *metav1ac.LabelSelectorApplyConfiguration {
	return metav1ac.LabelSelector().WithMatchLabels(naming.SelectorLabels(in.nginx.Name))
}

// decode makes an apply configuration from an embedded manifest. Unknown fields are
// errors: a typing mistake must not vanish.
func decode[T any](manifest string) (*T, error) {
	text, err := manifestJSON()
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text[manifest]))
	decoder.DisallowUnknownFields()
	object := new(T)
	if err := decoder.Decode(object); err != nil {
		return nil, fmt.Errorf("%s: %w", manifest, err)
	}
	return object, nil
}

// manifestJSON are the manifests as JSON, by file name. YAML is read once: it would
// be most of the cost of a build.
var manifestJSON = sync.OnceValues(func() (map[string][]byte, error) {
	files, err := manifests.ReadDir("manifests")
	if err != nil {
		return nil, err
	}
	all := make(map[string][]byte, len(files))
	for _, file := range files {
		text, err := manifests.ReadFile("manifests/" + file.Name())
		if err != nil {
			return nil, err
		}
		if all[file.Name()], err = yaml.YAMLToJSONStrict(text); err != nil {
			return nil, fmt.Errorf("%s: %w", file.Name(), err)
		}
	}
	return all, nil
})

// convert carries a value of the API over to the apply configuration of the same
// shape: both have the same JSON.
func convert[T any](value any) (*T, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	converted := new(T)
	if err := json.Unmarshal(text, converted); err != nil {
		return nil, err
	}
	return converted, nil
}

// IsControlledBy tells whether nginx, and not an earlier object of the same name,
// controls obj.
func IsControlledBy(obj metav1.Object, nginx *v1alpha2.NginxOperator) bool {
	ref := metav1.GetControllerOf(obj)
	return ref != nil && ref.UID == nginx.UID
}
