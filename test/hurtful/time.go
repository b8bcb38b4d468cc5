package hurtful

import (
	"fmt"
	"strings"
)

// slow returns configurations whose responses take seconds, or most of a processor.
func slow() []Case {
	f := family{Time, InAnswers, Fails, []string{"answer", "request"}}
	timeouts := f.cases(
		entry{name: "client-header-timeout-1ms", hurts: "a client has no time to send a request", site: site{server: "client_header_timeout 1ms;"}},
		entry{name: "client-header-timeout-0", hurts: "a client has no time to send a request", site: site{server: "client_header_timeout 0;"}},
		entry{name: "proxy-read-timeout-1ms", hurts: "the backend has no time to answer", site: site{in: "proxy_read_timeout 1ms;", backend: "limit_rate 1;\nreturn 200 \"served $request_method\\n\";"}},
		entry{name: "proxy-read-timeout-0", hurts: "the backend has no time to answer", site: site{in: "proxy_read_timeout 0;"}},
		entry{name: "proxy-connect-timeout-0", hurts: "the backend has no time to accept", site: site{in: "proxy_connect_timeout 0;"}},
		entry{name: "limit-rate-1", hurts: "a byte a second", site: site{server: "limit_rate 1;"}},
		entry{name: "limit-rate-10", hurts: "ten bytes a second", site: site{server: "limit_rate 10;"}},
		entry{name: "limit-rate-by-variable", hurts: "ten bytes a second", site: site{server: "set $limit_rate 10;"}},
		entry{name: "limit-req-1r-m-delayed", hurts: "a request waits for a minute", site: site{http: "limit_req_zone $server_port zone=all:1m rate=1r/m;", server: "limit_req zone=all burst=1000;"}},
		entry{name: "limit-req-10r-s-delayed", hurts: "a request waits for those before it", site: site{http: "limit_req_zone $server_port zone=all:1m rate=1r/s;", server: "limit_req zone=all burst=10000;"}},
		entry{name: "timer-resolution-1h", hurts: "what waits for a timer waits for an hour", site: site{main: "timer_resolution 1h;", http: "limit_req_zone $server_port zone=all:1m rate=20r/s;", server: "limit_req zone=all burst=10000;"}},
		entry{name: "timer-resolution-10m", hurts: "timeouts come ten minutes late", site: site{main: "timer_resolution 10m;", server: "limit_rate 100;"}},
		entry{name: "auth-delay-1h", hurts: "a request without credentials waits for an hour", site: site{server: "auth_basic all;\nauth_basic_user_file users;\nauth_delay 1h;", more: map[string]string{"users": "nobody:*\n"}}},
		entry{name: "resolver-dead-1h", hurts: "a request waits for a name server that does not answer", site: site{server: "resolver 192.0.2.53;\nresolver_timeout 1h;", in: "set $backend backend.example;", pass: "proxy_pass http://$backend:8081;"}},
		entry{name: "proxy-cache-lock", hurts: "requests for what cannot be cached wait for each other", site: site{http: "proxy_cache_path /tmp/locked keys_zone=locked:1m;",
			in: "proxy_cache locked;\nproxy_cache_key all;\nproxy_cache_lock on;\nproxy_cache_lock_timeout 1h;\nproxy_cache_lock_age 1h;", backend: "location / {\n    limit_rate 40;\n    return 200 \"served $request_method\\n\";\n}"}},
		entry{name: "backend-length-of-nothing", hurts: "the backend waits for a body that is never sent", site: site{in: "proxy_set_header Content-Length 99999;", backend: "location / {\n    proxy_pass http://127.0.0.1:8083;\n}\n}\nserver {\n    listen 127.0.0.1:8083;\n    return 200 \"served $request_method\\n\";"}},
		entry{name: "lingering-forever", hurts: "a connection stays when the client wants its end", site: site{server: "lingering_close always;\nlingering_time 1h;\nlingering_timeout 1h;", events: "worker_connections 32;", in: "client_max_body_size 10;"}},
	)
	f.effect = Slow
	return append(append(timeouts, f.cases(expensive()...)...), slowToLoad()...)
}

