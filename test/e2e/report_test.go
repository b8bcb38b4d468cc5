//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
)

// logLines is the number of lines of the operator's log in a report.
const logLines = 60

// report returns what a person needs to understand a failed test.
func report(ctx context.Context, namespace string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "state of namespace %s\n", namespace)
	for _, part := range []struct {
		title string
		write func(context.Context, *strings.Builder, string) error
	}{
		{"conditions", reportConditions}, {"pods", reportPods}, {"events", reportEvents}, {"operator", reportOperator},
	} {
		fmt.Fprintf(&b, "--- %s\n", part.title)
		if err := part.write(ctx, &b, namespace); err != nil {
			fmt.Fprintf(&b, "the state cannot be read: %v\n", err)
		}
	}
	return b.String()
}

func reportConditions(ctx context.Context, b *strings.Builder, namespace string) error {
	list := &v1alpha2.NginxOperatorList{}
	if err := kube.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return err
	}
	for _, nginx := range list.Items {
		fmt.Fprintf(b, "%s generation %d, observed %d\n", nginx.Name, nginx.Generation, nginx.Status.ObservedGeneration)
		for _, c := range nginx.Status.Conditions {
			fmt.Fprintf(b, "  %s=%s (%s) of %d: %s\n", c.Type, c.Status, c.Reason, c.ObservedGeneration, c.Message)
		}
	}
	return nil
}

func reportPods(ctx context.Context, b *strings.Builder, namespace string) error {
	list := &corev1.PodList{}
	if err := kube.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return err
	}
	for _, pod := range list.Items {
		fmt.Fprintf(b, "%s on %q: %s, deleted: %t\n", pod.Name, pod.Spec.NodeName, pod.Status.Phase, pod.DeletionTimestamp != nil)
		for _, c := range pod.Status.Conditions {
			if c.Status != corev1.ConditionTrue {
				fmt.Fprintf(b, "  %s=%s: %s %s\n", c.Type, c.Status, c.Reason, c.Message)
			}
		}
		for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			fmt.Fprintf(b, "  %s: ready %t, restarts %d, %s\n", s.Name, s.Ready, s.RestartCount, containerState(s))
		}
	}
	return nil
}

func containerState(s corev1.ContainerStatus) string {
	switch {
	case s.State.Waiting != nil:
		return fmt.Sprintf("waiting: %s %s", s.State.Waiting.Reason, s.State.Waiting.Message)
	case s.State.Terminated != nil:
		return fmt.Sprintf("ended: exit code %d %s", s.State.Terminated.ExitCode, s.State.Terminated.Message)
	default:
		return "running"
	}
}

func reportEvents(ctx context.Context, b *strings.Builder, namespace string) error {
	list := &eventsv1.EventList{}
	if err := kube.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return err
	}
	slices.SortFunc(list.Items, func(a, b eventsv1.Event) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	for _, e := range list.Items {
		fmt.Fprintf(b, "%s %s %s/%s: %s\n", e.CreationTimestamp.UTC().Format("15:04:05"), e.Reason, e.Regarding.Kind, e.Regarding.Name, e.Note)
	}
	return nil
}

// reportOperator writes the lines of the operator's log that mention the namespace, and all errors.
func reportOperator(ctx context.Context, b *strings.Builder, namespace string) error {
	pods := &corev1.PodList{}
	if err := kube.List(ctx, pods, client.InNamespace(operatorNamespace), client.MatchingLabels(operatorLabels)); err != nil {
		return err
	}
	for _, pod := range pods.Items {
		fmt.Fprintf(b, "%s: %s\n", pod.Name, pod.Status.Phase)
		text, err := operatorLog(ctx, &pod, new(int64(2000)))
		if err != nil {
			return err
		}
		var lines []string
		for line := range strings.Lines(text) {
			if strings.Contains(line, namespace) || strings.Contains(line, `"level":"error"`) {
				lines = append(lines, line)
			}
		}
		b.WriteString(strings.Join(lines[max(0, len(lines)-logLines):], ""))
	}
	return nil
}

// operatorLog reads the log of an operator pod. If tail is nil, it reads the whole log.
func operatorLog(ctx context.Context, pod *corev1.Pod, tail *int64) (string, error) {
	text, err := clientset.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{TailLines: tail}).DoRaw(ctx)
	return string(text), err
}
