package scale

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/internal/fleet"
)

// unreachableChanges is the number of changes to the application whose pods answer, first alone and
// then beside the others.
const unreachableChanges = 10

// UnreachableResult has the times of changes of one application.
type UnreachableResult struct {
	options Options
	// alone is without applications whose pods do not answer, beside is with them.
	alone, beside latencies
}

// Unreachable measures the time until all pods of one application serve a change. In the meantime,
// the instances of other applications accept connections and never answer, and those applications
// also change.
func Unreachable(ctx context.Context, options Options) (result UnreachableResult, err error) {
	result.options = options
	err = withOperator(ctx, options, func(b *bench) error {
		_, stop, err := b.startNodes(ctx, map[string]disturbance{warmUpNamespace: func(string, http.Handler) http.Handler {
			return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		}})
		if err != nil {
			return err
		}
		return errors.Join(b.unreachable(ctx, &result), stop())
	})
	return result, err
}

func (b *bench) unreachable(ctx context.Context, result *UnreachableResult) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, b.Patience, fmt.Errorf("not finished within %s", b.Patience))
	defer cancel()
	if err := b.creation(namespace, 1, PodsEach, ready)(ctx); err != nil {
		return err
	}
	b.Progress("one application is changed")
	if result.alone, _, err = b.changes(ctx, "alone", nothing); err != nil {
		return err
	}
	b.Progress("%d applications unreachable", b.Objects)
	if err := b.creation(warmUpNamespace, b.Objects, PodsEach, outOfReach)(ctx); err != nil {
		return err
	}
	result.beside, _, err = b.changes(ctx, "beside", func(ctx context.Context, n int) error { return b.touch(ctx, warmUpNamespace, b.Objects, n) })
	return err
}

func nothing(context.Context, int) error { return nil }

// touch makes the operator look at applications again.
func (b *bench) touch(ctx context.Context, namespace string, objects, n int) error {
	return fleet.Each(ctx, objects, func(i int) error {
		return b.plane.Client.Patch(ctx, fleet.Object(namespace, i), merge(fmt.Sprintf(`{"metadata":{"annotations":{"example.com/touched":"%d"}}}`, n)))
	})
}

// outOfReach reports whether the status says that an application's instances are unreachable.
func outOfReach(nginx *v1alpha2.NginxOperator) bool {
	c := meta.FindStatusCondition(nginx.Status.Conditions, v1alpha2.ConditionUpToDate)
	return fleet.Observed(nginx) && c != nil && c.Reason == v1alpha2.ReasonInstanceUnreachable
}

// changes edits the application that answers. Before each edit, it calls others with the number of the edit. It returns how
// long the edits took until they were served, and until the API server had stored them.
func (b *bench) changes(ctx context.Context, name string, others func(ctx context.Context, n int) error) (took, stored latencies, err error) {
	for n := range unreachableChanges {
		text := fmt.Sprintf("server { listen 80; return 200 %s-%d; }", name, n)
		revision := revisionOf(text)
		if err := others(ctx, n); err != nil {
			return nil, nil, err
		}
		start := time.Now()
		if err := b.configure(ctx, namespace, 0, text); err != nil {
			return nil, nil, err
		}
		stored = append(stored, time.Since(start))
		met := func(nginx *v1alpha2.NginxOperator) bool { return serves(nginx, revision, PodsEach) }
		if err := fleet.Await(ctx, b.plane.watching, namespace, 1, met); err != nil {
			return nil, nil, err
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	slices.Sort(stored)
	return took, stored, nil
}

// Figures returns the results of Unreachable with their goal.
func (r UnreachableResult) Figures() []figure.Figure {
	median := func(all latencies) float64 { return all.quantile(0.5).Seconds() }
	const most = 1.0 // second that the others may add to a change
	return []figure.Figure{
		figure.Info("unreachable applications", float64(r.options.Objects), "applications"),
		figure.Info("a change alone, median", median(r.alone), "s"),
		figure.Info("a change alone, slowest", r.alone.quantile(1).Seconds(), "s"),
		figure.Info("a change with unreachable applications, median", median(r.beside), "s"),
		figure.Info("a change with unreachable applications, slowest", r.beside.quantile(1).Seconds(), "s"),
		figure.HasGoal("additional time of a change with unreachable applications, median", max(0, median(r.beside)-median(r.alone)), "s", figure.AtMost(most)),
	}
}
