package hurtful

// deadWorkers do not start, or start and never handle their connections.
func deadWorkers() []Case {
	f := family{DeadWorkers, Foreseeable, WorkersDie, []string{"worker"}}
	const files, allocation, folder = "a worker cannot open what it needs", "a worker cannot allocate what it needs", "a worker may not enter its folder"
	return f.cases(
		entry{name: "worker-processes-0", hurts: "there is no worker", site: site{main: "worker_processes 0;"}},
		entry{name: "worker-processes-00", hurts: "there is no worker", site: site{main: "worker_processes 00;"}},
		entry{name: "worker-rlimit-nofile-1", hurts: files, site: site{main: "worker_rlimit_nofile 1;"}},
		entry{name: "worker-rlimit-nofile-4", hurts: files, site: site{main: "worker_rlimit_nofile 4;"}},
		entry{name: "worker-rlimit-nofile-8", hurts: files, site: site{main: "worker_rlimit_nofile 8;"}},
		entry{name: "epoll-events-200000000", hurts: "epoll_wait takes no more than 178,956,970: a worker repeats the call forever", site: site{events: "epoll_events 200000000;"}},
		entry{name: "epoll-events-2000000000", hurts: allocation, site: site{events: "epoll_events 20000000000;"}},
		entry{name: "worker-connections-1000000000", hurts: allocation, site: site{events: "worker_connections 1000000000;"}},
		entry{name: "threads-1000000", hurts: "a worker cannot start its threads", site: site{main: "thread_pool default threads=1000000;"}},
		entry{name: "working-directory-of-root", hurts: folder, site: site{main: "working_directory /root;"}},
		entry{name: "working-directory-of-a-process", hurts: folder, site: site{main: "working_directory /proc/1/fdinfo/none;"}},
		entry{name: "working-directory-a-device", hurts: folder, site: site{main: "working_directory /dev/null;"}},
		entry{name: "worker-rlimit-nofile-and-ports", hurts: files, site: site{main: "worker_rlimit_nofile 100;", server: "listen 10000-10099;"}},
		entry{name: "workers-without-room-for-ports", hurts: files, site: site{main: "worker_rlimit_nofile 9;", events: "worker_connections 8;"}},
	)
}
