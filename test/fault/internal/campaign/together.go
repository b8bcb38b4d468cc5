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

	"example.com/nginx-operator/test/fault/internal/proxy"
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

// enough is how often a rival has to meet objects of a kind to write to one of them: somebody else may be faster, but not
// always.
const enough = 20

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
			var lost atomic.Pointer[string]
			for _, kind := range rivalled {
				r, err := p.resource(p.namespace, kind, "")
				if err != nil {
					cancel()
					return nil, err
				}
				group.Go(func() {
					if saw, wrote := scribble(ctx, r, &lost); saw > enough && wrote == 0 {
						words := fmt.Sprintf("the rival has met %d times what is of kind %s, and written nothing", saw, kind)
						lost.CompareAndSwap(nil, &words)
					}
				})
			}
			return func() error {
				cancel()
				group.Wait()
				if words := lost.Load(); words != nil {
					return errors.New(*words)
				}
				return nil
			}, nil
		})
	}
	return c
}

// scribble writes to all objects of a resource until the context ends, and returns how often it met one, and has written to
// one. If one of its writes is undone, that is noted in lost: it reads what it has written last.
func scribble(ctx context.Context, r dynamic.ResourceInterface, lost *atomic.Pointer[string]) (saw, wrote int) {
	written := map[types.UID]string{}
	round := time.NewTicker(rivalPause)
	defer round.Stop()
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
			saw++
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
		case <-round.C:
		}
	}
	return saw, wrote
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
	if err == nil {
		err = p.modest(before, len(g.Writes))
	}
	if err == nil {
		err = p.ends(ctx, g, begin)
	}
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, p.said())
	}
	return true, err
}

// modest makes sure that nobody has written much more than one writes alone.
func (p *play) modest(before, alone int) error {
	all := [][]proxy.Request{p.guest.Writes()[before:]}
	if p.beside != nil {
		all = append(all, p.beside.guest.Writes())
	}
	for _, writes := range all {
		if len(writes) > 4*alone+10 {
			return fmt.Errorf("it has written %d times, and %d times alone: %s", len(writes), alone, last(writes, 10))
		}
	}
	return nil
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
