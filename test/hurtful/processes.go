package hurtful

import "fmt"

// processes are more processes and threads than the container has memory for.
func processes() []Case {
	f := family{Processes, Foreseeable, OutOfMemory, []string{"memory", "processes", "threads"}}
	var all []entry
	for _, n := range []int{200, 300, 400, 1000, 2000, 3000} {
		all = append(all, entry{name: fmt.Sprintf("worker-processes-%d", n), hurts: "each worker needs a megabyte or two", site: site{main: fmt.Sprintf("worker_processes %d;", n)}})
	}
	pool := func(n int) string { return fmt.Sprintf("thread_pool default threads=%d;", n) }
	for _, n := range []int{3000, 5000, 20_000, 100_000} {
		all = append(all, entry{name: fmt.Sprintf("threads-%d", n), hurts: "each thread of each worker needs a stack", site: site{main: pool(n)}})
	}
	pools := func(pools, threads int) string {
		return repeat(pools, func(i int) string { return fmt.Sprintf("thread_pool p%d threads=%d;\n", i, threads) })
	}
	all = append(all,
		entry{name: "threads-20000-used", hurts: "each thread of each worker needs a stack", site: site{main: pool(20_000), http: "aio threads;"}},
		entry{name: "thread-pools-50-of-100", hurts: "the threads of all pools, also of the unused ones", site: site{main: pools(50, 100)}},
		entry{name: "thread-pools-8-of-500", hurts: "the threads of all pools, also of the unused ones", site: site{main: pools(8, 500)}},
		entry{name: "workers-20-with-200-threads", hurts: "workers times threads", site: site{main: "worker_processes 20;\n" + pool(200)}},
		entry{name: "workers-64-with-64-threads", hurts: "workers times threads, at sizes that look common", site: site{main: "worker_processes 64;\n" + pool(64), http: "aio threads;"}},
	)
	return f.cases(all...)
}
