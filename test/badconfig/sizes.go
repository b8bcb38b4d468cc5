package badconfig

import (
	"fmt"
	"strings"
)

func sizes() []sort {
	return []sort{
		{"shared-zone", sharedZones()},
		{"huge", huge()},
		{"too-much-memory", tooMuchMemory()},
	}
}

func sharedZones() []Case {
	return append(each(inHTTP,
		fault{mark + "limit_req_zone $uri zone=a:1k rate=1r/s;", "is too small"}, fault{mark + "limit_req_zone $uri zone=a:big rate=1r/s;", "invalid zone size"},
		fault{mark + "limit_req_zone $uri zone=a rate=1r/s;", "invalid zone size"}, fault{mark + "limit_conn_zone $uri zone=a:4k;", "is too small"},
		fault{mark + "proxy_cache_path /tmp/a keys_zone=a:1k;", "is too small"}, fault{mark + "proxy_cache_path /tmp/a keys_zone=a:b;", "invalid keys zone size"},
		fault{mark + "proxy_cache_path /tmp/a;", "invalid number of arguments"}, fault{mark + "limit_req_zone $uri rate=1r/s;", "invalid number of arguments"},
		fault{"limit_req_zone $uri zone=a:1m rate=1r/s;\n" + mark + "limit_req_zone $uri zone=a:1m rate=1r/s;", "is already bound to key"},
		fault{"limit_req_zone $uri zone=a:1m rate=1r/s;\n" + mark + "limit_conn_zone $uri zone=a:1m;", "is already declared for a different use"},
		fault{"limit_conn_zone $uri zone=a:1m;\n" + mark + "limit_conn_zone $uri zone=a:2m;", "conflicts with already declared size"}),
		append(each(inLocation, fault{mark + "proxy_cache;", "invalid number of arguments"}),
			found(inServer(1, "limit_conn nowhere 1;"), `zero size shared memory zone "nowhere"`),
			found(inServer(0, "limit_req zone=nowhere;"), `zero size shared memory zone "nowhere"`))...)
}

const (
	// fileLimit and filesLimit bound one file and all files together. They are the limits of the
	// API and of the operator, the latter with some room for names.
	fileLimit  = 262144
	filesLimit = 900<<10 - 4096
)

// fill returns a text of about the given length, in lines.
func fill(line string, length int) string {
	return strings.Repeat(line, length/len(line))
}

// huge files are near the limits, with the fault at the very end.
func huge() []Case {
	const comment = "# nothing is wrong here, there is just very much of it, line after line after line\n"
	full := func(tail string) string { return fill(comment, fileLimit-len(tail)) + tail }
	last := mark + "nonsense on;\n"
	var cases []Case
	for i := range 4 {
		marked := map[string]string{"z.conf": full(last), "healthy.conf": healthy}
		for n := range i {
			size := min(fileLimit, (filesLimit-fileLimit)/3)
			marked[fmt.Sprintf("part-%d.conf", n)] = fill(comment, size)
		}
		cases = append(cases, found(marked, `unknown directive "nonsense"`))
	}
	names := fill("server { listen 8081; server_name name.test; }\n", 100_000)
	cases = append(cases,
		found(map[string]string{"healthy.conf": healthy, "many.conf": names + last}, `unknown directive "nonsense"`),
		found(map[string]string{"healthy.conf": healthy, "long.conf": mark + strings.Repeat("x", fileLimit-2) + ";"}, "too long parameter"),
		found(map[string]string{"healthy.conf": healthy, "long.conf": "server {\n    listen 8081;\n    " + mark + "return 200 \"" + strings.Repeat("x", 200_000) + "\";\n}\n"}, "too long parameter"),
		found(map[string]string{"healthy.conf": healthy, "deep.conf": strings.Repeat("server {\n", 10) + "\n" + mark}, `"server" directive is not allowed here`),
		found(map[string]string{"healthy.conf": healthy, "words.conf": mark + fill("word ", 200_000) + ";\n"}, `unknown directive "word"`),
		found(map[string]string{"healthy.conf": healthy, "blank.conf": strings.Repeat("\n", fileLimit-20) + last}, `unknown directive "nonsense"`),
	)
	deep := &cases[len(cases)-3]
	deep.Want.Line = 2
	return cases
}

// tooMuchMemory is requested while nginx tests the configuration, with limited memory.
func tooMuchMemory() []Case {
	var cases []Case
	for i, text := range []string{
		"limit_req_zone $uri zone=a:9000g rate=1r/s;", "limit_conn_zone $uri zone=a:8000g;", "proxy_cache_path /tmp/a keys_zone=a:8000g;",
		"upstream a {\n    zone a 8000g;\n    server 127.0.0.1:1;\n}", "ssl_session_cache shared:a:9000g;", "variables_hash_max_size 9000000000000;",
		"limit_req_zone $uri zone=a:100g rate=1r/s;", "proxy_cache_path /tmp/a keys_zone=a:64g;", "limit_conn_zone $uri zone=a:40g;",
	} {
		cases = append(cases, by(Crash, inHTTP(i, text)))
	}
	return cases
}
