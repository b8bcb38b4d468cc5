package badconfig

import (
	"fmt"
	"strings"
)

func syntax() []sort {
	return []sort{
		{"unknown-directive", unknownDirectives()},
		{"missing-semicolon", missingSemicolons()},
		{"missing-brace", missingBraces()},
		{"stray-brace", strayBraces()},
		{"unclosed-quote", unclosedQuotes()},
		{"binary", binaries()},
		{"not-a-configuration", notConfigurations()},
	}
}

func unknownDirectives() []Case {
	unknown := func(name, arguments string) fault {
		return fault{mark + name + arguments + ";", fmt.Sprintf("unknown directive %q", name)}
	}
	var cases []Case
	cases = append(cases, each(inServer, unknown("lisen", " 8080"), unknown("sever_name", " a.test"), unknown("retrun", " 200"), unknown("Listen", " 8080"))...)
	cases = append(cases, each(inLocation, unknown("proxypass", " http://127.0.0.1"), unknown("try-files", " $uri"), unknown("echo", " hello"))...)
	cases = append(cases, each(inHTTP, unknown("gzipp", " on"), unknown("lua_shared_dict", " a 1m"), unknown("vhost_traffic_status_zone", ""))...)
	cases = append(cases, each(inStream, unknown("proxy_passs", " 127.0.0.1:80"))...)
	cases = append(cases, each(inMain, unknown("worker_procesess", " 2"))...)
	cases = append(cases, each(wholeHTTP, unknown("nonsense", " on"))...)
	return append(cases, each(inEvents, unknown("use_epoll", ""))...)
}

// missingSemicolons: nginx parses the next directive as arguments, and reports the error there.
func missingSemicolons() []Case {
	arguments := func(name string) string { return fmt.Sprintf("invalid number of arguments in %q directive", name) }
	cases := each(inServer,
		fault{"root /srv\n    " + mark + "index index.html;", arguments("root")},
		fault{"client_max_body_size 1m\n    " + mark + "index index.html;", arguments("client_max_body_size")},
		fault{"error_log stderr\n    " + mark + "charset utf-8;", `invalid log level "charset"`},
		fault{"access_log off\n    " + mark + "tcp_nodelay on;", `invalid parameter "tcp_nodelay"`},
		fault{"return 200 one\n    " + mark + "server_tokens off;", arguments("return")},
		fault{"keepalive_timeout 10\n\n\n    " + mark + "send_timeout 10;", arguments("keepalive_timeout")},
	)
	cases = append(cases, each(inLocation,
		fault{"proxy_pass http://127.0.0.1\n        " + mark + "proxy_buffering on;", arguments("proxy_pass")},
		fault{"alias /srv/\n        " + mark + "expires 1h;", arguments("alias")},
		fault{"deny all " + mark + "}\n    location /next {", `unexpected "}"`},
		fault{"return 204 " + mark + "}\n    location /next {", `unexpected "}"`},
	)...)
	return append(cases, each(inHTTP,
		fault{"sendfile on\n" + mark + "gzip on;", arguments("sendfile")},
		fault{"map $uri $page {\n    default a\n    " + mark + "/b b;\n}", "invalid number of the map parameters"},
	)...)
}

func missingBraces() []Case {
	const message = `unexpected end of file, expecting "}"`
	broken := []string{
		"server {\n    listen 8080;\n    location / {\n        return 204;\n    }\n",
		"server {\n    listen 8080;\n    location / {\n        return 204;\n",
		"server {\n    listen 8080;\n    if ($host) {\n        return 204;\n    }\n\n\n",
		"upstream a {\n    server 127.0.0.1:1;\n",
		"map $uri $page {\n    default a;\n",
		"types {\n    text/html html;\n",
		"geo $inside {\n    10.0.0.0/8 1;\n",
		"server {\n    listen 8080;\n    # }\n",
		"split_clients $remote_addr $half {\n    50% a;\n    * b;\n",
	}
	var cases []Case
	for i, text := range broken {
		// nginx also counts the line that begins after the last newline.
		cases = append(cases, found(map[string]string{fileNames[i%len(fileNames)]: padding(i) + text + mark}, message))
	}
	cases = append(cases, found(inStream(0, "server {\n    listen 9000;\n    return hello;\n"+mark), message))
	// inStream ends each text with another newline, which begins one more line.
	cases[len(cases)-1].Want.Line++
	return append(cases, found(map[string]string{"nginx.conf": "events {\n}\nhttp {\n" + healthy + mark}, message))
}

