package controller

import (
	"context"

	"example.com/nginx-operator/internal/nginx/revision"
)

// selectRevision decides which revision runs and the next step of its rollout. If that needs a comparison of
// canaries with the other pods, it queries their instances, and decides with the results.
func (r *Reconciler) selectRevision(ctx context.Context, p *pass) (err error) {
	in := revision.Input{Nginx: p.nginx, State: p.state, Options: r.Options, Now: p.now, Overdue: r.backoff.podsOverdue(p.key(), p.now)}
	p.selection, p.blocked, err = revision.Select(in)
	if err == nil && p.selection.CanaryAnalysis != nil {
		p.verdict = new(r.analyzeCanary(ctx, *p.selection.CanaryAnalysis))
		in.Verdict = p.verdict
		p.selection, p.blocked, err = revision.Select(in)
	}
	if err == nil && r.RenewPods {
		err = r.renew(ctx, p, in)
	}
	return err
}
