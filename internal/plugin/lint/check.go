package lint

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"example.com/nginx-operator/api/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/conversion"
)

// check checks an object of a kind of the operator.
func (m *manifest) check(ctx context.Context, d *definition, s *set, test Tester) ([]Problem, error) {
	compiled, versions, err := d.compile(m.version())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.text("apiVersion"), err)
	}
	if compiled == nil {
		return []Problem{m.problem("apiVersion", "there is no version %q of this kind: use one of %s", m.version(), strings.Join(versions, ", "))}, nil
	}
	problems := compiled.validate(ctx, m)
	if len(problems) > 0 || m.text("kind") != "NginxOperator" {
		return problems, nil
	}
	nginx, err := m.application(ctx)
	if err != nil {
		return []Problem{m.problem("spec", "%s", err)}, nil
	}
	return m.checkConfig(ctx, nginx, s, test)
}

// application returns the NginxOperator of a valid manifest.
func (m *manifest) application(ctx context.Context) (*v1alpha2.NginxOperator, error) {
	into := &v1alpha2.NginxOperator{}
	if m.version() == v1alpha2.GroupVersion.Version {
		return into, runtime.DefaultUnstructuredConverter.FromUnstructured(m.content, into)
	}
	old := &v1alpha1.NginxOperator{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m.content, old); err != nil {
		return nil, err
	}
	return into, conversion.V1Alpha1ToHub(ctx, old, into)
}
