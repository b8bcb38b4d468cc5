package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/nginx-operator/test/fault/internal/property"
	"example.com/nginx-operator/test/fault/internal/snapshot"
)

// cases returns a case for every operation.
func (p *study) cases() []Case {
	var all []Case
	for i := range p.operations {
		o := &p.operations[i]
		all = append(all, Case{
			Kind: "property", Journey: seedName(o.Seed), Point: o.Name(),
			run: func(ctx context.Context, _ *Stage, _ *Golden) (bool, error) { return p.run(ctx, o) },
		})
	}
	return all
}

// run changes one field, and changes it back.
//
//   - Consistency: the new value shows in what the operator creates for the object.
//   - Rollback: after the change back, everything is as before.
//   - Differential: the result is the same as if the object had been created with the new value.
//
// If the API server refuses the value, nothing changes, and its error must name the field.
func (p *study) run(ctx context.Context, o *property.Operation) (accepted bool, err error) {
	p.tried.LoadOrStore(o.Leaf, false)
	if p.of.exclusive.MatchString(o.Leaf) {
		p.alone.Lock()
		defer p.alone.Unlock()
	}
	m, err := p.pool.seeded(ctx, o.Seed)
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
	before, err := m.currentState(ctx)
	if err != nil {
		return false, err
	}
	if p.of.Shown[o.Name()] != "" {
		return false, m.put(ctx, o.Spec, metav1.DryRunAll)
	}
	err = m.put(ctx, o.Spec)
	if refused(err) {
		return false, p.namesField(o, err)
	}
	if err != nil {
		return false, err
	}
	p.tried.Store(o.Leaf, true)
	return true, p.thereAndBack(ctx, m, o, before)
}

// refused reports whether the API server rejects a request permanently.
func refused(err error) bool { return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) }

// thereAndBack checks the effect of an accepted operation, and undoes the operation.
func (p *study) thereAndBack(ctx context.Context, m *pooledNamespace, o *property.Operation, before *state) error {
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
	if err := m.awaitPicture(ctx, p.goldens[o.Seed].End, p.goldens[o.Seed].Mask); err != nil {
		return fmt.Errorf("rollback: %w", err)
	}
	if p.of.silent.MatchString(o.Leaf) || p.of.exclusive.MatchString(o.Leaf) {
		// A Service keeps the node port that it no longer declares, so no twin can get that port.
		return nil
	}
	if err := p.pool.twin(ctx, "property/"+seedName(o.Seed)+"/"+o.Name(), o.Spec, after, p.goldens[o.Seed].Mask); err != nil {
		return fmt.Errorf("differential: %w", err)
	}
	return nil
}

// namesField checks that a refusal names the field.
func (p *study) namesField(o *property.Operation, refused error) error {
	for _, name := range strings.FieldsFunc(o.At, func(r rune) bool { return strings.ContainsRune(".[]{}", r) }) {
		if _, notIndex := strconv.Atoi(name); notIndex != nil && name != "spec" && strings.Contains(refused.Error(), name) {
			return nil
		}
	}
	return fmt.Errorf("the rejection does not name %s: %w", o.At, refused)
}

// droppedField reports whether the condition Accepted names a leaf among the fields that the cluster does not keep,
// because their features are off. No other object shows such a field. Its path in the Deployment ends like the leaf's,
// from the last list or map on.
func droppedField(object *unstructured.Unstructured, leaf string) bool {
	path := leaf[strings.LastIndexAny(leaf, "[]{}")+1:]
	conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
	if err != nil {
		return false
	}
	return slices.ContainsFunc(conditions, func(item any) bool {
		c, ok := item.(map[string]any)
		message, isText := c["message"].(string)
		return ok && isText && c["type"] == "Accepted" && strings.Contains(message, "does not keep") && path != "" && strings.Contains(message, path)
	})
}

// consistent checks that the new value shows in the objects.
func (p *study) consistent(o *property.Operation, before, after *state) error {
	if !after.ready {
		if after.why == "" {
			return errors.New("it is not ready, and does not report why")
		}
		return nil
	}
	if o.Unset || snapshot.Equal(before.object.Object["spec"], after.object.Object["spec"]) || p.of.silent.MatchString(o.Leaf) {
		return nil
	}
	if droppedField(after.object, o.Leaf) {
		return nil
	}
	golden := p.goldens[o.Seed]
	if !snapshot.HasEffect(golden.End, after.picture, p.of.Object.Kind, p.of.derived, lastName(o.Leaf), o.Value) {
		return fmt.Errorf("%s is %v, which no object shows; these fields changed: %v", o.At, o.Value,
			snapshot.Differences(golden.End, after.picture, golden.Mask))
	}
	return nil
}

// lastName returns the last name in a field's path.
func lastName(leaf string) string {
	leaf = strings.TrimRight(leaf, "[]{}")
	return leaf[strings.LastIndexAny(leaf, ".[]{}")+1:]
}
