// Package apply brings the cluster to a plan. It is the only writer of what an
// application owns.
//
// Every write is a server-side apply by one field manager, and nothing is sent
// when nothing differs: an object is left alone when the hash of its intent, kept
// in an annotation, is unchanged and every field of the intent still stands in the
// live object. Both are read from the cluster, so this holds right after a restart.
//
// A create must not adopt an object that the operator's label-filtered caches
// cannot see. Server-side apply has no create-only flag, but a resourceVersion
// makes it one: where no object exists it is not looked at, and where one exists
// it never matches, so that the API server answers 409. In the same way an update
// carries the UID of the object that it was decided for.
package apply

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/desired"
	"example.com/nginx-operator/internal/history"
	"example.com/nginx-operator/internal/naming"
	"example.com/nginx-operator/internal/observe"
)

// createOnly never is the resourceVersion of an object: etcd's first revision is 1
// before anything was written.
const createOnly = "1"

// Applier writes to the cluster.
type Applier struct {
	client client.Client
	// live reads past the caches, which show the operator's own objects only.
	live client.Reader
}

// New returns an Applier that writes by c and looks at foreign objects by live.
func New(c client.Client, live client.Reader) *Applier {
	return &Applier{client: c, live: live}
}

// Outcome is what an apply did.
type Outcome struct {
	// Applied are the objects as the API server returned them.
	Applied map[observe.Key]observe.Object
	// Recorded are the revisions as the history has them now.
	Recorded []history.Revision
	// Refused tells of the first object that the API server or its owner keeps the
	// operator from writing.
	Refused desired.Blocked
	// Failed are the objects that could not be written, for whatever reason.
	Failed []observe.Key
	// Leaving tells of the first object that has to be gone before it can be made, and what holds it;
	// empty: nothing is waited for.
	Leaving string
	// Pending are the kinds that a suspended resource keeps from being written.
	Pending []string
	// NotKept are fields that the API server, or what it asks about writes, has changed when they were
	// written: a kind and a path.
	NotKept []string
	// Outdated tells that the history is another one than was planned from.
	Outdated bool
	// Terminating tells that the namespace is on its way out: nothing can be created
	// in it, and nothing has to be.
	Terminating bool
	// Retry tells that something stands in the way that no watch reports the end of.
	Retry bool
}

// Suspend tells what would be written, without writing it.
func Suspend(changes []Change, asks []desired.Ask) Outcome {
	outcome := Outcome{Applied: map[observe.Key]observe.Object{}}
	for _, change := range changes {
		switch change.Action {
		case Create, Update, Heal, Delete:
			outcome.Pending = append(outcome.Pending, change.Intent.Kind.Name)
		case Leave, Wait, Conflict:
		}
	}
	if len(asks) > 0 {
		outcome.Pending = append(outcome.Pending, "Pod")
	}
	return outcome
}

// Apply writes records of the history, and carries out changes in their order. It goes on after a failure, so that one
// object in trouble does not hold back the others, save those that require it.
// Errors that the user has to solve are in the outcome; the error holds those that a
// retry may solve.
func (a *Applier) Apply(ctx context.Context, nginx *v1alpha2.NginxOperator, records []desired.Record, changes []Change) (Outcome, error) {
	outcome := Outcome{Applied: map[observe.Key]observe.Object{}}
	errs := []error{a.recordAll(ctx, nginx, records, &outcome)}
	for _, change := range changes {
		if outcome.Lacks(change.Intent.Kind.Requires...) {
			continue
		}
		if err := a.carryOut(ctx, nginx, change, &outcome); err != nil {
			errs = append(errs, fmt.Errorf("%s %s %s: %w", change.Action, change.Intent.Kind.Name, change.Intent.Name, err))
		}
	}
	return outcome, errors.Join(errs...)
}

// Lacks tells whether an object of one of the kinds could not be written.
func (o *Outcome) Lacks(kinds ...string) bool {
	return slices.ContainsFunc(o.Failed, func(key observe.Key) bool { return slices.Contains(kinds, key.Kind) })
}

func (a *Applier) carryOut(ctx context.Context, nginx *v1alpha2.NginxOperator, change Change, outcome *Outcome) error {
	var err error
	switch change.Action {
	case Leave:
		outcome.notKept(change, change.NotKept)
		return nil
	case Wait:
		outcome.fail(change)
		outcome.Leaving = cmp.Or(outcome.Leaving, leaving(change))
		return nil
	case Conflict:
		outcome.fail(change)
		outcome.refuse(conflict(change.Intent, nginx))
		outcome.Retry = true
		return nil
	case Delete:
		err = a.delete(ctx, change)
	case Create, Update, Heal:
		err = a.write(ctx, nginx, change, outcome)
	}
	if apierrors.IsConflict(err) && change.Action == Create {
		err = a.reclaim(ctx, nginx, change, outcome)
	}
	if err == nil {
		count(change)
		logChange(logf.FromContext(ctx), change)
		return nil
	}
	if apierrors.IsConflict(err) && change.Action == Delete {
		// Somebody, such as a controller with its status, was faster. It is no trouble that has to be told.
		return err
	}
	outcome.fail(change)
	return a.judge(change, err, nginx, outcome)
}

