package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/internal/kube/owned"
)

// Refusal is why an object could not be written, if the user has to fix it.
type Refusal struct {
	// Reason is one of the reasons below.
	Reason string
	// Message names the thing to fix.
	Message string
}

// Reasons of a Refusal.
const (
	ReasonNameConflict = "NameConflict"
	ReasonRejected     = "Rejected"
	ReasonForbidden    = "Forbidden"
)

// errTaken means that a foreign object has the name.
var errTaken = errors.New("the name is taken")

// reclaim handles an object that exists although the caches do not show it. If it belongs to the owner and lacks its
// label, it is applied again. If the caches only lag behind, the change was decided without knowing it.
func (a *Applier) reclaim(ctx context.Context, owner metav1.Object, change Change, outcome *Outcome) error {
	existing, err := a.Find(ctx, owner, change.Intent.Kind.GVK, change.Intent.Name)
	if err != nil {
		return err
	}
	switch {
	case existing.DeletionTimestamp != nil || !metav1.IsControlledBy(existing, owner) && a.settings.conflictOrWait(existing, owner.GetName()) == Wait:
		return fmt.Errorf("an earlier object of the name is being deleted")
	case !metav1.IsControlledBy(existing, owner):
		return errTaken
	case existing.Labels[a.settings.OwnerLabel] != "":
		return fmt.Errorf("%w: it exists", owned.ErrStaleCache)
	}
	change.Intent.Meta.ResourceVersion = nil
	change.Intent.Meta.WithUID(existing.UID)
	written, err := a.applyVerified(ctx, owner.GetNamespace(), change.Intent)
	if err == nil {
		outcome.applied(change, written)
	}
	return err
}

// classifyError sorts the failure of a write: what the user has to fix goes to the outcome, everything else is
// returned.
func (a *Applier) classifyError(change Change, err error, owner metav1.Object, outcome *Outcome) error {
	switch {
	case errors.Is(err, errTaken):
		outcome.Refuse(a.settings.conflict(change.Intent, owner))
		outcome.Retry = true
		return nil
	case IsInvalid(err):
		// A change of another object, such as one with the same node port, may fix it.
		outcome.Refuse(Refusal{Reason: ReasonRejected, Message: RefusalMessage(change.Intent.Kind.Name, change.Intent.Name, err)})
		outcome.Retry = true
		return nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		outcome.Terminating = true
		return nil
	case apierrors.IsForbidden(err):
		outcome.Refuse(Refusal{Reason: ReasonForbidden, Message: RefusalMessage(change.Intent.Kind.Name, change.Intent.Name, err)})
		return err
	default:
		return err
	}
}

func (s Settings) conflict(intent owned.Intent, owner metav1.Object) Refusal {
	return Refusal{
		Reason: ReasonNameConflict,
		Message: fmt.Sprintf("%s %s exists in namespace %s and does not belong to this %s: rename or delete one of the two",
			intent.Kind.Name, intent.Name, owner.GetNamespace(), s.OwnerKind),
	}
}

// IsInvalid reports whether the API server refuses an object for its content.
func IsInvalid(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || tooLarge(err) || undeclared.MatchString(err.Error()) || errors.Is(err, errImageDropped)
}

// tooLarge also recognizes the errors of etcd and of its client, which the API server passes on as its own.
func tooLarge(err error) bool {
	return apierrors.IsRequestEntityTooLargeError(err) || slices.ContainsFunc(
		[]string{"etcdserver: request is too large", "trying to send message larger than max"},
		func(words string) bool { return strings.Contains(err.Error(), words) })
}

// RefusalMessage returns what the API server refused, and why.
func RefusalMessage(kind, name string, err error) string {
	return fmt.Sprintf("the API server rejected %s %s: %s", kind, name, shortenMiddle(err.Error()))
}

// maxMessage is the maximum length of a reported refusal, in bytes. A condition has room for it.
const maxMessage = 800

// shortenMiddle removes the middle of a long text. The API server repeats what it finds invalid, which can be a
// megabyte, and says at the end what is wrong with it.
func shortenMiddle(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	const half = maxMessage / 2
	return strings.ToValidUTF8(text[:half], "") + " … " + strings.ToValidUTF8(text[len(text)-half:], "")
}
