package controller

import (
	"context"

	"example.com/nginx-operator/internal/nginx/revision"
)

// selectRevision decides which revision runs and the next step of its rollout.
//
// Select runs up to three times, because what it decides shows what else has to be read. Which pods are canaries, and
// since when, is known only after a decision: their requests are queried then, and the decision is made again with the
// result. An application at rest may be renewed: the decision with this release's template shows whether its pods would
// change, and is used if no other application is being renewed.
func (r *Reconciler) selectRevision(ctx context.Context, p *pass) (err error) {
	in := revision.Input{Nginx: p.nginx, State: p.state, Options: r.Options, Now: p.now, Keys: r.publicKeys()}
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
