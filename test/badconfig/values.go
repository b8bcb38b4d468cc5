package badconfig

import (
	"fmt"
	"strings"
)

func values() []sort {
	return []sort{
		{"invalid-size", invalidSizes()},
		{"invalid-time", invalidTimes()},
		{"invalid-value", invalidValues()},
		{"invalid-regex", invalidRegexes()},
		{"invalid-parameter", invalidParameters()},
		{"invalid-return", invalidReturns()},
		{"invalid-condition", invalidConditions()},
	}
}

func invalidSizes() []Case {
	size := func(name, value string) fault {
		return fault{fmt.Sprintf("%s%s %s;", mark, name, value), fmt.Sprintf("%q directive invalid value", name)}
	}
	return append(each(inServer,
		size("client_max_body_size", "10x"), size("client_max_body_size", "1mb"), size("client_max_body_size", "-1"),
		size("client_body_buffer_size", "lots"), size("large_client_header_buffers", "4 8kk"), size("client_header_buffer_size", "1.5k"),
		size("sendfile_max_chunk", "1t"), size("output_buffers", "0 4k"), size("client_max_body_size", "99999999999999999999g")),
		each(inLocation, size("proxy_buffer_size", "k"), size("proxy_buffers", "8 b"), size("limit_rate_after", "many"))...)
}

func invalidTimes() []Case {
	time := func(name, value string) fault {
		return fault{fmt.Sprintf("%s%s %s;", mark, name, value), fmt.Sprintf("%q directive invalid value", name)}
	}
	return append(each(inServer,
		time("send_timeout", "10x"), time("client_header_timeout", "soon"), time("client_body_timeout", "-1s"), time("lingering_timeout", "1s1h"),
		time("resolver_timeout", "5seconds"), time("send_timeout", "1.5s"), time("client_body_timeout", "99999999999999999999s")),
		append(each(inLocation, time("proxy_read_timeout", "forever"), time("proxy_connect_timeout", "5ss"), time("proxy_send_timeout", "1y2")),
			each(inServer, fault{mark + "keepalive_timeout never;", "invalid value"})...)...)
}

func invalidValues() []Case {
	flag := func(name, value string) fault {
		return fault{fmt.Sprintf("%s%s %s;", mark, name, value), fmt.Sprintf("invalid value %q in %q directive, it must be \"on\" or \"off\"", value, name)}
	}
	choice := func(name, value string) fault {
		return fault{fmt.Sprintf("%s%s %s;", mark, name, value), fmt.Sprintf("invalid value %q", value)}
	}
	return append(each(inServer, flag("sendfile", "yes"), flag("tcp_nopush", "true"), flag("gzip", "1"), flag("recursive_error_pages", "maybe"),
		choice("satisfy", "some"), choice("if_modified_since", "later"), choice("server_tokens", "no"), choice("absolute_redirect", "sometimes")),
		each(inLocation, flag("proxy_buffering", "enabled"), flag("log_not_found", "2"), choice("proxy_http_version", "3.0"), choice("proxy_next_upstream", "always"))...)
}

func invalidRegexes() []Case {
	const failed = "_compile() failed"
	var cases []Case
	for i, expression := range []string{"(", "[a-", "a{2,1}", "(?<", "a**", "(?P<a>b", "(a))", "[[:nope:]]", "(?z)a", `\`} {
		cases = append(cases, found(inServer(i, fmt.Sprintf("%slocation ~ \"^/%s\" {\n    }", mark, strings.ReplaceAll(expression, `\`, `\\`))), failed))
	}
	cases = append(cases, each(inServer, fault{mark + `rewrite "^/(a" /b;`, failed}, fault{mark + `server_name "~^(a";`, failed})...)
	return append(cases, each(inHTTP, fault{"map $uri $page {\n    " + mark + `"~(" a;` + "\n}", failed})...)
}

func invalidParameters() []Case {
	parameter := func(directive, value string) fault {
		return fault{fmt.Sprintf("%s%s %s;", mark, directive, value), fmt.Sprintf("invalid parameter %q", value)}
	}
	return append(each(inServer,
		parameter("listen 8081", "backlogg=5"), parameter("listen 8081", "fast"), parameter("access_log off", "sometimes"),
		parameter("add_header A b", "c"), parameter("listen 8081", "http9"), parameter("rewrite ^ /a", "forever"), parameter("rewrite ^ /a", "breaks")),
		each(inHTTP,
			parameter("limit_req_zone $uri zone=a:1m", "speed=1r/s"), parameter("proxy_cache_path /tmp/a keys_zone=a:1m", "colour=red"),
			fault{"upstream a {\n    " + mark + "server 127.0.0.1:1 weight=heavy;\n}", `invalid parameter "weight=heavy"`},
			fault{"upstream a {\n    " + mark + "server 127.0.0.1:1 sleepy;\n}", `invalid parameter "sleepy"`},
			fault{mark + "limit_req_zone $uri zone=a:1m rate=fast;", `invalid rate "rate=fast"`})...)
}

func invalidReturns() []Case {
	code := func(value string) fault {
		return fault{mark + "return " + value + ";", "invalid return code"}
	}
	page := func(value, message string) fault {
		return fault{mark + "error_page " + value + ";", message}
	}
	return append(each(inLocation, code("abc /a"), code("1000"), code("2OO"), code("-1"), code("20x ok")),
		each(inServer,
			page("99 /a", "must be between 300 and 599"), page("600 /a", "must be between 300 and 599"), page("200 /a", "must be between 300 and 599"),
			page("abc /a", "invalid value"), page("404", "invalid number of arguments"))...)
}

func invalidConditions() []Case {
	condition := func(text, message string) fault { return fault{mark + "if (" + text + ") {\n    }", message} }
	return each(inServer,
		condition("host = a", `invalid condition "host"`), condition("$host == a", `unexpected "==" in condition`),
		condition("-x", `invalid condition "-x"`), condition("!$host", `invalid condition "!$host"`),
		condition("$a = ", "invalid condition"), condition("-q /a", `invalid condition "-q"`),
		condition("$host > a", `unexpected ">" in condition`), condition("$host = a && $uri = b", "invalid condition"),
		condition("$host ~ (", "_compile() failed"), condition("true", `invalid condition "true"`))
}
