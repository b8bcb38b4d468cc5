package hurtful

import "fmt"

// logs write so much that they fill the container's log, or overwhelm what reads it.
func logs() []Case {
	f := family{Logs, InAnswers, Floods, []string{"log"}}
	copies := repeat(100, func(int) string { return "access_log /dev/stdout combined;\n" })
	return f.cases(
		entry{name: "error-log-debug", hurts: "a hundred lines for each request", site: site{main: "error_log stderr debug;"}},
		entry{name: "error-log-debug-of-http", hurts: "a hundred lines for each request", site: site{http: "error_log stderr debug;"}},
		entry{name: "error-log-debug-of-events", hurts: "a hundred lines for each request", site: site{server: "error_log /dev/stderr debug_http;\nerror_log /dev/stderr debug;"}},
		entry{name: "debug-connection-of-all", hurts: "a hundred lines for each request", site: site{main: "error_log stderr;", events: "debug_connection 0.0.0.0/0;\ndebug_connection unix:;"}},
		entry{name: "access-log-100-times", hurts: "a hundred lines for each request", site: site{server: copies}},
		entry{name: "access-log-with-bodies", hurts: "the body of each request, a hundred times", site: site{
			http: fmt.Sprintf("log_format bodies %q;", repeat(100, func(int) string { return "$request_body $http_user_agent $request " })), in: "access_log /dev/stdout bodies;"}},
		entry{name: "access-log-long-format", hurts: "kilobytes for each request", site: site{
			http: "log_format long" + repeat(300, func(int) string { return " '$remote_addr $time_iso8601 $request_id '" }) + ";", server: "access_log /dev/stdout long;"}},
		entry{name: "rewrite-log", hurts: "the steps of each rewrite", site: site{server: "rewrite_log on;\nerror_log stderr notice;\n" + repeat(100, func(i int) string { return fmt.Sprintf("rewrite ^/n%d$ /m;\n", i) })}},
	)
}
