package campaign

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"example.com/nginx-operator/test/fault/internal/snapshot"
)

// TogetherCases have somebody else at work all the while.
func TogetherCases(journey string) []Case {
	return []Case{leaders(journey), rival(journey)}
}

// leaders has two operators at work at once, as a paused leader is that resumes.
func leaders(journey string) Case {
	c := Case{Kind: "leaders", Journey: journey, Point: "two"}
	c.run = func(ctx context.Context, s *Stage, g *Golden) (bool, error) {
		return s.together(ctx, c, g, func(_ context.Context, p *play) (func() error, error) {
			other := s.operator(p.name+"-other", p.namespace)
			other.arguments = p.arguments
			p.beside = other
			return func() error { other.halt(); return nil }, other.start()
		})
	}
	return c
}

// rivalPause is how often a rival writes.
const rivalPause = time.Second / 20

// rivalMark is what it writes.
const rivalMark = "rival.example.com/was-here"

// rivalled are the kinds of the objects that the operator writes, and of what declares them.
var rivalled = []string{"Deployment", "Service", "ConfigMap", "ServiceAccount", "PodDisruptionBudget", "ControllerRevision", "Pod", "NginxOperator"}

// rival has somebody write to every object 20 times a second: what nobody else owns, with all the
// rest as it was read, as clients do that know no server-side apply.
func rival(journey string) Case {
	c := Case{Kind: "rival", Journey: journey, Point: "20-Hz"}
	c.run = func(ctx context.Context, s *Stage, g *Golden) (bool, error) {
		return s.together(ctx, c, g, func(ctx context.Context, p *play) (func() error, error) {
			ctx, cancel := context.WithCancel(ctx)
			var group sync.WaitGroup
			var wrote atomic.Int64
			var lost atomic.Pointer[string]
			for _, kind := range rivalled {
				r, err := p.resource(p.namespace, kind, "")
				if err != nil {
					cancel()
					return nil, err
				}
				group.Go(func() { wrote.Add(scribble(ctx, r, &lost)) })
			}
			return func() error {
				cancel()
				group.Wait()
				if words := lost.Load(); words != nil {
					return errors.New(*words)
				}
				if wrote.Load() == 0 {
					return fmt.Errorf("the rival has written nothing")
				}
				return nil
			}, nil
		})
	}
	return c
}

// scribble writes to all objects of a resource until the context ends, and returns how often. If one
// of its writes is undone, that is noted in lost: it reads what it has written last.
func scribble(ctx context.Context, r dynamic.ResourceInterface, lost *atomic.Pointer[string]) (wrote int64) {
	written := map[types.UID]string{}
	for n := 0; ctx.Err() == nil; n++ {
		list, err := r.List(ctx, metav1.ListOptions{})
		if err != nil {
			continue
		}
		for i := range list.Items {
			object := &list.Items[i]
			if object.GetKind() == "ConfigMap" && metav1.GetControllerOf(object) == nil {
				// It is what the user refers to: of that, only the metadata is watched, so that each write may
				// be another content, which pods have to be told of.
				continue
			}
			annotations := object.GetAnnotations()
			if annotations == nil {
				annotations = map[string]string{}
			}
			if last := written[object.GetUID()]; annotations[rivalMark] != last {
				words := fmt.Sprintf("%s %s has %q of its rival, who has written %q last", object.GetKind(), object.GetName(), annotations[rivalMark], last)
				lost.CompareAndSwap(nil, &words)
			}
			annotations[rivalMark] = fmt.Sprint(n)
			object.SetAnnotations(annotations)
			// Whoever was faster has it; the next round comes soon.
			if _, err := r.Update(ctx, object, metav1.UpdateOptions{FieldManager: "rival"}); err == nil {
				wrote++
				written[object.GetUID()] = annotations[rivalMark]
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(rivalPause):
		}
	}
	return wrote
}

// together plays a journey with something beside it, which is ended when the end is reached. Nobody
// fights: the operator writes no more than a few times what it writes alone.
func (s *Stage) together(ctx context.Context, c Case, g *Golden, beside func(context.Context, *play) (func() error, error)) (reached bool, err error) {
	p, err := s.newPlay(ctx, s.journeys[c.Journey])
	defer func() { err = joined(err, p) }()
	if err != nil {
		return false, err
	}
	begin, err := p.taker.Take(ctx, p.namespace)
	if err != nil {
		return false, err
	}
	before := len(p.guest.Writes())
	end, err := beside(ctx, p)
	if err != nil {
		return false, err
	}
	err = p.perform(ctx)
	if err == nil {
		// It comes to rest although somebody else does not.
		err = p.settle(ctx)
	}
	if ended := end(); err == nil {
		err = ended
	}
	if err == nil {
		err = p.settle(ctx)
	}
	if n, most := len(p.guest.Writes())-before, 4*len(g.Writes)+10; err == nil && n > most {
		err = fmt.Errorf("it has written %d times, and %d times alone: %s", n, len(g.Writes), last(p.guest.Writes(), 10))
	}
	if err == nil {
		err = p.ends(ctx, g, begin)
	}
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, p.said())
	}
	return true, err
}

// withoutRival takes away from a picture what a rival has left.
func withoutRival(p snapshot.Picture) {
	for _, object := range p.Objects {
		unstructured.RemoveNestedField(object, "metadata", "annotations", rivalMark)
		if left, _, err := unstructured.NestedMap(object, "metadata", "annotations"); err == nil && len(left) == 0 {
			unstructured.RemoveNestedField(object, "metadata", "annotations")
		}
		unstructured.RemoveNestedField(object, "managers", "rival Update")
	}
}
