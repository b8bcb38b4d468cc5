package badconfig

import "fmt"

func names() []sort {
	return []sort{
		{"unresolvable-upstream", unresolvable()},
		{"invalid-upstream", invalidUpstreams()},
		{"duplicate-upstream", duplicateUpstreams()},
		{"proxy-pass-url", proxyPassURLs()},
		{"unknown-variable", unknownVariables()},
		{"log-format", logFormats()},
	}
}

// unresolvable names end in .invalid, which no resolver may resolve.
func unresolvable() []Case {
	var cases []Case
	for i, directive := range []string{"proxy_pass http", "proxy_pass https", "fastcgi_pass", "uwsgi_pass", "scgi_pass", "memcached_pass", "grpc_pass grpc"} {
		target := fmt.Sprintf("backend-%d.invalid", i)
		text := fmt.Sprintf("%s%s://%s;", mark, directive, target)
		switch {
		case i == 6:
			text = fmt.Sprintf("%s%s://%s:50051;", mark, directive, target)
		case i >= 2:
			text = fmt.Sprintf("%s%s %s:9000;", mark, directive, target)
		}
		cases = append(cases, found(inLocation(i, text), "host not found in upstream \""+target))
	}
	for i, name := range []string{"app.invalid:8080", "a.b.c.d.invalid", "app.invalid:80 max_fails=2"} {
		cases = append(cases, found(inHTTP(i, "upstream app {\n    server 127.0.0.1:1;\n    "+mark+"server "+name+";\n}"), "host not found in upstream"))
	}
	return append(cases, found(inStream(2, "server {\n    listen 9000;\n    "+mark+"proxy_pass db.invalid:5432;\n}"), "host not found in upstream"))
}

func invalidUpstreams() []Case {
	var cases []Case
	for i, f := range []fault{
		{"upstream app {\n" + mark + "}", "no servers are inside upstream"},
		{"upstream app {\n    " + mark + "server 127.0.0.1:99999;\n}", "invalid port in upstream"},
		{"upstream app {\n    " + mark + "server http://127.0.0.1;\n}", "in upstream \"http://127.0.0.1\""},
		{"upstream app {\n    " + mark + "server 127.0.0.1/a;\n}", "in upstream \"127.0.0.1/a\""},
		{"upstream app {\n    " + mark + "server;\n}", "invalid number of arguments"},
		{"upstream app {\n    " + mark + "balance;\n    server 127.0.0.1:1;\n}", `unknown directive "balance"`},
		{"upstream app {\n    " + mark + "server 127.0.0.1:1 max_fails=x;\n}", `invalid parameter "max_fails=x"`},
		{"upstream app {\n    server 127.0.0.1:1;\n    " + mark + "keepalive none;\n}", `invalid value "none" in "keepalive" directive`},
		{"upstream app {\n    server 127.0.0.1:1;\n    " + mark + "zone;\n}", "invalid number of arguments"},
		{"upstream app {\n    server 127.0.0.1:1;\n    " + mark + "zone app 1k;\n}", "is too small"},
	} {
		cases = append(cases, found(inHTTP(i, f.text), f.message))
	}
	return append(cases, found(inHTTP(0, "upstream app {\n    server 127.0.0.1:1;\n}\nserver {\n    listen 8081;\n    location / {\n        "+mark+"proxy_pass http://app:81;\n    }\n}"), `upstream "app" may not have port 81`))
}

func duplicateUpstreams() []Case {
	upstream := func(name string) string { return "upstream " + name + " {\n    server 127.0.0.1:1;\n}\n" }
	const message = "duplicate upstream"
	var cases []Case
	for i, name := range []string{"app", "backend", "a.test", "app_v2", "App"} {
		cases = append(cases, found(map[string]string{"site.conf": padding(i) + healthy + upstream(name) + mark + upstream(name)}, message))
		cases = append(cases, found(map[string]string{"a.conf": upstream(name) + healthy, "b.conf": padding(i) + mark + upstream(name)}, message))
	}
	return append(cases, found(inStream(0, upstream("app")+mark+upstream("app")), message))
}

func proxyPassURLs() []Case {
	pass := func(url, message string) fault { return fault{mark + "proxy_pass " + url + ";", message} }
	const prefix = "invalid URL prefix"
	cases := each(inLocation,
		pass("backend", prefix), pass("127.0.0.1:8080", prefix), pass("//127.0.0.1", prefix), pass("ftp://127.0.0.1", prefix),
		pass("http:127.0.0.1", prefix), pass("http//127.0.0.1", prefix), pass("tcp://127.0.0.1:1", prefix), pass("/", prefix),
		pass("http://", "no host in upstream"), pass("http://127.0.0.1:99999", "invalid port in upstream"),
	)
	return append(cases, found(inServer(0, "location ~ ^/a {\n        "+mark+"proxy_pass http://127.0.0.1:1/b;\n    }"),
		`"proxy_pass" cannot have URI part in location given by regular expression`))
}

func unknownVariables() []Case {
	var cases []Case
	for i, text := range []string{
		"return 200 $nonsense;", "add_header A $nonsense;", `return 200 "${nonsense}";`, "rewrite ^ /$nonsense;", "if ($nonsense) {\n    }",
		"set $a $nonsense;", "root /srv/$nonsense;", "error_page 404 /$nonsense;",
	} {
		cases = append(cases, found(inServer(i, text), `unknown "nonsense" variable`))
	}
	cases = append(cases,
		found(inHTTP(1, "map $nonsense $a {\n    default 1;\n}"), `unknown "nonsense" variable`),
		found(inHTTP(2, "log_format a $nonsense;"), `unknown "nonsense" variable`))
	return append(cases, each(inServer, fault{mark + "set a b;", `invalid variable name "a"`}, fault{mark + `return 200 "${host";`, `the closing bracket in "host" variable is missing`},
		fault{mark + "return 200 a$;", "invalid variable name"})...)
}

func logFormats() []Case {
	var cases []Case
	for i, text := range []string{
		mark + "access_log /dev/null nonsense;", "log_format a $uri;\n" + mark + "log_format a $host;", mark + "log_format combined $uri;",
		mark + "log_format a escape=xml $uri;", mark + "access_log /dev/null combined buffer=lots;", mark + "access_log /dev/null combined flush=soon;",
		mark + "access_log syslog:server=;", mark + "error_log stderr loud;", mark + "access_log /dev/null combined gzip=10;",
		mark + "access_log syslog:server=127.0.0.1,facility=none;", mark + "access_log syslog:server=log.invalid;",
	} {
		messages := []string{"unknown log format", `duplicate "log_format" name`, `duplicate "log_format" name`, "unknown log format escaping", "invalid buffer size",
			"invalid flush time", "syslog", "invalid log level", "invalid compression level", "unknown syslog facility", "host not found in"}
		cases = append(cases, found(inHTTP(i, text), messages[i]))
	}
	return cases
}
