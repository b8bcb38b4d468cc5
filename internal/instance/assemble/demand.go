package assemble

import (
	"strconv"
	"strings"

	"example.com/nginx-operator/internal/instance/syntax"
)

// Demand is what the configuration makes nginx start and reserve, derived from its directives.
type Demand struct {
	// Workers is the number of worker processes, or 0 if it is unknown.
	Workers int
	// Connections is worker_connections. Threads is the number of threads in all thread pools of one worker.
	Connections, Threads int
	// File and Line locate the directive that a problem names: worker_processes if it is more than
	// the automatic number, else the last thread_pool, else worker_connections. They are empty if
	// the user's files have none of these.
	File string
	Line int
	// Directive is the directive at File and Line.
	Directive string
}

// Defaults of nginx.
const (
	nginxConnections = 512
	defaultThreads   = 32
)

// addedConnections is worker_connections of the events block that is added if the user has none. A request that passes a
// cache takes up to six: those of the client, of a shard or an origin, and of nginx to itself.
func (s Settings) addedConnections() int {
	if s.CacheMetrics {
		return 8192
	}
	return 1024
}

// resourceDemand adds up the directives that cost memory and processes in each worker.
func (f *findings) resourceDemand(settings Settings, whole bool) Demand {
	d := Demand{Workers: f.workers(settings.Workers), Connections: nginxConnections}
	if !whole && !f.main.has("events") {
		d.Connections = settings.addedConnections()
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
	if visits := f.main["worker_processes"]; len(visits) > 0 && d.Workers > settings.Workers {
		d.at(&visits[len(visits)-1])
	}
	return d
}

func (d *Demand) at(v *syntax.Visit) {
	d.File, d.Line, d.Directive = v.File, v.Line, strings.Join(append([]string{v.Name}, v.Args...), " ")
}

// number returns the argument of a directive that takes one number.
func number(v *syntax.Visit) (int, bool) {
	if v == nil || len(v.Args) != 1 {
		return 0, false
	}
	n, err := strconv.Atoi(v.Args[0])
	return n, err == nil
}

// atoi returns 0 for text that is not a number, because nginx refuses such a directive itself.
func atoi(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}
