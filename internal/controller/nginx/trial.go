package nginx

import (
	"context"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"example.com/nginx-operator/internal/canary"
	"example.com/nginx-operator/internal/desired"
	"example.com/nginx-operator/internal/instanceapi"
)

// parallelWindows bounds how many instances are asked for their requests at a time.
const parallelWindows = 16

// try compares canaries with the other pods. It returns what is bad about them; empty:
// nothing, as far as anybody can tell. Pods that do not answer are left out. When none of
// the others does nobody can tell: the canaries might be blamed for what all pods do.
func (r *Reconciler) try(ctx context.Context, trial desired.Trial) string {
	canaries := r.windows(ctx, trial.Canaries, trial.Seconds)
	others := r.windows(ctx, trial.Others, trial.Seconds)
	if len(canaries) == 0 || len(others) == 0 && len(trial.Others) > 0 {
		log.FromContext(ctx).Info("the canaries cannot be compared: no instance tells of its requests",
			"canaries", len(canaries), "others", len(others))
		return ""
	}
	verdict := canary.Judge(canaries, others, trial.Limits)
	log.FromContext(ctx).V(1).Info("compared the canaries", "outcome", verdict.Outcome, "message", verdict.Message)
	if verdict.Outcome == canary.Bad {
		return verdict.Message
	}
	return ""
}

// windows are those of the pods that answer.
func (r *Reconciler) windows(ctx context.Context, podIPs []string, seconds int) []instanceapi.RequestWindow {
	answers := make([]*instanceapi.RequestWindow, len(podIPs))
	var group errgroup.Group
	group.SetLimit(parallelWindows)
	for i, podIP := range podIPs {
		group.Go(func() error {
			window, err := r.Requests(ctx, podIP, seconds)
			if err == nil {
				answers[i] = &window
			} else {
				log.FromContext(ctx).V(1).Info("a pod does not tell of its requests", "podIP", podIP, "reason", err.Error())
			}
			return nil
		})
	}
	_ = group.Wait() // A pod that is silent is left out.
	var windows []instanceapi.RequestWindow
	for _, a := range answers {
		if a != nil {
			windows = append(windows, *a)
		}
	}
	return windows
}
