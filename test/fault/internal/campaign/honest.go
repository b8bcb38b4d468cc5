package campaign

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

// told looks, at the moment at which everything is as expected, whether the pods serve what they
// should: whoever waits for a condition may begin to rely on it.
func (p *play) told(ctx context.Context) (err error) {
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

// resting looks whether pods boot from what they serve: that follows when no pod may go back from it.
func (p *play) resting(ctx context.Context) error {
	for i := range p.journey.Then {
		e := &p.journey.Then[i]
		if e.Object.Kind != declaredKind || e.Condition != "Ready" {
			continue
		}
		object, err := p.get(ctx, p.namespace, e.Object)
		if err != nil {
			return err
		}
		asked, _, err := unstructured.NestedString(object.Object, "status", "config", "revision")
		stable, _, err2 := unstructured.NestedString(object.Object, "status", "config", "stableRevision")
		if err := errors.Join(err, err2); err != nil || asked != stable {
			return errors.Join(err, fmt.Errorf("pods boot from %s, and serve %s", stable, asked))
		}
	}
	return nil
}

// serving looks whether all pods that are ready serve what they should.
func (p *play) serving(context.Context) error {
	for _, text := range p.Pods.Served(p.namespace) {
		if !strings.Contains(text, p.journey.Serves) {
			return fmt.Errorf("everything is told to be as expected, and a pod that is ready serves %q, not %q", text, p.journey.Serves)
		}
	}
	return nil
}

// empty looks whether nothing is left.
func (p *play) empty(ctx context.Context) error {
	picture, err := p.taker.Take(ctx, p.namespace)
	for key := range picture.Objects {
		err = errors.Join(err, fmt.Errorf("%s is left", key))
	}
	return err
}

// declares tells whether a journey ends with something that is declared, and told to be Ready: from
// then on, nothing has to change.
func declares(j *journey.Journey) bool {
	last := j.When[len(j.When)-1]
	if last.Create["kind"] != declaredKind && (last.Patch == nil || last.Patch.Kind != declaredKind) {
		return false
	}
	// What is deleted goes in its own time.
	return slices.ContainsFunc(j.Then, func(e journey.Expectation) bool {
		return e.Object.Kind == declaredKind && e.Condition == "Ready" && e.Status == "True"
	}) && !slices.ContainsFunc(j.When, func(s journey.Step) bool { return s.Delete != nil })
}

// declaredKind is the one that users declare.
const declaredKind = "NginxOperator"

// honest makes sure that what was told to be Ready was not changed afterwards.
func (p *play) honest(end snapshot.Picture) error {
	if p.then.Objects == nil {
		return nil
	}
	if found := snapshot.Differences(declared(p.then), declared(end), snapshot.Mask{Means: p.Means}); len(found) > 0 {
		return fmt.Errorf("it was told to be Ready before it was: since then, %s", strings.Join(found[:min(len(found), 3)], "; "))
	}
	return nil
}

// declared is a picture without what is told of the objects, what is remembered of them, and those that
// are being deleted: they go in their own time.
func declared(p snapshot.Picture) snapshot.Picture {
	withoutRival(p)
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
