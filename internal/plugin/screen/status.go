package screen

import (
	"cmp"
	"fmt"
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
func (p Printer) Status(a view.Application) error {
	for _, part := range []func(*view.Application) error{p.summary, p.conditions, p.pods, p.certificates, p.events} {
		if err := part(&a); err != nil {
			return err
		}
	}
	if err := p.forbidden(a.Forbidden); err != nil || a.Lost == nil {
		return err
	}
	return p.printf("\n%s", p.coloured("Out of date: the API server cannot be reached: "+Safe(a.Lost.Error()), warning))
}

// summary shows what runs, and why the application is not ready.
func (p Printer) summary(a *view.Application) error {
	n := &a.Nginx
	ready, tone := p.readyOf(n)
	fields := [][2]string{
		{"Application", n.Namespace + "/" + n.Name},
		{"Ready", ready},
		{"Image", imageOf(&n.Status)},
		{"Revision", number(n.Status.Revision)},
		{"Configuration", configuration(&n.Status)},
		{"Addresses", addresses(n.Status.Addresses)},
	}
	fields = append(fields, p.rollout(a)...)
	fields = append(fields, p.scaling(a)...)
	fields = append(fields, p.lastBackup(a)...)
	if waiting := n.Status.WaitingRollout; waiting != nil {
		fields = append(fields, [2]string{"Waiting", fmt.Sprintf("for the gates %s, for %s", strings.Join(waiting.Gates, ", "), p.age(waiting.Since.Time))})
	}
	for _, f := range fields {
		text := cmp.Or(Safe(f[1]), "-")
		if f[0] == "Ready" {
			text = p.coloured(text, tone)
		}
		if err := p.printf("%-15s%s", f[0]+":", text); err != nil {
			return err
		}
	}
	return nil
}

func (p Printer) readyOf(n *v1alpha2.NginxOperator) (string, tone) {
	c := view.Reported(n)
	if c == nil {
		return "unknown: the operator has not reported on the present spec yet; check that it runs if this lasts", warning
	}
	pods := fmt.Sprintf("%d of %d pods", n.Status.ReadyReplicas, ptr.Deref(n.Spec.Replicas, 1))
	if c.Status == metav1.ConditionTrue {
		return fmt.Sprintf("yes, %s, for %s", pods, p.age(c.LastTransitionTime.Time)), good
	}
	return fmt.Sprintf("no, %s, for %s: %s", pods, p.age(c.LastTransitionTime.Time), c.Message), bad
}

// rollout says how far a rollout is.
func (p Printer) rollout(a *view.Application) [][2]string {
	for i := range a.History {
		if r := &a.History[i]; r.Stage != "" {
			text := fmt.Sprintf("of revision %d: %s, %d of %d pods are up to date, for %s", r.Number, r.Stage, a.Nginx.Status.UpdatedReplicas, ptr.Deref(a.Nginx.Spec.Replicas, 1), p.age(r.StartedAt))
			return [][2]string{{"Rollout", text}}
		}
	}
	return nil
}

// scaling names what changes the number of pods.
func (p Printer) scaling(a *view.Application) [][2]string {
	var fields [][2]string
	for _, h := range a.Scalers {
		text := fmt.Sprintf("HorizontalPodAutoscaler %s: %d to %d pods, wants %d", h.Name, ptr.Deref(h.Spec.MinReplicas, 1), h.Spec.MaxReplicas, h.Status.DesiredReplicas)
		fields = append(fields, [2]string{"Scaling", text})
	}
	return fields
}

// lastBackup says how old the last good backup is, and what became of a later one.
func (p Printer) lastBackup(a *view.Application) [][2]string {
	text := ""
	for i := range a.Backups {
		b := &a.Backups[i]
		state, tone := backupState(b.Status.Conditions)
		if tone == good {
			return [][2]string{{"Backup", text + fmt.Sprintf("%s, %s ago", b.Name, p.age(b.CreationTimestamp.Time))}}
		}
		if text == "" {
			text = fmt.Sprintf("%s: %s; last good: ", b.Name, state)
		}
	}
	if text != "" {
		return [][2]string{{"Backup", text + "none"}}
	}
	return nil
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

func (p Printer) conditions(a *view.Application) error {
	t, err := p.section("CONDITION", "STATUS", "SINCE", "REASON", "MESSAGE")
	if err != nil {
		return err
	}
	for _, c := range a.Nginx.Status.Conditions {
		t.row(c.Type, string(c.Status), p.age(c.LastTransitionTime.Time), c.Reason, c.Message)
		if c.Status != metav1.ConditionTrue {
			t.mark(1, warning)
		}
	}
	return t.print()
}

func (p Printer) pods(a *view.Application) error {
	if len(a.Pods) == 0 {
		return nil
	}
	t, err := p.section("POD", "NODE", "ZONE", "READY", "REVISION", "RESTARTS", "REQ/S", "ERRORS", "P50", "P99", "AGE")
	if err != nil {
		return err
	}
	sorted := slices.SortedFunc(slices.Values(a.Pods), func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	for _, pod := range sorted {
		row := []string{pod.Name, pod.Spec.NodeName, a.Zones[pod.Spec.NodeName], readiness(&pod), revisionOf(a, &pod), fmt.Sprint(restarts(&pod))}
		t.row(append(append(row, trafficCells(a.Traffic, pod.Name)...), p.age(pod.CreationTimestamp.Time))...)
		if !observe.Ready(&pod) {
			t.mark(slices.Index(row, readiness(&pod)), bad)
		}
	}
	if err := t.print(); err != nil {
		return err
	}
	return p.silentPods(a.Silent)
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

func (p Printer) certificates(a *view.Application) error {
	if len(a.Nginx.Status.Certificates) == 0 {
		return nil
	}
	t, err := p.section("CERTIFICATE", "EXPIRES IN", "SERIAL")
	if err != nil {
		return err
	}
	for _, c := range a.Nginx.Status.Certificates {
		t.row(c.Name, p.expiry(c.NotAfter), c.SerialNumber)
	}
	return t.print()
}

func (p Printer) expiry(at *metav1.Time) string {
	switch {
	case at == nil:
		return "not served"
	case at.Time.Before(p.Now):
		return "expired"
	}
	return fmt.Sprintf("%dd", int(at.Sub(p.Now).Hours())/24)
}

func (p Printer) events(a *view.Application) error {
	if len(a.Events) == 0 {
		return nil
	}
	sorted := slices.SortedFunc(slices.Values(a.Events), func(a, b eventsv1.Event) int { return lastSeen(&b).Compare(lastSeen(&a)) })
	t, err := p.section("EVENT", "AGE", "NOTE")
	if err != nil {
		return err
	}
	for _, e := range sorted[:min(len(sorted), mostEvents)] {
		t.row(e.Reason, p.age(lastSeen(&e)), e.Note)
	}
	return t.print()
}

// lastSeen returns when an event happened last.
func lastSeen(e *eventsv1.Event) time.Time {
	if e.Series != nil {
		return e.Series.LastObservedTime.Time
	}
	return cmp.Or(e.EventTime.Time, e.DeprecatedLastTimestamp.Time)
}

// forbidden names the resources that the user may not read.
func (p Printer) forbidden(resources []string) error {
	if len(resources) == 0 {
		return nil
	}
	return p.printf("\nNot shown, because you may not read it: %s.", strings.Join(resources, ", "))
}