// expensive configurations use a processor for each request.
func expensive() []entry {
	const hurts = "an expression that goes back and forth over what does not match"
	long := strings.Repeat("a", 40) + "!"
	const pattern = "^(a+)+$"
	condition := func(text string) site {
		return site{server: fmt.Sprintf("set $text %q;\n", text) + fmt.Sprintf("if ($text ~ \"%s\") {\n    return 403;\n}", pattern)}
	}
	mapped := func(number int) site {
		return site{http: repeat(number, func(i int) string {
			return fmt.Sprintf("map \"${uri}%s%d!\" $slow%d {\n    default 0;\n    \"~^/(a+)+$\" 1;\n}\n", strings.Repeat("a", 40), i, i)
		}), server: repeat(number, func(i int) string { return fmt.Sprintf("if ($slow%d) {\n    return 403;\n}\n", i) })}
	}
	bytes := site{http: "sendfile off;\noutput_buffers 1 1;", in: "postpone_output 0;",
		server: "location = /large {\n    alias /usr/sbin/nginx;\n}", pass: "proxy_pass http://127.0.0.1:8081/;",
		backend: "location / {\n    mirror /copy;\n    mirror_request_body off;\n    proxy_pass http://127.0.0.1:8083;\n}\nlocation = /copy {\n    internal;\n    proxy_pass http://127.0.0.1:8080/large;\n    proxy_method GET;\n}\n}\nserver {\n    listen 127.0.0.1:8083;\n    return 200 \"served $request_method\\n\";"}
	compressed := site{http: "gzip on;\ngzip_comp_level 9;\ngzip_types *;\ngzip_proxied any;\ngzip_min_length 0;",
		server:  "location = /large {\n    alias /usr/sbin/nginx;\n}",
		backend: "location / {\n    mirror /copy;\n    mirror_request_body off;\n    proxy_pass http://127.0.0.1:8083;\n}\nlocation = /copy {\n    internal;\n    proxy_pass http://127.0.0.1:8080/large;\n    proxy_method GET;\n    proxy_set_header Accept-Encoding gzip;\n    proxy_http_version 1.1;\n}\n}\nserver {\n    listen 127.0.0.1:8083;\n    return 200 \"served $request_method\\n\";"}
	return []entry{
		{name: "regex-backtracking-if", hurts: hurts, site: condition(long)},
		{name: "regex-backtracking-if-interpreted", hurts: hurts, site: func() site { s := condition(long); s.main = "pcre_jit off;"; return s }()},
		{name: "regex-backtracking-if-jit", hurts: hurts, site: func() site { s := condition(long); s.main = "pcre_jit on;"; return s }()},
		{name: "regex-backtracking-map", hurts: hurts, site: mapped(1)},
		{name: "regex-backtracking-maps", hurts: hurts, site: mapped(3)},
		{name: "regex-backtracking-rewrite", hurts: hurts, site: site{in: "rewrite ^ /" + long + ";\nrewrite ^/(a+)+$ /never;\nrewrite ^ / break;"}},
		{name: "output-buffers-of-a-byte", hurts: "a system call for each byte of a file", site: bytes},
		{name: "gzip-level-9-of-a-program", hurts: "a megabyte is compressed for each request", site: compressed},
		{name: "ssi-recursion", hurts: "a page that includes itself", site: site{in: "ssi on;\nssi_types *;", backend: "default_type text/html;\nreturn 200 '<!--# include virtual=\"/a\" --><!--# include virtual=\"/b\" -->';"}, effect: Fails},
		{name: "sub-filter-everything", hurts: "each byte is replaced by many", site: site{in: "sub_filter e " + strings.Repeat("eeeeeeeeee", 100) + ";\nsub_filter_once off;\nsub_filter_types *;"}, effect: Fails},
		{name: "upstream-dead-first", hurts: "a server that does not answer is tried first", site: site{http: "upstream app {\n    server 127.0.0.1:8084 max_fails=0;\n    server 127.0.0.1:8081 backup;\n}\nserver {\n    listen 127.0.0.1:8084;\n    limit_rate 1;\n    return 200 no;\n}", pass: "proxy_pass http://app;", in: "proxy_read_timeout 3s;"}, effect: Fails},
	}
}

// slowToLoad keep the master process busy before it starts the workers.
func slowToLoad() []Case {
	f := family{Time, Foreseeable, SlowLoad, []string{"test", "time"}}
	return f.cases(
		entry{name: "upstream-hash-of-100-servers", hurts: "the points of the ring are sorted", site: site{http: "upstream app {\n    hash $uri consistent;\n" + repeat(100, func(i int) string {
			return fmt.Sprintf("    server 127.0.1.%d:8081 weight=100;\n", i+1)
		}) + "}"}},
	)
}
