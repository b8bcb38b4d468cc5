package nginx

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"example.com/nginx-operator/internal/canary"
	"example.com/nginx-operator/internal/desired"
	"example.com/nginx-operator/internal/instanceapi"
)

// parallelWindows bounds how many instances are asked for their requests at a time.
const parallelWindows = 16

// try compares canaries with the other pods. It returns what is bad about them; empty:
// nothing, as far as anybody can tell. While one of the instances does not answer nobody
// can: the canaries might be blamed for what all pods do.
func (r *Reconciler) try(ctx context.Context, trial desired.Trial) string {
	canaries, err1 := r.windows(ctx, trial.Canaries, trial.Seconds)
	others, err2 := r.windows(ctx, trial.Others, trial.Seconds)
	if err := errors.Join(err1, err2); err != nil {
		if !errors.Is(err, instanceapi.ErrNotSupported) {
			log.FromContext(ctx).Info("the canaries cannot be compared now", "reason", err.Error())
		}
		return ""
	}
	verdict := canary.Judge(canaries, others, trial.Limits)
	log.FromContext(ctx).V(1).Info("compared the canaries", "outcome", verdict.Outcome, "message", verdict.Message)
	if verdict.Outcome == canary.Bad {
		return verdict.Message
	}
	return ""
}

func (r *Reconciler) windows(ctx context.Context, podIPs []string, seconds int) ([]instanceapi.RequestWindow, error) {
	windows := make([]instanceapi.RequestWindow, len(podIPs))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelWindows)
	for i, podIP := range podIPs {
		group.Go(func() (err error) {
			windows[i], err = r.Requests(ctx, podIP, seconds)
			return err
		})
	}
	return windows, group.Wait()
}
