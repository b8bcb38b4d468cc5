package badconfig

import (
	"fmt"
	"strings"
)

func servers() []sort {
	return []sort{
		{"invalid-listen", invalidListens()},
		{"foreign-address", foreignAddresses()},
		{"port-in-use", portsInUse()},
		{"declared-port", declaredPorts()},
		{"duplicate-default-server", duplicateDefaults()},
		{"duplicate-listen", duplicateListens()},
		{"duplicate-listen-options", duplicateListenOptions()},
		{"duplicate-location", duplicateLocations()},
		{"invalid-location", invalidLocations()},
		{"server-names-hash", serverNames()},
	}
}

func invalidListens() []Case {
	listen := func(value, message string) fault { return fault{mark + "listen " + value + ";", message} }
	return append(each(inServer,
		listen("99999", "invalid port in"), listen("0", "invalid port in"), listen("127.0.0.1:70000", "invalid port in"),
		listen("127.0.0.1:http", "invalid port in"), listen("[::1:8080", "in \"[::1:8080\" of the \"listen\" directive"), listen("unix:", "no path in the unix domain socket"),
		listen("8080-8070", "of the \"listen\" directive"), listen("no-such-host.invalid:8080", "host not found in"),
		listen("256.0.0.1:8080", "host not found in"), listen("-8080", "of the \"listen\" directive")),
		found(inStream(1, "server {\n    "+mark+"listen 99999;\n    return a;\n}"), "invalid port in"))
}

// foreignAddresses are addresses that no pod has.
func foreignAddresses() []Case {
	var cases []Case
	for i, address := range []string{"192.0.2.1:8090", "198.51.100.7:8090", "203.0.113.9:80", "[2001:db8::1]:8090", "192.0.2.1:8443", "198.18.0.1:8081", "8.8.8.8:53", "192.0.2.255:8099"} {
		c := found(inServer(i, "listen "+address+";"), fmt.Sprintf("bind() to %s failed", address))
		if strings.HasPrefix(address, "[") {
			// Without IPv6, nginx fails one step earlier.
			c.Want.Messages = append(c.Want.Messages, "socket() "+address+" failed")
		}
		cases = append(cases, c)
	}
	return append(cases, found(inStream(1, "server {\n    listen 192.0.2.1:9000;\n    return a;\n}"), "bind() to 192.0.2.1:9000 failed"))
}

// portsInUse listen on the instance manager's port, which nginx -t does not detect.
func portsInUse() []Case {
	var cases []Case
	for i, address := range []string{"9113", "*:9113", "0.0.0.0:9113", "127.0.0.1:9113", "9113 default_server", "localhost:9113", "9113 backlog=16"} {
		cases = append(cases, by(Load, inServer(i, "listen "+address+";"), "9113"))
	}
	for i, address := range []string{"9113", "127.0.0.1:9113", "0.0.0.0:9113"} {
		cases = append(cases, by(Load, inStream(i, "server {\n    listen "+address+";\n    return a;\n}"), "9113"))
	}
	return cases
}

// declaredPorts do not listen on the port that the application declares.
func declaredPorts() []Case {
	var cases []Case
	for i, text := range []string{
		"", "# nothing\n", "gzip on;\n", "server {\n    listen 8081;\n}\n", "server {\n    listen 80;\n}\n", "server {\n    listen 127.0.0.1:8081;\n}\n",
		"server {\n    listen unix:/tmp/a.sock;\n}\n", "server {\n    listen 18080;\n    return 204;\n}\n", "server {\n    listen 8443;\n}\nserver {\n    listen 8088;\n}\n",
		"upstream a {\n    server 127.0.0.1:8080;\n}\n", "# server {\n#     listen 8080;\n# }\n",
	} {
		cases = append(cases, by(Ports, map[string]string{fileNames[i%len(fileNames)]: text}, "8080"))
	}
	cases = append(cases, by(Ports, map[string]string{"nginx.conf": "events {\n}\n"}, "8080"))
	return append(cases, by(Ports, map[string]string{"nginx.conf": "events {\n}\nhttp {\n    access_log off;\n    server {\n        listen 8081;\n    }\n}\n"}, "8080"))
}

