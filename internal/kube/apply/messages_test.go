package apply

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/test/golden"
)

// TestMessages: the messages about objects that cannot be written match the golden file.
func TestMessages(t *testing.T) {
	var messages golden.Messages
	owner := &metav1.ObjectMeta{Namespace: "shop", Name: "web"}
	intent := owned.Intent{Kind: owned.Kind{Name: "Service"}, Name: "web"}
	refused := settings.conflict(intent, owner)
	messages.Add("condition Accepted=False ("+refused.Reason+")", refused.Message)
	messages.Add("condition Accepted=False ("+ReasonRejected+")", RefusalMessage("Service", "web", errors.New("the provided port is already allocated")))
	var outcome Outcome
	forbidden := apierrors.NewForbidden(corev1.Resource("services"), "web", errors.New("exceeded quota: small"))
	if err := New(nil, nil, settings).classifyError(Change{Intent: intent}, forbidden, owner, &outcome); err == nil {
		t.Error("a forbidden write is not retried")
	}
	messages.Add("condition Accepted=False ("+outcome.Refused.Reason+")", outcome.Refused.Message)
	for _, meta := range []metav1.ObjectMeta{
		{}, {DeletionTimestamp: new(metav1.Now())}, {DeletionTimestamp: new(metav1.Now()), Finalizers: []string{"example.com/keep"}},
	} {
		change := Change{Intent: intent, Live: &corev1.Service{ObjectMeta: meta}}
		messages.Add("condition UpToDate=False (WaitingForDeletion)", settings.awaitingDeletion(change))
	}
	messages.Compare(t, "refusals.txt")
}
