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
		switch worker, exiting := f.role(p); {
		case exiting:
			w.Exiting = append(w.Exiting, p.PID)
		case worker:
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

// RunningWorkers returns those of the processes that are running workers of a master process. It reads only these.
func (f FS) RunningWorkers(master int, pids []int) []int {
	var running []int
	for _, pid := range pids {
		p, ok := f.Process(pid)
		if worker, exiting := f.role(p); ok && p.Parent == master && worker && !exiting {
			running = append(running, pid)
		}
	}
	return running
}

// role reports whether a process is a worker, and whether that is exiting.
func (f FS) role(p Process) (worker, exiting bool) {
	if p.Zombie {
		return false, false
	}
	// The title begins with the name of the program: Angie's is angie.
	_, title, _ := strings.Cut(f.Title(p.PID), ": ")
	return strings.HasPrefix(title, "worker process"), strings.HasPrefix(title, "worker process is shutting down")
}
