package screen

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/plugin/console/fleet"
	"example.com/nginx-operator/internal/plugin/view"
)

// List shows applications.
func (p Printer) List(found view.List, namespaces bool) error {
	switch {
	case found.Total == 0:
		return p.printf("No applications found: kubectl nginx list -A shows those of all namespaces.")
	case len(found.Items) == 0:
		return p.printf("None of %d applications matches.", found.Total)
	}
	header := p.listHeader(found.Measured, namespaces)
	state, t := slices.Index(header, "STATE"), p.table(header...)
	for i := range found.Items {
		a := &found.Items[i]
		row := p.listRow(a, found.Measured)
		if namespaces {
			row = append([]string{a.Nginx.Namespace}, row...)
		}
		t.row(row...).mark(state, tones[view.State(&a.Nginx)])
	}
	if err := t.print(); err != nil {
		return err
	}
	return p.listNotes(found)
}

func (p Printer) listHeader(measured, namespaces bool) []string {
	header := []string{"NAME", "READY", "STATE", "SINCE", "IMAGE", "REVISION", "CONFIG", "AGE"}
	if measured {
		header = append(header, "REQ/S", "ERRORS", "P50", "P99")
	}
	if namespaces {
		header = append([]string{"NAMESPACE"}, header...)
	}
	if p.Wide {
		header = append(header, "MESSAGE")
	}
	return header
}

func (p Printer) listRow(l *view.Listed, measured bool) []string {
	a, s := &l.Nginx, &l.Nginx.Status
	state, message, since := "", "", time.Time{}
	if c := view.Reported(a); c != nil {
		state, message, since = c.Reason, c.Message, c.LastTransitionTime.Time
	}
	row := []string{
		a.Name, fmt.Sprintf("%d/%d", s.ReadyReplicas, ptr.Deref(a.Spec.Replicas, 1)), state, p.age(since),
		s.Image, number(s.Revision), configOf(s), p.age(a.CreationTimestamp.Time),
	}
	if measured {
		row = append(row, listedTraffic(l.Traffic)...)
	}
	if p.Wide {
		row = append(row, message)
	}
	return row
}

// listedTraffic returns the cells of the traffic of an application. They are empty if no pod answers.
func listedTraffic(t *view.ApplicationTraffic) []string {
	if t == nil || t.Answering == 0 {
		return make([]string, 4)
	}
	return []string{rate(t.RequestsPerSecond), share(t.ErrorShare), latency(t.P50), latency(t.P99)}
}

// listNotes says which traffic is missing.
func (p Printer) listNotes(found view.List) error {
	var partly []string
	for i := range found.Items {
		if t := found.Items[i].Traffic; t != nil && t.Answering < t.Pods {
			partly = append(partly, fmt.Sprintf("%s (%d of %d)", Safe(found.Items[i].Nginx.Name), t.Answering, t.Pods))
		}
	}
	if len(partly) > 0 {
		named := strings.Join(partly[:min(len(partly), mostNamed)], ", ")
		if more := len(partly) - mostNamed; more > 0 {
			named += fmt.Sprintf(" and %d more", more)
		}
		if err := p.printf("\nNot all pods answer, so there is more traffic than is shown: %s.", named); err != nil {
			return err
		}
	}
	if err := p.silentPods(found.Silent); err != nil {
		return err
	}
	if err := p.leftOut(found.LeftOut, found.MostPods); err != nil {
		return err
	}
	return p.forbidden(found.Forbidden)
}

// mostNamed bounds how many applications a sentence names.
const mostNamed = 5

// leftOut says how many applications are not measured.
func (p Printer) leftOut(applications, mostPods int) error {
	if applications == 0 {
		return nil
	}
	return p.printf("\nApplications whose traffic is not measured, because of --max-pods=%d: %d. Select applications with -n or -l, or raise it.", mostPods, applications)
}

// tones are those of the states.
var tones = map[fleet.State]tone{fleet.NotReady: bad, fleet.Progressing: warning, fleet.Waiting: warning, fleet.Suspended: faint, fleet.Ready: good}

// configOf returns the first digits of the configuration, and how many pods serve it.
func configOf(s *v1alpha2.NginxOperatorStatus) string {
	if s.Config == nil || s.Config.Revision == "" {
		return ""
	}
	return fmt.Sprintf("%s (%d/%d)", short(s.Config.Revision), s.Config.LoadedReplicas, s.ReadyReplicas)
}

// short returns the first digits of a hash.
func short(hash string) string { return hash[:min(len(hash), 8)] }

func number(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}
