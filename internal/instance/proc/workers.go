package proc

import "strings"

// Workers describes the processes of an nginx.
type Workers struct {
	// Running accept connections; Exiting finish the ones that they have.
	Running, Exiting []int
	// Ticks and Pages are the sums over all processes of nginx, including the master process.
	Ticks, Pages int64
	// Processes is the number of processes of nginx, including the cache manager and the master
	// process.
	Processes int
}

// Workers reads the children of nginx's master process.
func (f FS) Workers(master int) Workers {
	var w Workers
	all := f.Children(master)
	for _, p := range all {
		title := f.Title(p.PID)
		switch {
		case p.Zombie:
		case strings.HasPrefix(title, "nginx: worker process is shutting down"):
			w.Exiting = append(w.Exiting, p.PID)
		case strings.HasPrefix(title, "nginx: worker process"):
			w.Running = append(w.Running, p.PID)
		}
	}
	if p, ok := f.Process(master); ok {
		all = append(all, p)
	}
	for _, p := range all {
		w.Ticks += p.Ticks
		w.Pages += p.Pages
		w.Processes++
	}
	return w
}
