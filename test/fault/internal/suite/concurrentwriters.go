package suite

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

// ConcurrentWriterCases returns the cases in which another client is active during the whole run.
func ConcurrentWriterCases(journey string) []Case {
	return []Case{leaders(journey), rival(journey)}
}

// leaders runs two operators at the same time, as happens when a paused leader resumes.
func leaders(journey string) Case {
	c := Case{Kind: "leaders", Journey: journey, Point: "two"}
	c.run = func(ctx context.Context, s *Stage, g *Golden) (bool, error) {
		return s.runBeside(ctx, c, g, func(_ context.Context, p *caseRun) (func() error, error) {
			other := s.operator(p.name+"-other", p.namespace)
			other.arguments = p.arguments
			p.beside = other
			return func() error { other.halt(); return nil }, other.start()
		})
	}
	return c
}

// rivalPause is the time between two rounds of a rival's writes.
const rivalPause = time.Second / 20

// enough is how often a rival must find objects of a kind until it must have written to one of
// them: other clients may be faster, but not always.
const enough = 20

// rivalMark is the annotation that a rival writes.
const rivalMark = "rival.example.com/was-here"

// rivalled are the kinds that the operator writes, and the kind of their declaration.
var rivalled = []string{"Deployment", "Service", "ConfigMap", "ServiceAccount", "PodDisruptionBudget", "NetworkPolicy", "ControllerRevision", "Pod", "NginxOperator"}

// rival updates every object 20 times a second. It sets an annotation that no other client owns,
// and sends back the rest of the object as it was read, like a client that does not use server-side
// apply.
func rival(journey string) Case {
	c := Case{Kind: "rival", Journey: journey, Point: "20-Hz"}
	c.run = func(ctx context.Context, s *Stage, g *Golden) (bool, error) {
		return s.runBeside(ctx, c, g, func(ctx context.Context, p *caseRun) (func() error, error) {
			// Conflicts with the rival delay the controllers of Kubernetes, too.
			p.more = max(p.more, longestBackOff)
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
						message := fmt.Sprintf("the rival has read objects %d times, of kind %s, but has written nothing", saw, kind)
						lost.CompareAndSwap(nil, &message)
					}
				})
			}
			return func() error {
				cancel()
				group.Wait()
				if message := lost.Load(); message != nil {
					return errors.New(*message)
				}
				return nil
			}, nil
		})
	}
	return c
}

// scribble writes to all objects of a resource until the context ends. It returns how often it
// found an object, and how often a write succeeded. If one of its writes is undone, it records that
// in lost.
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
				// This is a ConfigMap that the user refers to. The operator watches only its
				// metadata, so each write could be new content that it has to pass on to the pods.
				continue
			}
			annotations := object.GetAnnotations()
			if annotations == nil {
				annotations = map[string]string{}
			}
			if last := written[object.GetUID()]; annotations[rivalMark] != last {
				message := fmt.Sprintf("%s %s has the rival's mark %q, but the rival last wrote %q", object.GetKind(), object.GetName(), annotations[rivalMark], last)
				lost.CompareAndSwap(nil, &message)
			}
			saw++
			annotations[rivalMark] = fmt.Sprint(n)
			object.SetAnnotations(annotations)
			// On a conflict, the next round retries soon.
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

// runBeside runs a journey while something else runs beside it, and stops that when the expectations
// are met. The clients must not fight: the operator may write only a few times as much as alone.
func (s *Stage) runBeside(ctx context.Context, c Case, g *Golden, beside func(context.Context, *caseRun) (func() error, error)) (reached bool, err error) {
	p, err := s.newCaseRun(ctx, s.journeys[c.Journey])
	defer func() { err = joined(err, p) }()
	if err != nil {
		return false, err
	}
	begin, err := p.taker.Take(ctx, p.namespace)
	if err != nil {
		return false, err
	}
	before := len(p.client.Writes())
	end, err := beside(ctx, p)
	if err != nil {
		return false, err
	}
	err = p.perform(ctx)
	if err == nil {
		// The operator must settle although the other client does not.
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

// modest checks that no operator has written much more than one does alone.
func (p *caseRun) modest(before, alone int) error {
	all := [][]proxy.Request{p.client.Writes()[before:]}
	if p.beside != nil {
		all = append(all, p.beside.client.Writes())
	}
	for _, writes := range all {
		if len(writes) > 4*alone+10 {
			return fmt.Errorf("the operator has written %d times, but only %d times without the rival: %s", len(writes), alone, last(writes, 10))
		}
	}
	return nil
}

// removeRivalFields removes what a rival has left from a picture.
func removeRivalFields(p snapshot.Picture) {
	for _, object := range p.Objects {
		unstructured.RemoveNestedField(object, "metadata", "annotations", rivalMark)
		if left, _, err := unstructured.NestedMap(object, "metadata", "annotations"); err == nil && len(left) == 0 {
			unstructured.RemoveNestedField(object, "metadata", "annotations")
		}
		unstructured.RemoveNestedField(object, "managers", "rival Update")
	}
}
