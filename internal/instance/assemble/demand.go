package assemble

import (
	"strconv"
	"strings"

	"example.com/nginx-operator/internal/instance/syntax"
)

// Demand is what the configuration makes nginx start and reserve, as far as its
// directives say.
type Demand struct {
	// Workers is the number of worker processes; 0: unknown.
	Workers int
	// Connections is worker_connections, and Threads the threads of all pools, of each worker.
	Connections, Threads int
	// File and Line are where the number of workers is set, or else the largest other demand;
	// empty and 0: nowhere in the user's files.
	File string
	Line int
	// Directive is the one at File and Line.
	Directive string
}

// Defaults of nginx, and of the events block that is added where there is none.
const (
	nginxConnections = 512
	addedConnections = 1024
	defaultThreads   = 32
)

// demand sums up the directives that cost memory and processes in each worker.
func (f *findings) demand(automatic int, whole bool) Demand {
	d := Demand{Workers: f.workers(automatic), Connections: nginxConnections}
	if !whole && !f.main.has("events") {
		d.Connections = addedConnections
	}
	if n, ok := number(f.connections); ok {
		d.Connections = n
		d.at(f.connections)
	}
	for _, v := range f.main["thread_pool"] {
		n := defaultThreads
		for _, arg := range v.Args {
			if value, found := strings.CutPrefix(arg, "threads="); found {
				n = atoi(value)
			}
		}
		d.Threads += n
		d.at(&v)
	}
	if visits := f.main["worker_processes"]; len(visits) > 0 && d.Workers > automatic {
		d.at(&visits[len(visits)-1])
	}
	return d
}

func (d *Demand) at(v *syntax.Visit) {
	d.File, d.Line, d.Directive = v.File, v.Line, strings.Join(append([]string{v.Name}, v.Args...), " ")
}

// number is the argument of a directive that takes one.
func number(v *syntax.Visit) (int, bool) {
	if v == nil || len(v.Args) != 1 {
		return 0, false
	}
	n, err := strconv.Atoi(v.Args[0])
	return n, err == nil
}

// atoi is 0 for what is no number: nginx refuses that itself.
func atoi(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}
