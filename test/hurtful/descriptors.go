package hurtful

import (
	"fmt"
)

// descriptors are limits that leave nginx too few connections or files for its clients.
func descriptors() []Case {
	f := family{Descriptors, Foreseeable, Fails, []string{"worker_connections", "worker_rlimit_nofile", "descriptors", "open files"}}
	limit := func(n int) site { return site{main: fmt.Sprintf("worker_rlimit_nofile %d;", n)} }
	connections := func(n int) site {
		return site{main: "worker_processes 1;", events: fmt.Sprintf("worker_connections %d;", n)}
	}
	const full, files, listens = "no connection is left for a client", "no descriptor is left for a client", "each listening socket takes a connection of each worker"
	all := []entry{
		{name: "worker-connections-4", hurts: full, site: connections(4)},
		{name: "worker-connections-5", hurts: full, site: connections(5)},
		{name: "worker-connections-6", hurts: full, site: connections(6)},
		{name: "worker-connections-7", hurts: full, site: connections(7)},
		{name: "worker-connections-8", hurts: full, site: connections(8)},
		{name: "worker-connections-9", hurts: full, site: connections(9)},
		{name: "worker-connections-10", hurts: full, site: connections(10)},
		{name: "worker-connections-12", hurts: full, site: connections(12), detection: InAnswers},
	}
	for _, n := range []int{10, 11, 12, 13, 14} {
		all = append(all, entry{name: fmt.Sprintf("worker-rlimit-nofile-%d", n), hurts: files, site: limit(n)})
	}
	for _, n := range []int{15, 16, 18} {
		all = append(all, entry{name: fmt.Sprintf("worker-rlimit-nofile-%d", n), hurts: files, site: limit(n), detection: InAnswers})
	}
	leaking := "open_log_file_cache max=100000 inactive=1h valid=1h;\naccess_log /tmp/$request_id.log;"
	all = append(all,
		entry{name: "listen-1018-ports", hurts: listens, site: site{server: "listen 10000-11017;", events: "worker_connections 1024;"}},
		entry{name: "listen-1020-ports", hurts: listens, site: site{server: "listen 10000-11019;", events: "worker_connections 1024;"}},
		entry{name: "listen-508-ports-of-512", hurts: listens, site: site{server: "listen 10000-10507;", events: "worker_connections 512;"}},
		entry{name: "listen-500-ports-with-few-files", hurts: "each listening socket takes a descriptor", site: site{main: "worker_rlimit_nofile 512;", server: "listen 10000-10499;"}},
		entry{name: "stream-listen-1018-ports", hurts: listens, site: site{stream: "server {\n    listen 10000-11017;\n    return ok;\n}", events: "worker_connections 1024;"}},
		entry{name: "stream-listen-1018-udp-ports", hurts: listens, site: site{stream: "server {\n    listen 10000-11017 udp;\n    return ok;\n}", events: "worker_connections 1024;"}},
		entry{name: "a-log-for-each-request", hurts: "a descriptor for each request that was ever made", site: site{main: "worker_rlimit_nofile 64;", http: leaking}, detection: InAnswers},
		entry{name: "mirror-to-itself", hurts: "each request makes another, without end", site: site{
			in: "mirror /mirror;", server: "location = /mirror {\n    internal;\n    proxy_pass http://127.0.0.1:8080/;\n}"}, detection: InAnswers, effect: Floods},
		entry{name: "two-mirrors-to-itself", hurts: "each request makes two others, without end", site: site{
			in: "mirror /mirror;\nmirror /mirror;", server: "location = /mirror {\n    internal;\n    proxy_pass http://127.0.0.1:8080/;\n}"}, detection: InAnswers},
		entry{name: "auth-request-to-itself", hurts: "each request makes another, without end", site: site{
			in: "auth_request /auth;", server: "location = /auth {\n    internal;\n    proxy_pass http://127.0.0.1:8080/;\n    proxy_pass_request_body off;\n    proxy_set_header Content-Length \"\";\n}"}, detection: InAnswers},
		entry{name: "stream-to-itself", hurts: "each connection makes another, without end", site: site{listen: "listen 8082;",
			stream: "server {\n    listen 8080;\n    proxy_pass 127.0.0.1:8080;\n}"}, detection: InAnswers},
	)
	return f.cases(all...)
}