func strayBraces() []Case {
	const message = `unexpected "}"`
	cases := each(inHTTP,
		fault{mark + "}", message}, fault{"server {\n    listen 8080;\n}\n" + mark + "}", message},
		fault{"gzip on; " + mark + "}", message}, fault{"upstream a {\n    server 127.0.0.1:1;\n}}" + mark, message},
		fault{mark + "{", `unexpected "{"`}, fault{"gzip on; " + mark + "{ }", `unexpected "{"`}, fault{mark + ";", `unexpected ";"`},
	)
	cases = append(cases, each(inServer, fault{"index a;;" + mark, `unexpected ";"`}, fault{"location / { }; " + mark, `unexpected ";"`})...)
	return append(cases, each(inMain, fault{mark + "}", message})...)
}

// unclosedQuotes: nginx reads to the end of the file, and names its last line.
func unclosedQuotes() []Case {
	server := func(text string) string { return "server {\n    listen 8080;\n    " + text + "\n}\n" }
	var cases []Case
	for i, text := range []string{
		server(`return 200 "hello;`), server("return 200 'hello;"), server(`add_header A "b;`), server(`server_name "~^a;`),
		server("location / {\n        root \"/srv;\n    }"), server("error_log 'stderr;"),
		"log_format a '$remote_addr;\n", "map $uri $a {\n    default \"x;\n}\n", "gzip on;\n\ncharset \"utf-8;\n",
		"upstream \"a {\n    server 127.0.0.1:1;\n}\n", "add_header A '\";\n",
	} {
		name := fileNames[i%len(fileNames)]
		text = padding(i) + text
		cases = append(cases, Case{
			Files: map[string]string{name: text},
			Want:  Diagnosis{File: name, Line: lines(text), Messages: []string{"unexpected end of file"}},
		})
	}
	return append(cases,
		found(inHTTP(0, "server {\n    listen 8081;\n    return 200 "+mark+`"a"b;`+"\n}"), `unexpected "b"`),
		found(inHTTP(2, "log_format a "+mark+`'a'$uri;`), `unexpected "$"`),
	)
}

// lines returns the number of the line in which a text ends, as nginx counts.
func lines(text string) int { return strings.Count(text, "\n") + 1 }

// binaries have binary data in a file. It has to be UTF-8, because a Kubernetes object can hold
// nothing else.
func binaries() []Case {
	var every strings.Builder
	for b := range 32 {
		every.WriteByte(byte(b))
	}
	var cases []Case
	for i, text := range []string{
		"\x00\x01\x02\x03;", "\x7fELF\x02\x01\x01;", "\uFEFFgzip on;", "\x1b[31mgzip\x1b[0m on;", "\x00;", "gzip\x00 on;",
		"\u202Egzip on;", "gzip\u00A0on;", "PK\x03\x04\x14;", "\u0000\u0000\u0000 ;", "\u0080\u0081 on;", "\uFFFE\uFFFF on;", "\u0085gzip on;", "\U0010FFFF;", "\u2028;", "日本語 on;", every.String()[14:] + ";",
	} {
		if strings.ContainsAny(text, unwritable) {
			cases = append(cases, by(Operator, inHTTP(i, mark+text), "control character"))
			continue
		}
		cases = append(cases, found(inHTTP(i, mark+text), "unknown directive"))
	}
	return cases
}

// unwritable are some of the characters that server-side apply cannot send to the API server.
const unwritable = "\x7f\u0080\u0085\ufeff\ufffe"

// notConfigurations are files of other programs.
func notConfigurations() []Case {
	texts := []fault{
		{`{"server": {"listen": 8080}}` + mark, `unexpected "{"`},
		{"<VirtualHost *:80>\n    DocumentRoot /srv\n</VirtualHost>\n" + mark, "unexpected end of file"},
		{"server:\n  listen: 8080\n" + mark, "unexpected end of file"},
		{"<!doctype html>\n<title>Hello</title>\n" + mark, "unexpected end of file"},
		{"#!/bin/sh\necho hello;" + mark, `unknown directive "echo"`},
		{"<?xml version=\"1.0\"?>\n<a/>\n" + mark, "unexpected end of file"},
		{"frontend web\n  bind :8080\n  default_backend app\n" + mark, "unexpected end of file"},
		{"[server]\nlisten = 8080\n" + mark, "unexpected end of file"},
		{"<<<<<<< HEAD\ngzip on;" + mark + "\n=======\ngzip off;\n>>>>>>> main", `unknown directive "<<<<<<<"`},
		{"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n" + mark, "unexpected end of file"},
		{"{{ .Values.config }}" + mark, `unexpected "{"`},
		{"${NGINX_CONFIG};" + mark, `unknown directive "${NGINX_CONFIG}"`},
	}
	var cases []Case
	for i, f := range texts {
		cases = append(cases, found(map[string]string{fileNames[i%len(fileNames)]: f.text}, f.message))
	}
	return cases
}
