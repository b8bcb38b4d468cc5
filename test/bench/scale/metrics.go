package scale

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// series are the lines of the operator's metrics.
type series []string

var scraper = &http.Client{Timeout: 5 * time.Second}

// scrape reads the operator's metrics.
func (b *bench) scrape() (series, error) {
	answer, err := scraper.Get("http://" + b.address + "/metrics")
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the operator's metrics endpoint answered %s", answer.Status)
	}
	return strings.Split(string(text), "\n"), nil
}

// sum adds up the values of a metric whose labels contain a text; 0: the operator has not exported
// any yet.
func (s series) sum(name, labels string) (float64, error) {
	var sum float64
	for _, line := range s {
		rest, ok := strings.CutPrefix(line, name)
		if !ok || !strings.HasPrefix(rest, "{") && !strings.HasPrefix(rest, " ") || !strings.Contains(rest, labels) {
			continue
		}
		value, err := strconv.ParseFloat(rest[strings.LastIndex(rest, " ")+1:], 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", line, err)
		}
		sum += value
	}
	return sum, nil
}

// counters are counts since the start of the operator.
type counters struct {
	// passes is the number of passes.
	passes float64
	// allocated is in bytes. collecting is the processor time that Go spent on garbage collection,
	// in seconds.
	allocated, collecting float64
	orders                orders
}

// orders counts the orders to pods by their result.
type orders struct{ accepted, refused, unanswered float64 }

func (b *bench) counters() (c counters, err error) {
	s, err := b.scrape()
	if err != nil {
		return c, err
	}
	if c.passes, err = s.sum("controller_runtime_reconcile_total", `controller="`+controller+`"`); err != nil {
		return c, err
	}
	if c.allocated, err = s.sum("go_gc_heap_allocs_bytes_total", ""); err != nil {
		return c, err
	}
	if c.collecting, err = s.sum("go_cpu_classes_gc_total_cpu_seconds_total", ""); err != nil {
		return c, err
	}
	c.orders, err = s.orders()
	return c, err
}

func (s series) orders() (o orders, err error) {
	for result, count := range map[string]*float64{"accepted": &o.accepted, "refused": &o.refused, "unanswered": &o.unanswered} {
		if *count, err = s.sum("nginx_operator_orders_total", `result="`+result+`"`); err != nil {
			return o, err
		}
	}
	return o, nil
}

// since returns the difference to an earlier moment.
func (c counters) since(before counters) counters {
	return counters{
		passes: c.passes - before.passes, allocated: c.allocated - before.allocated, collecting: c.collecting - before.collecting,
		orders: orders{c.orders.accepted - before.orders.accepted, c.orders.refused - before.orders.refused, c.orders.unanswered - before.orders.unanswered},
	}
}

// busy returns the number of objects that are being reconciled or are in the queue.
func (s series) busy() (float64, error) {
	waiting, err := s.sum("workqueue_depth", `controller="`+controller+`"`)
	if err != nil {
		return 0, err
	}
	working, err := s.sum("controller_runtime_active_workers", `controller="`+controller+`"`)
	return waiting + working, err
}

// memory is the operator's memory, in bytes.
type memory struct {
	// resident is what the kernel reports, and peak its maximum so far.
	resident, peak int64
	// heap is what Go reports: objects that are in use, and those that the next collection frees.
	heap int64
}

func (b *bench) memory() (m memory, err error) {
	held, err := b.operator.Memory()
	if err != nil {
		return m, err
	}
	s, err := b.scrape()
	if err != nil {
		return m, err
	}
	heap, err := s.sum("go_memstats_heap_alloc_bytes", "")
	return memory{resident: held.Resident, peak: held.Peak, heap: int64(heap)}, err
}
