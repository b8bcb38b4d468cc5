package plugin

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/plugin/screen"
)

func newHistory(c *cluster) *cobra.Command {
	return &cobra.Command{
		Use:   "history NAME",
		Short: "List the revisions of an application",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			connected, nginx, err := c.application(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			revisions, err := readHistory(cmd.Context(), connected, nginx)
			if err != nil {
				return err
			}
			return screen.History(cmd.OutOrStdout(), revisions, nginx.Status.Revision, time.Now())
		},
	}
}

// readHistory reads the revisions of an application, the oldest first.
func readHistory(ctx context.Context, c client.Client, owner client.Object) (history.History, error) {
	found := &appsv1.ControllerRevisionList{}
	if err := c.List(ctx, found, client.InNamespace(owner.GetNamespace()), client.MatchingLabels(naming.SelectorLabels(owner.GetName()))); err != nil {
		return nil, err
	}
	return history.Read(found.Items), nil
}
