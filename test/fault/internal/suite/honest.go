package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/nginx-operator/test/fault/internal/journey"
	"example.com/nginx-operator/test/fault/internal/snapshot"
)

// checkServed checks, as soon as all expectations are met, that the pods serve what they should: a user
// who waits for a condition may rely on it from then on.
func (p *caseRun) checkServed(ctx context.Context) (err error) {
	if p.journey.Empty {
		return p.await(ctx, p.empty)
	}
	if p.journey.Undeclared {
		err = p.await(ctx, p.serving)
	} else {
		err = p.serving(ctx)
	}
	if err == nil && declares(p.journey) {
		if err = p.await(ctx, p.resting); err == nil {
			p.then, err = p.taker.Take(ctx, p.namespace)
		}
	}
	return err
}

// resting checks that pods start with the configuration that they serve. This holds once the
// operator will not roll it back any more.
func (p *caseRun) resting(ctx context.Context) error {
	for i := range p.journey.Then {
		e := &p.journey.Then[i]
		if e.Object.Kind != declaredKind || e.Condition != "Ready" {
			continue
		}
		object, err := p.get(ctx, p.namespace, e.Object)
		if err != nil {
			return err
		}
		requested, _, err := unstructured.NestedString(object.Object, "status", "config", "revision")
		stable, _, err2 := unstructured.NestedString(object.Object, "status", "config", "stableRevision")
		if err := errors.Join(err, err2); err != nil || requested != stable {
			return errors.Join(err, fmt.Errorf("pods boot from %s, but serve %s", stable, requested))
		}
	}
	return nil
}

// serving checks that all ready pods serve what they should.
func (p *caseRun) serving(context.Context) error {
	if err := p.serve(p.journey.Serves); err != nil {
		return fmt.Errorf("the status is as expected, but %w", err)
	}
	return nil
}

// serve returns an error if a ready pod serves another text.
func (p *caseRun) serve(want string) error {
	for _, text := range p.Pods.Served(p.namespace) {
		if !strings.Contains(text, want) {
			return fmt.Errorf("a ready pod serves %q, not %q", text, want)
		}
	}
	return nil
}

// empty checks that the namespace is empty.
func (p *caseRun) empty(ctx context.Context) error {
	picture, err := p.taker.Take(ctx, p.namespace)
	for key := range picture.Objects {
		err = errors.Join(err, fmt.Errorf("%s is left", key))
	}
	return err
}

// declares reports whether a journey ends with a declaration that becomes Ready. From then on,
// nothing has to change.
func declares(j *journey.Journey) bool {
	last := j.When[len(j.When)-1]
	if last.Create["kind"] != declaredKind && (last.Patch == nil || last.Patch.Kind != declaredKind) {
		return false
	}
	// A deleted object takes its time to go.
	return slices.ContainsFunc(j.Then, func(e journey.Expectation) bool {
		return e.Object.Kind == declaredKind && e.Condition == "Ready" && e.Status == "True"
	}) && !slices.ContainsFunc(j.When, func(s journey.Step) bool { return s.Delete != nil })
}

// declaredKind is the kind that users declare.
const declaredKind = "NginxOperator"

// honest checks that what was reported as Ready did not change afterwards.
func (p *caseRun) honest(end snapshot.Picture) error {
	if p.then.Objects == nil {
		return nil
	}
	if found := snapshot.Differences(withoutStatus(p.then), withoutStatus(end), snapshot.Mask{Means: p.Means}); len(found) > 0 {
		return fmt.Errorf("the condition Ready was reported too early: since then, %s", strings.Join(found[:min(len(found), 3)], "; "))
	}
	return nil
}

// withoutStatus returns a picture without statuses, field managers and revisions, and without the
// objects that are being deleted, which take their time to go.
func withoutStatus(p snapshot.Picture) snapshot.Picture {
	removeRivalFields(p)
	kept := snapshot.Picture{Objects: map[string]map[string]any{}}
	for key, object := range p.Objects {
		if strings.HasPrefix(key, "ControllerRevision/") {
			continue
		}
		if _, going, err := unstructured.NestedString(object, "metadata", "deletionTimestamp"); going && err == nil {
			continue
		}
		copied := (&unstructured.Unstructured{Object: object}).DeepCopy().Object
		delete(copied, "status")
		delete(copied, "managers")
		kept.Objects[key] = copied
	}
	return kept
}