func (o *Outcome) fail(change Change) {
	o.Failed = append(o.Failed, observe.Key{Kind: change.Intent.Kind.Name, Name: change.Intent.Name})
}

func logChange(log logr.Logger, change Change) {
	log.Info("applied", "action", change.Action, "object", change.Intent.Kind.Name, "objectName", change.Intent.Name)
}

func (a *Applier) delete(ctx context.Context, change Change) error {
	err := a.client.Delete(ctx, change.Live, client.Preconditions{
		UID:             new(change.Live.GetUID()),
		ResourceVersion: new(change.Live.GetResourceVersion()),
	})
	return client.IgnoreNotFound(err)
}

func (a *Applier) write(ctx context.Context, nginx *v1alpha2.NginxOperator, change Change, outcome *Outcome) error {
	if change.Live == nil {
		change.Intent.Meta.WithResourceVersion(createOnly)
	} else {
		change.Intent.Meta.WithUID(change.Live.GetUID())
	}
	// The generation is no part of the intent: that it has changed alone is not worth a write.
	annotations := map[string]string{
		naming.AnnotationIntent:     change.Hash,
		naming.AnnotationGeneration: strconv.FormatInt(nginx.Generation, 10),
	}
	if change.Live != nil && len(notKept(change.Live, change.Hash)) > 0 {
		annotations[naming.AnnotationNotKept] = change.Live.GetAnnotations()[naming.AnnotationNotKept]
	}
	change.Intent.Meta.WithAnnotations(annotations)
	if change.Live != nil && change.Live.GetAnnotations()[naming.AnnotationIntent] == replaced {
		change.Intent.Meta.WithAnnotations(map[string]string{naming.AnnotationIntent: replaced})
	}
	written, err := a.applyIntent(ctx, nginx.Namespace, change.Intent)
	if apierrors.IsInvalid(err) && change.Live != nil {
		written, err = a.makeRoom(ctx, nginx.Namespace, change, err)
	}
	if err == nil && (patched(written) || written.GetAnnotations()[naming.AnnotationIntent] == replaced) {
		change.Intent.Meta.WithAnnotations(annotations)
		written, err = a.ownByApply(ctx, change.Intent, written)
	}
	if err == nil {
		outcome.applied(change, written)
		err = a.look(ctx, change, written, annotations, outcome)
	}
	return err
}

// applied notes what the API server returned.
func (o *Outcome) applied(change Change, written observe.Object) {
	o.Applied[observe.Key{Kind: change.Intent.Kind.Name, Name: change.Intent.Name}] = written
}

// applyIntent returns the object as the API server has stored it.
func (a *Applier) applyIntent(ctx context.Context, namespace string, intent desired.Intent) (observe.Object, error) {
	object := blank(namespace, intent)
	return object, a.apply(ctx, object, intent.Config)
}

// blank is an object with nothing but its name, for the answer to a patch: one that holds something keeps what the
// answer does not mention.
func blank(namespace string, intent desired.Intent) observe.Object {
	object := intent.Kind.New()
	object.SetNamespace(namespace)
	object.SetName(intent.Name)
	return object
}

// apply writes a configuration, and fills an object, of which the name is known, with what the API
// server has stored. It goes by a patch for two reasons. The answer to an Apply is decoded into the
// configuration that was sent, which would keep what the API server has left out. And the object is of
// the type that is read, so that reads wait for the write (EnableReadYourWritesConsistency of
// client.CacheOptions): for an unstructured one, the client would make a cache of its own.
func (a *Applier) apply(ctx context.Context, object client.Object, config runtime.ApplyConfiguration) error {
	body, err := json.Marshal(config)
	if err != nil {
		return err
	}
	send := func(body []byte) error {
		return a.client.Patch(ctx, object, client.RawPatch(types.ApplyPatchType, body), client.FieldOwner(naming.FieldManager), client.ForceOwnership)
	}
	refused := send(body)
	if refused == nil {
		return nil
	}
	known, err := withoutUndeclared(body, refused)
	if known == nil || err != nil {
		return refused
	}
	// What is left out does not stand in the answer, and is told of as any field that is not kept.
	return send(known)
}

// makeRoom puts right in the live object what the intent could not be merged with, which then
// tells that it was replaced. It returns invalid when that is not why the API server refused.
func (a *Applier) makeRoom(ctx context.Context, namespace string, change Change, invalid error) (observe.Object, error) {
	patch, err := replacements(change.Intent, change.Live)
	if err != nil {
		return nil, err
	}
	if patch == nil {
		return nil, invalid
	}
	return a.patch(ctx, namespace, change.Intent, client.RawPatch(types.JSONPatchType, patch))
}

// patch writes what can't be applied, and returns the object as the API server has stored it.
func (a *Applier) patch(ctx context.Context, namespace string, intent desired.Intent, patch client.Patch) (observe.Object, error) {
	object := blank(namespace, intent)
	return object, a.client.Patch(ctx, object, patch, client.FieldOwner(naming.FieldManager))
}

