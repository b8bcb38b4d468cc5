package screen

import (
	"fmt"
	"time"

	"example.com/nginx-operator/internal/plugin/view"
)

// trafficCells returns requests a second, errors, and the latencies of half and of 99 % of the requests of a pod.
func trafficCells(all map[string]view.Traffic, pod string) []string {
	t, known := all[pod]
	if !known {
		return make([]string, 4)
	}
	return []string{rate(t.RequestsPerSecond), share(t.ErrorShare), latency(t.P50), latency(t.P99)}
}

// silentPods says why pods cannot be read.
func (p Printer) silentPods(reasons []string) error {
	if len(reasons) == 0 {
		return nil
	}
	if err := p.printf("\nThe traffic of some pods is not known:"); err != nil {
		return err
	}
	for _, reason := range reasons[:min(len(reasons), mostNamed)] {
		if err := p.printf("  %s", Safe(reason)); err != nil {
			return err
		}
	}
	if more := len(reasons) - mostNamed; more > 0 {
		return p.printf("  and %d more", more)
	}
	return nil
}

// rate returns a number per second.
func rate(perSecond float64) string {
	if perSecond > 0 && perSecond < 10 {
		return fmt.Sprintf("%.1f", perSecond)
	}
	return fmt.Sprintf("%.0f", perSecond)
}

// share returns a share as a percentage.
func share(part float64) string {
	if part > 0 && part < 0.1 {
		return fmt.Sprintf("%.1f%%", 100*part)
	}
	return fmt.Sprintf("%.0f%%", 100*part)
}

// latency returns a time in a short form; empty: there is none.
func latency(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d <= 0:
		return ""
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1fms", float64(d)/float64(time.Millisecond))
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1fs", d.Seconds())
}
