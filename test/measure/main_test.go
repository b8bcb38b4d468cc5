package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/test/internal/figure"
)

func TestChoose(t *testing.T) {
	chosen, err := choose([]string{"restart", "idle"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range chosen {
		names = append(names, m.name)
	}
	if diff := cmp.Diff([]string{"idle", "restart"}, names); diff != "" {
		t.Error(diff)
	}
	if _, err := choose([]string{"idle", "typo"}); err == nil || !strings.Contains(err.Error(), `"typo"`) {
		t.Errorf("a name that does not exist gives %v", err)
	}
}

func TestRun(t *testing.T) {
	var cleaned []string
	chosen := []measurement{
		{name: "good", take: func(_ context.Context, s *session) ([]figure.Figure, error) {
			for _, what := range []string{"first", "second"} {
				s.atEnd(func(context.Context) error { cleaned = append(cleaned, what); return nil })
			}
			return []figure.Figure{figure.HasGoal("writes", 1, "requests", figure.AtMost(0))}, nil
		}},
		{name: "bad", take: func(context.Context, *session) ([]figure.Figure, error) { return nil, errors.New("no cluster") }},
		{name: "last", take: func(context.Context, *session) ([]figure.Figure, error) {
			return []figure.Figure{figure.Info("objects", 3, "objects")}, nil
		}},
	}
	figures, err := newSession(options{}, io.Discard).run(t.Context(), chosen)
	if err == nil || err.Error() != "bad: no cluster" {
		t.Errorf("the run ended with %v", err)
	}
	if len(figures) != 2 || figures[0].Measurement != "good" || figures[1].Measurement != "last" {
		t.Errorf("the figures are %v", figures)
	}
	if diff := cmp.Diff([]string{"second", "first"}, cleaned); diff != "" {
		t.Error(diff)
	}
	if err := missed(figures); err == nil {
		t.Error("a figure that falls short is no error")
	}
	if err := missed(figures[1:]); err != nil {
		t.Error(err)
	}
}

func TestRolledOut(t *testing.T) {
	deployment := func(observed int64, replicas, updated, available int32) *appsv1.Deployment {
		return &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Generation: 2},
			Spec:       appsv1.DeploymentSpec{Replicas: ptr.To[int32](2)},
			Status:     appsv1.DeploymentStatus{ObservedGeneration: observed, Replicas: replicas, UpdatedReplicas: updated, AvailableReplicas: available},
		}
	}
	tests := []struct {
		name       string
		deployment *appsv1.Deployment
		want       bool
	}{
		{"done", deployment(2, 2, 2, 2), true},
		{"not seen yet", deployment(1, 2, 2, 2), false},
		{"an old pod is left", deployment(2, 3, 2, 2), false},
		{"a new pod is missing", deployment(2, 2, 1, 2), false},
		{"a new pod is not available", deployment(2, 2, 2, 1), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := rolledOut(tt.deployment); got != tt.want {
				t.Errorf("rolled out: %t, want %t", got, tt.want)
			}
		})
	}
}
