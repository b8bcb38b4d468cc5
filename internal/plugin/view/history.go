package view

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/naming"
)

// ReadHistory reads the revisions of an application, the oldest first.
func ReadHistory(ctx context.Context, c client.Client, owner client.Object) (history.History, error) {
	found := &appsv1.ControllerRevisionList{}
	if err := c.List(ctx, found, client.InNamespace(owner.GetNamespace()), client.MatchingLabels(naming.SelectorLabels(owner.GetName()))); err != nil {
		return nil, err
	}
	return history.Read(found.Items), nil
}