func duplicateDefaults() []Case {
	server := func(listen string) string { return "server {\n    listen " + listen + " default_server;\n}\n" }
	marked := func(listen string) string {
		return "server {\n    " + mark + "listen " + listen + " default_server;\n}\n"
	}
	const message = "a duplicate default server for "
	var cases []Case
	for i, listen := range []string{"8080", "*:8080", "0.0.0.0:8080", "127.0.0.1:8080", "8080 backlog=64", "unix:/tmp/a.sock"} {
		plain := strings.Fields(listen)[0]
		cases = append(cases, found(map[string]string{"site.conf": padding(i) + server(listen) + marked(plain)}, message))
		cases = append(cases, found(map[string]string{"a.conf": server(listen), "b.conf": padding(i) + marked(plain)}, message))
	}
	return cases
}

func duplicateListens() []Case {
	var cases []Case
	for i, twice := range [][2]string{{"8081", "8081"}, {"8081", "*:8081"}, {"8081", "0.0.0.0:8081"}, {"*:8081", "8081"}, {"127.0.0.1:8081", "127.0.0.1:8081"},
		{"127.0.0.1:8081", "localhost:8081"}, {"unix:/tmp/a.sock", "unix:/tmp/a.sock"}, {"8081 backlog=5", "8081"}, {"8000-8005", "8003"}} {
		cases = append(cases, found(inServer(i, fmt.Sprintf("listen %s;\n    %slisten %s;", twice[0], mark, twice[1])), "a duplicate listen "))
	}
	c := found(inStream(3, "server {\n    listen 9000;\n    "+mark+"listen 9000;\n    return a;\n}"), "a duplicate listen 0.0.0.0:9000", `duplicate "0.0.0.0:9000" address and port pair`)
	return append(cases, c)
}

func duplicateListenOptions() []Case {
	var cases []Case
	for i, pair := range [][2]string{{"backlog=16", "backlog=32"}, {"rcvbuf=8k", "rcvbuf=16k"}, {"sndbuf=8k", "backlog=5"}, {"so_keepalive=on", "so_keepalive=off"},
		{"deferred", "deferred"}, {"bind", "bind"}, {"fastopen=5", "fastopen=6"}, {"backlog=16", "deferred"}} {
		first := fmt.Sprintf("server {\n    listen 8081 %s;\n}\n", pair[0])
		second := fmt.Sprintf("%sserver {\n    %slisten 8081 %s;\n}\n", padding(i), mark, pair[1])
		if i%2 == 0 {
			cases = append(cases, found(map[string]string{"site.conf": healthy + first + second}, "duplicate listen options for 0.0.0.0:8081"))
			continue
		}
		cases = append(cases, found(map[string]string{"a.conf": first, "b.conf": second, "healthy.conf": healthy}, "duplicate listen options for 0.0.0.0:8081"))
	}
	return cases
}

func duplicateLocations() []Case {
	var cases []Case
	for i, location := range []string{"/", "/a", "= /a", "^~ /a", "/c", "/a/b/", `"/a b"`} {
		text := fmt.Sprintf("location %s {\n    }\n    %slocation %s {\n    }", location, mark, location)
		cases = append(cases, found(inServer(i, text), "duplicate location"))
	}
	cases = append(cases, found(inServer(1, "location /a {\n        location /a/b {\n        }\n        "+mark+"location /a/b {\n        }\n    }"), "duplicate location"))
	return append(cases, found(inServer(2, "location /a {\n    }\n    location /b {\n    }\n    "+mark+"location ^~ /a {\n    }"), "duplicate location"))
}

func invalidLocations() []Case {
	nested := func(outer, inner, message string) fault {
		return fault{fmt.Sprintf("location %s {\n        %slocation %s {\n        }\n    }", outer, mark, inner), message}
	}
	return append(each(inServer,
		nested("/a", "/b", `location "/b" is outside location "/a"`), nested("= /a", "/a/b", `cannot be inside the exact location`),
		nested("@a", "/b", "cannot be inside the named location"), nested("/a", "@b", "can be on the server level only"),
		fault{mark + "location == /a {\n    }", `invalid location modifier "=="`}, fault{mark + "location ~~ /a {\n    }", `invalid location modifier "~~"`},
		fault{mark + "location prefix /a {\n    }", `invalid location modifier "prefix"`}),
		each(inLocation, fault{mark + "try_files /a;", "invalid number of arguments"}, fault{mark + "try_files;", "invalid number of arguments"})...)
}

// serverNames are too long for the hash, which nginx builds only if there is more than one server.
func serverNames() []Case {
	var cases []Case
	for i, length := range []int{80, 90, 100, 110, 128, 150, 200, 250, 400, 600} {
		name := strings.Repeat("a", length) + ".example.com"
		cases = append(cases, found(inServer(2*i+1, "server_name www.test "+name+";"), "could not build server_names_hash, you should increase server_names_hash_bucket_size"))
	}
	return cases
}
