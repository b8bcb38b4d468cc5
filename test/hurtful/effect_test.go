//go:build instance && hurtful

package hurtful_test

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/nginx-operator/test/hurtful"
	"example.com/nginx-operator/test/standin/container"
)

// These are how long nginx is watched, and how long its clients wait for a response (patience).
const (
	watched  = 3 * time.Second
	patience = time.Second
	pause    = 25 * time.Millisecond
	rounds   = 6
)

// A configuration hurts if it exceeds one of these.
const (
	failedShare    = 0.05
	secondsOfLoad  = 1.0
	millisecondsOf = 20.0 // processor time per request
	bytesOfLog     = 4000.0
)

// TestHurts: a configuration has the effect that the corpus says. An nginx with the good
// configuration loads each of the others, without the instance manager.
func TestHurts(t *testing.T) {
	root := newest(t)
	t.Run("good", func(t *testing.T) {
		if seen := observe(t, root, hurtful.Case{Files: hurtful.Good()}); len(seen.effects()) > 0 {
			t.Errorf("the good configuration hurts: %s", seen)
		}
	})
	version := versionOf(t, root)
	for _, c := range hurtful.All() {
		if c.Since != "" && compareVersions(t, version, c.Since) < 0 {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			seen := observe(t, root, c)
			t.Logf("%s %s: %s: %s", c.Family, c.Name, c.Effect, seen)
			if !slices.Contains(seen.effects(), c.Effect) {
				t.Errorf("%s is expected", c.Effect)
			}
		})
	}
}

// newest returns the root file system of the latest version.
func newest(t *testing.T) string {
	t.Helper()
	var root, latest string
	for _, candidate := range images {
		version := versionOf(t, candidate)
		if latest == "" || compareVersions(t, version, latest) > 0 {
			root, latest = candidate, version
		}
	}
	return root
}

// observation is what happened to an nginx.
type observation struct {
	mu               sync.Mutex
	requests, failed int
	reasons          map[string]int
	killed           int64
	ended            bool
	workers          bool
	log              string
	late             int
	processor        float64
	loading          time.Duration
}

func observe(t *testing.T, root string, c hurtful.Case) *observation {
	t.Helper()
	n := newNginx(t, root, hurtful.Good())
	n.start(hurtful.MemoryLimit)
	first := n.client(patience, false)
	deadline := time.Now().Add(20 * time.Second)
	for send(first, http.MethodGet, hurtful.Path, "") != nil {
		if time.Now().After(deadline) {
			t.Fatalf("nginx does not serve the good configuration: %s", n.output)
		}
		time.Sleep(pause)
	}
	seen := &observation{reasons: map[string]int{}}
	before, used := len(n.output.String()), n.processor()
	n.write(c.Files, 2)
	must(t, n.container.Signal(syscall.SIGHUP))
	seen.loading = n.loaded(before)
	// On a busy machine, it takes some time to use up memory.
	for range rounds {
		seen.sendAll(n)
		seen.killed = n.killed()
		seen.ended = n.container.State() != nil
		seen.workers = len(n.workers()) > 0
		seen.processor = n.processor() - used
		seen.log = n.output.String()[before:]
		if slices.Contains(seen.effects(), c.Effect) || c.Effect == "" {
			break
		}
	}
	return seen
}

// loaded waits until nginx has reported the result of the signal.
func (n *nginx) loaded(mark int) time.Duration {
	start := time.Now()
	for time.Since(start) < watched {
		text := n.output.String()[mark:]
		if strings.Contains(text, "start worker process") || strings.Contains(text, "[emerg]") || n.container.State() != nil {
			break
		}
		time.Sleep(pause)
	}
	return time.Since(start)
}

// sendAll sends requests from clients of each kind for a while.
func (o *observation) sendAll(n *nginx) {
	end := time.Now().Add(watched)
	var all sync.WaitGroup
	for i := range 6 {
		method, path, body := http.MethodGet, hurtful.Path, ""
		switch i {
		case 0:
			path = hurtful.PagePath
		case 1:
			method, body = http.MethodPost, strings.Repeat("0123456789", 100)
		}
		all.Go(func() {
			client := n.client(patience, i%2 == 0)
			defer client.CloseIdleConnections()
			for time.Now().Before(end) && n.container.State() == nil {
				o.count(send(client, method, path, body))
				time.Sleep(pause)
			}
		})
	}
	all.Wait()
}

func (o *observation) count(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.requests++
	if err != nil {
		o.failed++
		if os.IsTimeout(err) {
			o.late++
		}
		text := err.Error()
		text = text[strings.LastIndex(text, ": ")+1:]
		o.reasons[strings.TrimSpace(text)]++
	}
}

func (n *nginx) killed() int64 {
	n.t.Helper()
	_, killed, err := n.container.Memory()
	must(n.t, err)
	return killed
}

// workers returns the worker processes that are not shutting down.
func (n *nginx) workers() []int {
	return slices.DeleteFunc(container.Children(n.container.PID()), func(pid int) bool {
		return !strings.HasPrefix(container.Title(pid), "nginx: worker process\x00")
	})
}

// processor returns the processor time of nginx in seconds, including that of its ended processes.
func (n *nginx) processor() float64 {
	const hertz = 100
	ticks := 0
	for _, pid := range append(container.Children(n.container.PID()), n.container.PID()) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		for _, field := range fields[11:15] {
			value, _ := strconv.Atoi(field) // a number, by proc(5)
			ticks += value
		}
	}
	return float64(ticks) / hertz
}

func (o *observation) effects() []hurtful.Effect {
	var all []hurtful.Effect
	add := func(effect hurtful.Effect, seen bool) {
		if seen {
			all = append(all, effect)
		}
	}
	requests := float64(max(o.requests, 1))
	add(hurtful.OutOfMemory, o.killed > 0)
	add(hurtful.WorkersDie, o.ended || !o.workers || strings.Contains(o.log, "cannot be respawned") || strings.Contains(o.log, "epoll_wait() failed"))
	add(hurtful.Fails, float64(o.failed) >= failedShare*requests)
	add(hurtful.Slow, o.processor*1000 >= millisecondsOf*requests || float64(o.late) >= failedShare*requests)
	add(hurtful.SlowLoad, o.loading.Seconds() >= secondsOfLoad)
	add(hurtful.Floods, float64(len(o.log)) >= bytesOfLog*requests)
	return all
}

func (o *observation) String() string {
	var reasons []string
	for _, reason := range slices.Sorted(maps.Keys(o.reasons)) {
		reasons = append(reasons, fmt.Sprintf("%d %s", o.reasons[reason], reason))
	}
	return fmt.Sprintf("%v: %d of %d failed, %d killed, ended %t, workers %t, loaded in %.1f s, %.2f s of processor, %d bytes of log; %s", o.effects(),
		o.failed, o.requests, o.killed, o.ended, o.workers, o.loading.Seconds(), o.processor, len(o.log), strings.Join(reasons, "; "))
}
