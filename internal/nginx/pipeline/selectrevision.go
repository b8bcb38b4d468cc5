package pipeline

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
func (l *Pipeline) selectRevision(ctx context.Context, p *pass) (err error) {
	in := revision.Input{Nginx: p.app.NginxOperator, State: p.state, Options: l.Options, Now: p.now, Keys: l.publicKeys(), Waits: p.app.Waits, Invalid: p.app.Invalid}
	p.selection, p.blocked, err = revision.Select(in)
	if err == nil && p.selection.CanaryAnalysis != nil {
		p.verdict = new(l.analyzeCanary(ctx, *p.selection.CanaryAnalysis))
		in.Verdict = p.verdict
		p.selection, p.blocked, err = revision.Select(in)
	}
	if err == nil && l.RenewPods {
		err = l.renew(ctx, p, in)
	}
	return err
}
