package budget

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/instance/assemble"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/test/golden"
)

const mib = 1 << 20

// small is the room of a container with a limit of 64 MiB.
var small = Room{Free: 40 * mib, Limit: 64 * mib, Limited: true, Processes: -1}

func with(change func(*assemble.Demand)) assemble.Demand {
	d := assemble.Demand{Workers: 2, Connections: 1024}
	change(&d)
	return d
}

func TestForesee(t *testing.T) {
	node := Room{Free: 8192 * mib, Limit: 16384 * mib, Processes: -1}
	pids := small
	pids.Processes = 100
	tests := map[string]struct {
		demand assemble.Demand
		room   Room
		want   string
	}{
		"common":                {with(func(*assemble.Demand) {}), small, ""},
		"unknown workers":       {with(func(d *assemble.Demand) { d.Workers = 0 }), small, ""},
		"workers":               {with(func(d *assemble.Demand) { d.Workers = 400 }), small, "out of memory: 400 worker processes need about 260 MiB in addition to the current ones, more than is left of the container's limit of 64 MiB: " + remedy + ", or raise resources.limits.memory"},
		"enough room":           {with(func(d *assemble.Demand) { d.Workers = 400 }), node, ""},
		"connections":           {with(func(d *assemble.Demand) { d.Connections = 200000 }), small, "out of memory: 2 worker processes need about 160 MiB in addition to the current ones, more than is left of the container's limit of 64 MiB: " + remedy + ", or raise resources.limits.memory"},
		"connections on a node": {with(func(d *assemble.Demand) { d.Connections = 20000000 }), node, "2 worker processes need about 16000 MiB of memory, more than the node has available: " + remedy},
		"threads":               {with(func(d *assemble.Demand) { d.Workers, d.Threads = 1, 20000 }), small, "out of memory: 1 worker process needs about 400 MiB in addition to the current ones, more than is left of the container's limit of 64 MiB: " + remedy + ", or raise resources.limits.memory"},
		"processes":             {with(func(d *assemble.Demand) { d.Threads = 60 }), pids, "2 worker processes need 126 processes and threads, and the container may start 100 more (the kubelet's podPidsLimit): lower worker_processes or the threads of thread_pool"},
	}
	var messages golden.Messages
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var want []instanceapi.Problem
			if tt.want != "" {
				messages.Add("configuration refused by an instance", tt.want)
				want = []instanceapi.Problem{{Message: tt.want}}
			}
			if diff := cmp.Diff(want, Foresee(tt.demand, tt.room)); diff != "" {
				t.Error(diff)
			}
		})
	}
	messages.Compare(t, "budget.txt")
}

const remedy = "lower worker_processes, worker_connections or the threads of thread_pool"

func TestCheck(t *testing.T) {
	demand := with(func(d *assemble.Demand) {
		d.Workers, d.File, d.Line, d.Directive = 8, "nginx.conf", 3, "worker_processes 8"
	})
	if found := Check(demand, instanceapi.Usage{Master: 3 * mib, Worker: 2 * mib, Threads: 1}, small); len(found) > 0 {
		t.Errorf("what fits is refused: %v", found)
	}
	found := Check(demand, instanceapi.Usage{Master: 3 * mib, Worker: 5 * mib, Threads: 1}, small)
	want := []instanceapi.Problem{{File: "nginx.conf", Line: 3,
		Message: "worker_processes 8: out of memory: 8 worker processes need about 44 MiB in addition to the current ones, more than is left of the container's limit of 64 MiB: " + remedy + ", or raise resources.limits.memory"}}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Error(diff)
	}
}

func TestFull(t *testing.T) {
	connections := func(n int) assemble.Demand { return with(func(d *assemble.Demand) { d.Connections = n }) }
	const listens = "the sockets that each worker process listens on take "
	for name, tt := range map[string]struct {
		demand assemble.Demand
		used   instanceapi.Usage
		want   string
	}{
		"common":               {connections(1024), instanceapi.Usage{Sockets: 3, Open: 12, MaxOpen: 1 << 20}, ""},
		"unknown":              {connections(4), instanceapi.Usage{}, ""},
		"few connections":      {connections(10), instanceapi.Usage{Sockets: 3, Open: 12}, "worker_connections is 10, and " + listens + "3 of them: raise worker_connections, or listen on fewer ports"},
		"just enough of them":  {connections(11), instanceapi.Usage{Sockets: 3, Open: 12}, ""},
		"many ports":           {connections(1024), instanceapi.Usage{Sockets: 1020, Open: 1030}, "worker_connections is 1024, and " + listens + "1020 of them: raise worker_connections, or listen on fewer ports"},
		"few descriptors":      {connections(1024), instanceapi.Usage{Sockets: 3, Open: 12, MaxOpen: 16}, "out of file descriptors: each worker process may open 16 files and sockets, and has 12 open before the first client comes: raise or remove worker_rlimit_nofile, or listen on fewer ports"},
		"just enough of those": {connections(1024), instanceapi.Usage{Sockets: 3, Open: 12, MaxOpen: 20}, ""},
	} {
		var want []instanceapi.Problem
		if tt.want != "" {
			want = []instanceapi.Problem{{Message: tt.want}}
		}
		tt.used.Threads = 1
		if diff := cmp.Diff(want, Check(tt.demand, tt.used, small)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
