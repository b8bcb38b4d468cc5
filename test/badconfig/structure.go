package badconfig

import "fmt"

func structure() []sort {
	return []sort{
		{"wrong-context", wrongContexts()},
		{"number-of-arguments", argumentCounts()},
		{"duplicate-directive", duplicateDirectives()},
		{"no-events", noEvents()},
	}
}

func wrongContexts() []Case {
	misplaced := func(name, rest string) fault {
		return fault{mark + name + rest, fmt.Sprintf("%q directive is not allowed here", name)}
	}
	var cases []Case
	cases = append(cases, each(inServer, misplaced("server", " {\n    }"), misplaced("upstream", " a {\n    }"), misplaced("events", " {\n    }"),
		misplaced("log_format", " a b;"), misplaced("map", " $a $b {\n    }"), misplaced("limit_req_zone", " $uri zone=a:1m rate=1r/s;"))...)
	cases = append(cases, each(inLocation, misplaced("listen", " 8081;"), misplaced("server_name", " a.test;"))...)
	cases = append(cases, each(inHTTP, misplaced("location", " / {\n}"), misplaced("proxy_pass", " http://127.0.0.1;"), misplaced("return", " 204;"),
		misplaced("listen", " 8081;"), misplaced("http", " {\n}"), misplaced("worker_connections", " 1024;"), misplaced("load_module", " a.so;"))...)
	cases = append(cases, each(inStream, misplaced("location", " / {\n}"), misplaced("gzip", " on;"))...)
	cases = append(cases, each(inMain, misplaced("gzip", " on;"), misplaced("listen", " 8081;"))...)
	return append(cases, each(inEvents, misplaced("gzip", " on;"))...)
}

func argumentCounts() []Case {
	count := func(name, arguments string) fault {
		return fault{mark + name + arguments + ";", fmt.Sprintf("invalid number of arguments in %q directive", name)}
	}
	var cases []Case
	cases = append(cases, each(inServer, count("root", ""), count("root", " /a /b"), count("listen", ""), count("server_tokens", " on off"))...)
	cases = append(cases, each(inLocation, count("proxy_pass", ""), count("rewrite", " ^/a$"), count("proxy_set_header", " Host"), count("return", ""))...)
	cases = append(cases, each(inHTTP, count("gzip", ""), count("log_format", " a"), count("limit_req_zone", " $uri"))...)
	return append(cases, found(inHTTP(1, mark+"upstream {\n    server 127.0.0.1:1;\n}"), `invalid number of arguments in "upstream" directive`))
}

func duplicateDirectives() []Case {
	twice := func(name, argument string) fault {
		return fault{name + " " + argument + ";\n    " + mark + name + " " + argument + ";", fmt.Sprintf("%q directive is duplicate", name)}
	}
	var cases []Case
	cases = append(cases, each(inServer, twice("root", "/srv"), twice("client_max_body_size", "1m"), twice("charset", "utf-8"), twice("send_timeout", "10"))...)
	cases = append(cases, each(inLocation, twice("proxy_pass", "http://127.0.0.1"), twice("proxy_read_timeout", "10"), twice("alias", "/srv/"), twice("expires", "1h"),
		fault{"alias /a/;\n        " + mark + "root /b;", `"root" directive is duplicate, "alias" directive was specified earlier`})...)
	return append(cases, each(inHTTP, twice("gzip", "on"), twice("server_names_hash_max_size", "1024"), twice("map_hash_max_size", "1024"))...)
}

// noEvents are complete configurations without the section that nginx requires.
func noEvents() []Case {
	var cases []Case
	for i, text := range []string{
		"http {\n" + healthy + "}", "", "# nothing\n", "worker_processes 1;", "http {\n}", "error_log stderr;\nhttp {\n" + healthy + "}",
		"worker_rlimit_nofile 1024;\nhttp {\n" + healthy + "}", "env A;\nhttp {\n" + healthy + "}",
		"http {\n" + healthy + "}\n# events {}", "\n\n\n",
	} {
		cases = append(cases, found(whole(i, text), `no "events" section in configuration`))
	}
	return cases
}
