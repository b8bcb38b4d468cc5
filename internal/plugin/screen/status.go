package screen

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/plugin/view"
)

// mostEvents is how many events are shown, the newest first.
const mostEvents = 5

// Status shows an application on one screen.
func Status(w io.Writer, a view.Application, now time.Time) error {
	for _, part := range []func(io.Writer, *view.Application, time.Time) error{summary, conditions, pods, certificates, events, forbidden} {
		if err := part(w, &a, now); err != nil {
			return err
		}
	}
	return nil
}

// summary shows what runs, and why the application is not ready.
func summary(w io.Writer, a *view.Application, now time.Time) error {
	n := &a.Nginx
	fields := [][2]string{
		{"Application", n.Namespace + "/" + n.Name},
		{"Ready", readyOf(n, now)},
		{"Image", imageOf(&n.Status)},
		{"Revision", number(n.Status.Revision)},
		{"Configuration", configuration(&n.Status)},
		{"Addresses", addresses(n.Status.Addresses)},
	}
	if waiting := n.Status.WaitingRollout; waiting != nil {
		fields = append(fields, [2]string{"Waiting", fmt.Sprintf("for the gates %s, for %s", strings.Join(waiting.Gates, ", "), age(now, waiting.Since.Time))})
	}
	for _, f := range fields {
		if _, err := fmt.Fprintf(w, "%-15s%s\n", f[0]+":", cmp.Or(Safe(f[1]), "-")); err != nil {
			return err
		}
	}
	return nil
}

func readyOf(n *v1alpha2.NginxOperator, now time.Time) string {
	c := reported(n)
	if c == nil {
		return "unknown: the operator has not reported on the present spec yet; check that it runs if this lasts"
	}
	pods := fmt.Sprintf("%d of %d pods", n.Status.ReadyReplicas, ptr.Deref(n.Spec.Replicas, 1))
	if c.Status == metav1.ConditionTrue {
		return fmt.Sprintf("yes, %s, for %s", pods, age(now, c.LastTransitionTime.Time))
	}
	return fmt.Sprintf("no, %s, for %s: %s", pods, age(now, c.LastTransitionTime.Time), c.Message)
}

func imageOf(s *v1alpha2.NginxOperatorStatus) string {
	if s.NginxVersion == "" {
		return s.Image
	}
	return fmt.Sprintf("%s (nginx %s)", s.Image, s.NginxVersion)
}

func configuration(s *v1alpha2.NginxOperatorStatus) string {
	c := s.Config
	if c == nil || c.Revision == "" {
		return ""
	}
	text := fmt.Sprintf("%s, served by %d of %d pods", short(c.Revision), c.LoadedReplicas, s.ReadyReplicas)
	if c.StableRevision != "" && c.StableRevision != c.Revision {
		text += "; new pods start with " + short(c.StableRevision)
	}
	return text
}

func addresses(all []v1alpha2.Address) string {
	var values []string
	for _, a := range all {
		values = append(values, a.Value)
	}
	return strings.Join(values, ", ")
}

func conditions(w io.Writer, a *view.Application, now time.Time) error {
	t := section(w, "CONDITION", "STATUS", "SINCE", "REASON", "MESSAGE")
	for _, c := range a.Nginx.Status.Conditions {
		t.row(c.Type, string(c.Status), age(now, c.LastTransitionTime.Time), c.Reason, c.Message)
	}
	return t.flush()
}

func pods(w io.Writer, a *view.Application, now time.Time) error {
	if len(a.Pods) == 0 {
		return nil
	}
	t := section(w, "POD", "NODE", "ZONE", "READY", "REVISION", "RESTARTS", "AGE")
	sorted := slices.SortedFunc(slices.Values(a.Pods), func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	for _, pod := range sorted {
		t.row(pod.Name, pod.Spec.NodeName, a.Zones[pod.Spec.NodeName], readiness(&pod), revisionOf(a, &pod), fmt.Sprint(restarts(&pod)), age(now, pod.CreationTimestamp.Time))
	}
	return t.flush()
}

func readiness(pod *corev1.Pod) string {
	switch {
	case pod.DeletionTimestamp != nil:
		return "ending"
	case observe.Ready(pod):
		return "yes"
	}
	return "no"
}

func restarts(pod *corev1.Pod) (n int32) {
	for _, s := range pod.Status.ContainerStatuses {
		n += s.RestartCount
	}
	return n
}

// revisionOf returns the newest revision with the template of a pod.
func revisionOf(a *view.Application, pod *corev1.Pod) string {
	newest := int64(0)
	for i := range a.History {
		if r := &a.History[i]; r.Template == observe.TemplateOf(pod) {
			newest = max(newest, r.Number)
		}
	}
	return number(newest)
}

func certificates(w io.Writer, a *view.Application, now time.Time) error {
	if len(a.Nginx.Status.Certificates) == 0 {
		return nil
	}
	t := section(w, "CERTIFICATE", "EXPIRES IN", "SERIAL")
	for _, c := range a.Nginx.Status.Certificates {
		t.row(c.Name, expiry(c.NotAfter, now), c.SerialNumber)
	}
	return t.flush()
}

func expiry(at *metav1.Time, now time.Time) string {
	switch {
	case at == nil:
		return "not served"
	case at.Time.Before(now):
		return "expired"
	}
	return fmt.Sprintf("%dd", int(at.Sub(now).Hours())/24)
}

func events(w io.Writer, a *view.Application, now time.Time) error {
	if len(a.Events) == 0 {
		return nil
	}
	sorted := slices.SortedFunc(slices.Values(a.Events), func(a, b eventsv1.Event) int { return lastSeen(&b).Compare(lastSeen(&a)) })
	t := section(w, "EVENT", "AGE", "NOTE")
	for _, e := range sorted[:min(len(sorted), mostEvents)] {
		t.row(e.Reason, age(now, lastSeen(&e)), e.Note)
	}
	return t.flush()
}

// lastSeen returns when an event happened last.
func lastSeen(e *eventsv1.Event) time.Time {
	if e.Series != nil {
		return e.Series.LastObservedTime.Time
	}
	return cmp.Or(e.EventTime.Time, e.DeprecatedLastTimestamp.Time)
}

func forbidden(w io.Writer, a *view.Application, _ time.Time) error {
	return showForbidden(w, a.Forbidden)
}

// showForbidden names the resources that the user may not read.
func showForbidden(w io.Writer, resources []string) error {
	if len(resources) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "\nNot shown, because you may not read it: %s.\n", strings.Join(resources, ", "))
	return err
}

// section begins a table after an empty line.
func section(w io.Writer, header ...string) *table {
	t := newTable(w)
	// The writer keeps the error for Flush.
	_, _ = io.WriteString(t.writer, "\n")
	t.row(header...)
	return t
}