// patched tells whether the operator has fields of an object by patches.
func patched(object observe.Object) bool {
	return slices.ContainsFunc(object.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == naming.FieldManager && entry.Operation == metav1.ManagedFieldsOperationUpdate
	})
}

// ownByApply makes what was patched the operator's by apply alone, and applies after that. Otherwise it would have these
// fields in two ways, and those of the patch would stay when they are not applied any more. Only what is applied in the
// end has the hash of the intent: until then the object tells that it was replaced, also to the process that comes after
// this one, which cannot tell by its cache who has which fields.
func (a *Applier) ownByApply(ctx context.Context, intent desired.Intent, written observe.Object) (observe.Object, error) {
	if patched(written) {
		patch, err := csaupgrade.UpgradeManagedFieldsPatch(written, sets.New(naming.FieldManager), naming.FieldManager)
		if err != nil {
			return nil, err
		}
		if _, err := a.patch(ctx, written.GetNamespace(), intent, client.RawPatch(types.JSONPatchType, patch)); err != nil {
			return nil, err
		}
	}
	return a.applyIntent(ctx, written.GetNamespace(), intent)
}

// errTaken tells that an object of the name belongs to somebody else.
var errTaken = errors.New("the name is taken")

// reclaim looks at an object that exists although the caches do not show it. One of
// ours is applied again if somebody has removed the label by which they find it. If they
// only lag behind, what is wanted of it was decided without knowing it.
func (a *Applier) reclaim(ctx context.Context, nginx *v1alpha2.NginxOperator, change Change, outcome *Outcome) error {
	existing, err := a.find(ctx, nginx, change.Intent.Kind.GVK, change.Intent.Name)
	if err != nil {
		return err
	}
	switch {
	case existing.DeletionTimestamp != nil || !desired.IsControlledBy(existing, nginx) && conflictOrWait(existing) == Wait:
		return fmt.Errorf("an earlier object of the name is being deleted")
	case !desired.IsControlledBy(existing, nginx):
		return errTaken
	case existing.Labels[naming.LabelApplication] != "":
		return fmt.Errorf("%w: it exists", observe.ErrBehind)
	}
	change.Intent.Meta.ResourceVersion = nil
	change.Intent.Meta.WithUID(existing.UID)
	written, err := a.applyIntent(ctx, nginx.Namespace, change.Intent)
	if err == nil {
		outcome.applied(change, written)
	}
	return err
}

// judge sorts the failure of a write: what the user has to solve goes to the
// outcome, everything else is returned.
func (a *Applier) judge(change Change, err error, nginx *v1alpha2.NginxOperator, outcome *Outcome) error {
	switch {
	case errors.Is(err, errTaken):
		outcome.refuse(conflict(change.Intent, nginx))
		outcome.Retry = true
		return nil
	case unacceptable(err):
		// A change of another object (who else has the node port) may cure it.
		outcome.refuse(desired.Blocked{Reason: v1alpha2.ReasonRejected, Message: refusal(change.Intent.Kind.Name, change.Intent.Name, err)})
		outcome.Retry = true
		return nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		outcome.Terminating = true
		return nil
	case apierrors.IsForbidden(err):
		outcome.refuse(desired.Blocked{Reason: v1alpha2.ReasonForbidden, Message: refusal(change.Intent.Kind.Name, change.Intent.Name, err)})
		return err
	default:
		return err
	}
}

func (o *Outcome) refuse(b desired.Blocked) {
	if o.Refused.Reason == "" {
		o.Refused = b
	}
}

func conflict(intent desired.Intent, nginx *v1alpha2.NginxOperator) desired.Blocked {
	return desired.Blocked{
		Reason: v1alpha2.ReasonNameConflict,
		Message: fmt.Sprintf("%s %s exists in namespace %s and does not belong to this NginxOperator: rename or delete one of the two",
			intent.Kind.Name, intent.Name, nginx.Namespace),
	}
}

// unacceptable tells whether the API server refuses an object for what it is.
func unacceptable(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || tooLarge(err) || undeclared.MatchString(err.Error())
}

// tooLarge also knows the words of etcd and of its client, which the API server hands on as an error of
// its own.
func tooLarge(err error) bool {
	return apierrors.IsRequestEntityTooLargeError(err) || slices.ContainsFunc(
		[]string{"etcdserver: request is too large", "trying to send message larger than max"},
		func(words string) bool { return strings.Contains(err.Error(), words) })
}

func refusal(kind, name string, err error) string {
	return fmt.Sprintf("the API server refused %s %s: %s", kind, name, ends(err.Error()))
}

// mostWords is how much of a refusal is told, in bytes. A condition has room for it.
const mostWords = 800

// ends leaves the middle of a long text out. The API server repeats what it finds invalid, which can be
// a megabyte, and says at the end what is wrong with it.
func ends(text string) string {
	if len(text) <= mostWords {
		return text
	}
	const half = mostWords / 2
	return strings.ToValidUTF8(text[:half], "") + " … " + strings.ToValidUTF8(text[len(text)-half:], "")
}
