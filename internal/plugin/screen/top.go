package screen

import (
	"fmt"

	"example.com/nginx-operator/internal/plugin/view"
)

// TopApplications shows what applications do.
func (p Printer) TopApplications(top view.Top, namespaces bool) error {
	switch {
	case top.Total == 0 && top.LeftOut == 0:
		return p.printf("No pods found: kubectl nginx top -A shows those of all namespaces.")
	case len(top.Applications) == 0:
		if err := p.printf("None of the applications matches."); err != nil {
			return err
		}
		return p.topNotes(top)
	}
	header := []string{"NAME", "PODS", "REQ/S", "ERRORS", "P50", "P99", "CONNECTIONS", "MEMORY"}
	if namespaces {
		header = append([]string{"NAMESPACE"}, header...)
	}
	t := p.table(header...)
	for _, l := range top.Applications {
		row := append([]string{l.Name, fmt.Sprintf("%d/%d", l.Answering, l.Pods)}, loadCells(l)...)
		if namespaces {
			row = append([]string{l.Namespace}, row...)
		}
		t.row(row...)
	}
	if err := t.print(); err != nil {
		return err
	}
	return p.topNotes(top)
}

// topNotes says which traffic is missing above, and why.
func (p Printer) topNotes(top view.Top) error {
	if err := p.silentPods(top.Silent); err != nil {
		return err
	}
	return p.leftOut(top.LeftOut, top.MostPods)
}

// TopPods shows what the pods of an application do, and its server blocks.
func (p Printer) TopPods(top view.Top) error {
	tables := p.podsAndServers
	if len(top.Pods) == 0 && len(top.Servers) == 0 {
		tables = p.noPods
	}
	if err := tables(top); err != nil {
		return err
	}
	return p.topNotes(top)
}

func (p Printer) podsAndServers(top view.Top) error {
	t := p.table("POD", "REQ/S", "ERRORS", "P50", "P99", "CONNECTIONS", "MEMORY")
	for _, l := range top.Pods {
		if l.Answering == 0 {
			t.row(l.Name, "not known", "", "", "", "", "").mark(1, warning)
			continue
		}
		t.row(append([]string{l.Name}, loadCells(l)...)...)
	}
	if err := t.print(); err != nil || len(top.Servers) == 0 {
		return err
	}
	t, err := p.section("SERVER", "REQ/S", "ERRORS", "P50", "P99")
	if err != nil {
		return err
	}
	for _, l := range top.Servers {
		t.row(append([]string{l.Name}, loadCells(l)[:4]...)...)
	}
	return t.print()
}

// noPods says why none of the pods is shown.
func (p Printer) noPods(top view.Top) error {
	switch top.Total {
	case 0:
		return p.printf("The application has no pods.")
	case 1:
		return p.printf("The only pod does not match.")
	}
	return p.printf("None of %d pods matches.", top.Total)
}

// loadCells returns the cells of a load. They are empty if none of its pods can be read.
func loadCells(l view.Load) []string {
	if l.Pods > 0 && l.Answering == 0 {
		return make([]string, 6)
	}
	return []string{rate(l.Requests), share(l.ErrorShare()), latencyOf(l.P50), latencyOf(l.P99), fmt.Sprintf("%.0f", l.Connections), fmt.Sprintf("%.0fMi", l.Memory/(1<<20))}
}

func latencyOf(seconds *float64) string {
	if seconds == nil {
		return ""
	}
	return latency(*seconds)
}
