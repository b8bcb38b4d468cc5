package pipeline

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/canary"
	"example.com/nginx-operator/internal/nginx/revision"
)

// parallelWindows bounds how many instances are queried for their requests at the same time.
const parallelWindows = 16

// windowsWait is how long a pass waits for the answers. Later answers are left out of this comparison; the next one
// queries the instances again.
const windowsWait = 500 * time.Millisecond

// analyzeCanary compares canaries with the other pods. It leaves out pods that do not answer. If none of the others
// answers, the verdict is unknown: the canaries could be blamed for what all pods do.
func (l *Pipeline) analyzeCanary(ctx context.Context, analysis revision.CanaryAnalysis) canary.Verdict {
	canaries := l.queryRequestCounts(ctx, analysis.Canaries, analysis.Seconds)
	others := l.queryRequestCounts(ctx, analysis.Others, analysis.Seconds)
	verdict := canary.NoDataVerdict(!canaries.unmeasured() && !others.unmeasured())
	if len(canaries.counted) > 0 && (len(others.counted) > 0 || len(analysis.Others)+analysis.Silent == 0) {
		verdict = canary.Analyze(canaries.counted, others.counted, analysis.Limits)
	}
	log.FromContext(ctx).V(1).Info("compared the canaries", "outcome", verdict.Outcome, "message", verdict.Message)
	return verdict
}

// windows are the request windows of several pods.
type windows struct {
	counted []instanceapi.RequestWindow
	// notSupported counts the pods that do not measure their requests.
	notSupported int
}

// unmeasured reports whether pods answer, but none of them measures its requests.
func (w windows) unmeasured() bool { return len(w.counted) == 0 && w.notSupported > 0 }

// queryRequestCounts queries pods, and leaves out those that do not answer.
func (l *Pipeline) queryRequestCounts(ctx context.Context, pods []revision.AnalyzedPod, seconds int) windows {
	answers := make([]*instanceapi.RequestWindow, len(pods))
	failures := make([]error, len(pods))
	var group errgroup.Group
	group.SetLimit(parallelWindows)
	limited, cancel := context.WithTimeout(ctx, windowsWait)
	defer cancel()
	for i, pod := range pods {
		group.Go(func() error {
			window, err := l.window(limited, pod, seconds)
			if err == nil {
				answers[i] = &window
			}
			failures[i] = err
			return nil
		})
	}
	_ = group.Wait() // A pod that does not answer is left out.
	var all windows
	for i, a := range answers {
		switch {
		case a != nil:
			all.counted = append(all.counted, *a)
		case errors.Is(failures[i], instanceapi.ErrNotSupported):
			all.notSupported++
		default:
			log.FromContext(ctx).V(1).Info("a pod does not report its requests", "podIP", pods[i].PodIP, "reason", failures[i].Error())
		}
	}
	return all
}

// window queries a pod. Earlier releases do not distinguish configurations, and count in slots. The first slot may
// have begun before the configuration was loaded, so it is left out.
func (l *Pipeline) window(ctx context.Context, pod revision.AnalyzedPod, seconds int) (instanceapi.RequestWindow, error) {
	window, err := l.Requests(ctx, pod.PodIP, pod.Revision, seconds)
	if err != nil || window.Revision != "" || !pod.Reloaded {
		return window, err
	}
	if seconds <= instanceapi.WindowSlot {
		return instanceapi.RequestWindow{}, nil
	}
	return l.Requests(ctx, pod.PodIP, pod.Revision, seconds-instanceapi.WindowSlot)
}
