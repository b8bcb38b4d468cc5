package nginx

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"example.com/nginx-operator/internal/canary"
	"example.com/nginx-operator/internal/desired"
	"example.com/nginx-operator/internal/instanceapi"
)

// parallelWindows bounds how many instances are asked for their requests at a time.
const parallelWindows = 16

// windowsWait is how long a pass waits for their answers. Who does not answer by then is left
// out of this comparison; the next one asks again.
const windowsWait = 500 * time.Millisecond

// try compares canaries with the other pods. Pods that do not answer are left out. When none of
// the others does nobody can tell: the canaries might be blamed for what all pods do.
func (r *Reconciler) try(ctx context.Context, trial desired.Trial) canary.Verdict {
	canaries := r.windows(ctx, trial.Canaries, trial.Seconds)
	others := r.windows(ctx, trial.Others, trial.Seconds)
	verdict := canary.Unknown(!canaries.unmeasured() && !others.unmeasured())
	if len(canaries.counted) > 0 && (len(others.counted) > 0 || len(trial.Others) == 0) {
		verdict = canary.Judge(canaries.counted, others.counted, trial.Limits)
	}
	log.FromContext(ctx).V(1).Info("compared the canaries", "outcome", verdict.Outcome, "message", verdict.Message)
	return verdict
}

// windows are the answers of several pods.
type windows struct {
	counted []instanceapi.RequestWindow
	// notSupported counts those that do not measure their requests.
	notSupported int
}

// unmeasured tells whether none of the pods that answer measures its requests.
func (w windows) unmeasured() bool { return len(w.counted) == 0 && w.notSupported > 0 }

// windows are those of the pods that answer.
func (r *Reconciler) windows(ctx context.Context, pods []desired.TrialPod, seconds int) windows {
	answers := make([]*instanceapi.RequestWindow, len(pods))
	failures := make([]error, len(pods))
	var group errgroup.Group
	group.SetLimit(parallelWindows)
	limited, cancel := context.WithTimeout(ctx, windowsWait)
	defer cancel()
	for i, pod := range pods {
		group.Go(func() error {
			window, err := r.window(limited, pod, seconds)
			if err == nil {
				answers[i] = &window
			}
			failures[i] = err
			return nil
		})
	}
	_ = group.Wait() // A pod that is silent is left out.
	var all windows
	for i, a := range answers {
		switch {
		case a != nil:
			all.counted = append(all.counted, *a)
		case errors.Is(failures[i], instanceapi.ErrNotSupported):
			all.notSupported++
		default:
			log.FromContext(ctx).V(1).Info("a pod does not tell of its requests", "podIP", pods[i].PodIP, "reason", failures[i].Error())
		}
	}
	return all
}

// window asks a pod. Releases that do not tell configurations apart count in slots, of which the first
// may have begun before the configuration was loaded: of these, it is left out.
func (r *Reconciler) window(ctx context.Context, pod desired.TrialPod, seconds int) (instanceapi.RequestWindow, error) {
	window, err := r.Requests(ctx, pod.PodIP, pod.Revision, seconds)
	if err != nil || window.Revision != "" || !pod.Reloaded {
		return window, err
	}
	if seconds <= instanceapi.WindowSlot {
		return instanceapi.RequestWindow{}, nil
	}
	return r.Requests(ctx, pod.PodIP, pod.Revision, seconds-instanceapi.WindowSlot)
}
