package campaign

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/test/fault/internal/property"
	"example.com/nginx-operator/test/fault/internal/snapshot"
)

// cases are the operations, as cases.
func (p *study) cases() []Case {
	var all []Case
	for i := range p.operations {
		o := &p.operations[i]
		all = append(all, Case{
			Kind: "property", Journey: seedName(o.Seed), Point: o.Name(),
			run: func(ctx context.Context, _ *Stage, _ *Golden) (bool, error) { return p.play(ctx, o) },
		})
	}
	return all
}

// play changes one field, and back.
//
//   - Consistency: the new value shows in what the operator has made of the object.
//   - Rollback: changed back, everything is as it was before.
//   - Differential: everything is as if the object had been created so.
//
// What the API server refuses changes nothing, and it tells which field is meant.
func (p *study) play(ctx context.Context, o *property.Operation) (accepted bool, err error) {
	p.tried.LoadOrStore(o.Leaf, false)
	if p.of.exclusive.MatchString(o.Leaf) {
		p.alone.Lock()
		defer p.alone.Unlock()
	}
	m, err := p.crowd.seeded(ctx, o.Seed)
	if err != nil {
		return false, fmt.Errorf("seed %d: %w", o.Seed, err)
	}
	defer func() {
		if err == nil {
			m.leave(o.Seed)
		} else {
			err = errors.Join(err, m.abandon(ctx))
		}
	}()
	m.by = "property/" + seedName(o.Seed) + "/" + o.Name()
	before, err := m.look(ctx)
	if err != nil {
		return false, err
	}
	if p.of.Shown[o.Name()] != "" {
		return false, m.put(ctx, o.Spec, metav1.DryRunAll)
	}
	err = m.put(ctx, o.Spec)
	if refused(err) {
		return false, p.told(o, err)
	}
	if err != nil {
		return false, err
	}
	p.tried.Store(o.Leaf, true)
	return true, p.thereAndBack(ctx, m, o, before)
}

// refused tells whether the API server takes something never.
func refused(err error) bool { return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) }

// thereAndBack waits for the effect of an operation that was accepted, and undoes it.
func (p *study) thereAndBack(ctx context.Context, m *member, o *property.Operation, before *state) error {
	after, err := m.state(ctx)
	if err != nil {
		return err
	}
	if err := p.consistent(o, before, after); err != nil {
		return fmt.Errorf("consistency: %w", err)
	}
	if err := errors.Join(m.put(ctx, p.of.Seeds[o.Seed]), m.settle(ctx)); err != nil {
		return fmt.Errorf("rollback: %w", err)
	}
	if p.of.Unready[o.Seed] != "" {
		return nil
	}
	if err := m.looks(ctx, p.goldens[o.Seed].End, p.goldens[o.Seed].Mask); err != nil {
		return fmt.Errorf("rollback: %w", err)
	}
	if p.of.silent.MatchString(o.Leaf) || p.of.exclusive.MatchString(o.Leaf) {
		// Kubernetes leaves a Service the node port that is not asked for any more, so no twin can have it.
		return nil
	}
	if err := p.crowd.twin(ctx, "property/"+seedName(o.Seed)+"/"+o.Name(), o.Spec, after, p.goldens[o.Seed].Mask); err != nil {
		return fmt.Errorf("differential: %w", err)
	}
	return nil
}

// told makes sure that a refusal names the field.
func (p *study) told(o *property.Operation, refused error) error {
	for _, name := range strings.FieldsFunc(o.At, func(r rune) bool { return strings.ContainsRune(".[]{}", r) }) {
		if _, notIndex := strconv.Atoi(name); notIndex != nil && name != "spec" && strings.Contains(refused.Error(), name) {
			return nil
		}
	}
	return fmt.Errorf("the refusal does not tell what is wrong with %s: %w", o.At, refused)
}

// consistent makes sure that the new value shows.
func (p *study) consistent(o *property.Operation, before, after *state) error {
	if !after.ready {
		if after.why == "" {
			return errors.New("it is not ready, and does not tell why")
		}
		return nil
	}
	if o.Unset || snapshot.Equal(before.object.Object["spec"], after.object.Object["spec"]) || p.of.silent.MatchString(o.Leaf) {
		return nil
	}
	golden := p.goldens[o.Seed]
	if !snapshot.Shows(golden.End, after.picture, p.of.Object.Kind, p.of.derived, lastName(o.Leaf), o.Value) {
		return fmt.Errorf("%s is %v, which shows nowhere; others are %v", o.At, o.Value,
			snapshot.Differences(golden.End, after.picture, golden.Mask))
	}
	return nil
}

// lastName is the name of a field, without where it is.
func lastName(leaf string) string {
	leaf = strings.TrimRight(leaf, "[]{}")
	return leaf[strings.LastIndexAny(leaf, ".[]{}")+1:]
}
