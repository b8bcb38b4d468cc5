package hurtful

import "fmt"

// Nowhere is in an address range for documentation: packets to it get no answer.
const Nowhere = "192.0.2.1"

// hangs are parts of messages about configurations whose requests hang. Where packets to Nowhere are refused, the answers
// are errors.
var hangs = []string{"not answered in time", "4xx or 5xx", "did not result in a request"}

// Hanging returns 25 configurations that nginx loads and whose requests hang: clients get no answer, or much later than
// before. They are not part of All.
func Hanging() []Case {
	f := family{Hangs, InAnswers, Slow, hangs}
	return f.cases(append(append(waiting(), held()...), unanswered()...)...)
}

// waiting configurations make nginx itself wait.
func waiting() []entry {
	return []entry{
		{name: "hanging-resolver", hurts: "a name server that does not answer", site: site{server: "resolver 192.0.2.53 ipv6=off;\nresolver_timeout 30s;", in: "set $backend app.invalid;", pass: "proxy_pass http://$backend;"}},
		{name: "hanging-limit-rate", hurts: "a byte a second", site: site{server: "limit_rate 1;"}},
		{name: "hanging-limit-req", hurts: "requests wait for those before them", site: site{http: "limit_req_zone $server_port zone=all:1m rate=1r/s;", server: "limit_req zone=all burst=1000;"}},
		{name: "hanging-auth-delay", hurts: "a request without credentials waits", site: hold(site{}, "1m", true)},
		{name: "hanging-resolvers", hurts: "five name servers that do not answer", site: site{server: "resolver 192.0.2.53 192.0.2.54 192.0.2.55 192.0.2.56 192.0.2.57;", in: "set $backend app.invalid;", pass: "proxy_pass http://$backend;"}},
		{name: "hanging-limit-rate-variable", hurts: "five bytes a second", site: site{server: "set $limit_rate 5;"}},
		{name: "hanging-timer-resolution", hurts: "what waits for a timer waits for an hour", site: site{main: "timer_resolution 1h;", http: "limit_req_zone $server_port zone=all:1m rate=1r/s;", server: "limit_req zone=all burst=10000;"}},
		{name: "hanging-cache-lock", hurts: "requests wait for the one that fills the cache", site: site{http: "proxy_cache_path /tmp/locked keys_zone=locked:1m;",
			in: "proxy_cache locked;\nproxy_cache_key all;\nproxy_cache_lock on;\nproxy_cache_lock_timeout 1h;\nproxy_cache_lock_age 1h;", backend: "location / {\n    limit_rate 1;\n    return 200 \"served $request_method\\n\";\n}"}},
	}
}

// silent is a stream server that accepts connections on port 8084 and never answers.
const silent = "server {\n    listen 127.0.0.1:8084;\n    proxy_connect_timeout 1h;\n    proxy_pass " + Nowhere + ":81;\n}"

// held configurations wait for a server that accepts connections and does not answer.
func held() []entry {
	const hurts = "a server that accepts connections and does not answer"
	to := func(pass string) site { return site{stream: silent, pass: pass} }
	return []entry{
		{name: "hanging-proxy-to-silent", hurts: hurts, site: to("proxy_pass http://127.0.0.1:8084;")},
		{name: "hanging-tls-to-silent", hurts: hurts, site: to("proxy_pass https://127.0.0.1:8084;")},
		{name: "hanging-fastcgi-to-silent", hurts: hurts, site: to("fastcgi_pass 127.0.0.1:8084;")},
		{name: "hanging-uwsgi-to-silent", hurts: hurts, site: to("uwsgi_pass 127.0.0.1:8084;")},
		{name: "hanging-scgi-to-silent", hurts: hurts, site: to("scgi_pass 127.0.0.1:8084;")},
		{name: "hanging-grpc-to-silent", hurts: hurts, site: to("grpc_pass grpc://127.0.0.1:8084;")},
		{name: "hanging-memcached-to-silent", hurts: hurts, site: to("set $memcached_key all;\nmemcached_pass 127.0.0.1:8084;")},
		{name: "hanging-auth-request", hurts: "access is asked of " + hurts, site: site{stream: silent, server: "auth_request /auth;\nlocation = /auth {\n    internal;\n    proxy_pass http://127.0.0.1:8084;\n}"}},
		{name: "hanging-ssi-include", hurts: "a page includes one of " + hurts, site: site{stream: silent, in: "ssi on;\nssi_types *;", server: "location = /silent {\n    proxy_pass http://127.0.0.1:8084;\n}",
			backend: "default_type text/html;\nreturn 200 '<!--# include virtual=\"/silent\" -->';"}},
		{name: "hanging-held-backend", hurts: "a backend that holds requests without credentials", site: hold(site{}, "1h", false)},
		{name: "hanging-body-of-nothing", hurts: "the backend waits for a body that is never sent", site: site{in: "proxy_set_header Content-Length 99999;", backend: "location / {\n    proxy_pass http://127.0.0.1:8083;\n}\n}\nserver {\n    listen 127.0.0.1:8083;\n    return 200 \"served $request_method\\n\";"}},
		{name: "hanging-unbuffered", hurts: "the backend sends a byte a second", site: site{in: "proxy_buffering off;", backend: "limit_rate 1;\nreturn 200 \"served $request_method\\n\";"}},
	}
}

// hold delays requests without credentials, in front or in the backend.
func hold(s site, delay string, front bool) site {
	text := fmt.Sprintf("auth_basic all;\nauth_basic_user_file users;\nauth_delay %s;", delay)
	s.more = map[string]string{"users": "nobody:*\n"}
	if front {
		s.server = text
		return s
	}
	s.backend = "location / {\n    " + text + "\n    root /nowhere;\n}"
	return s
}

// unanswered configurations connect to addresses that do not answer.
func unanswered() []entry {
	upstream := "upstream app {\n" + repeat(8, func(i int) string { return fmt.Sprintf("    server 192.0.2.%d:81 max_fails=0;\n", i+1) }) + "    server 127.0.0.1:8081 backup;\n}"
	return []entry{
		{name: "hanging-proxy-to-nowhere", hurts: "an address that does not answer", site: site{pass: "proxy_pass http://" + Nowhere + ":81;"}},
		{name: "hanging-connect-timeout", hurts: "an address that does not answer, for an hour", site: site{in: "proxy_connect_timeout 1h;", pass: "proxy_pass http://" + Nowhere + ":81;"}},
		{name: "hanging-dead-servers", hurts: "eight dead servers are tried before the backup", site: site{http: upstream, in: "proxy_connect_timeout 3s;\nproxy_next_upstream error timeout non_idempotent;", pass: "proxy_pass http://app;"}},
		{name: "hanging-stream-to-nowhere", hurts: "a stream proxy to an address that does not answer", site: site{listen: "listen 8082;", stream: "server {\n    listen 8080;\n    proxy_pass " + Nowhere + ":81;\n}"}},
		{name: "hanging-proxy-to-proxy", hurts: "a server that passes requests to another one, which waits", site: site{pass: "proxy_pass http://127.0.0.1:8082;", http: "server {\n    listen 127.0.0.1:8082;\n    location / {\n        proxy_pass http://" + Nowhere + ":81;\n    }\n}"}},
	}
}
