package hurtful

import "fmt"

// memory are configurations whose processes need more than the container has, before the
// first request.
func memory() []Case {
	f := family{Memory, Foreseeable, OutOfMemory, []string{"memory"}}
	return append(append(f.cases(connections()...), f.cases(zones()...)...), append(f.cases(structures()...), f.cases(generated()...)...)...)
}

func connections() []entry {
	var all []entry
	for _, c := range []struct {
		workers, connections int
	}{{1, 200_000}, {1, 500_000}, {1, 1_000_000}, {1, 10_000_000}, {2, 100_000}, {4, 65_536}, {8, 32_768}, {16, 16_384}, {32, 10_000}} {
		all = append(all, entry{
			name:  fmt.Sprintf("worker-connections-%d-of-%d", c.connections, c.workers),
			hurts: "each worker allocates its connections when it starts",
			site:  site{main: fmt.Sprintf("worker_processes %d;", c.workers), events: fmt.Sprintf("worker_connections %d;", c.connections)},
		})
	}
	return all
}

// zones are shared memory. What nginx writes to a zone when it makes it is 24 bytes for each
// page, so zones that are large or many fill the container before anything is kept in them.
func zones() []entry {
	sized := func(format string) string {
		return repeat(5, func(i int) string { return fmt.Sprintf(format+"\n", i) })
	}
	const hurts = "the page tables of five zones of 3 GiB"
	all := []entry{
		{name: "limit-req-zones-3g", hurts: hurts, site: site{http: sized("limit_req_zone $uri zone=z%d:3072m rate=10000r/s;")}},
		{name: "limit-conn-zones-3g", hurts: hurts, site: site{http: sized("limit_conn_zone $uri zone=z%d:3072m;")}},
		{name: "proxy-cache-zones-3g", hurts: hurts, site: site{http: sized("proxy_cache_path /tmp/c%[1]d keys_zone=z%[1]d:3072m;")}},
		{name: "fastcgi-cache-zones-3g", hurts: hurts, site: site{http: sized("fastcgi_cache_path /tmp/c%[1]d keys_zone=z%[1]d:3072m;")}},
		{name: "uwsgi-cache-zones-3g", hurts: hurts, site: site{http: sized("uwsgi_cache_path /tmp/c%[1]d keys_zone=z%[1]d:3072m;")}},
		{name: "scgi-cache-zones-3g", hurts: hurts, site: site{http: sized("scgi_cache_path /tmp/c%[1]d keys_zone=z%[1]d:3072m;")}},
		{name: "upstream-zones-3g", hurts: hurts, site: site{http: sized("upstream u%[1]d { zone z%[1]d 3072m; server 127.0.0.1:8081; }")}},
		{name: "ssl-session-caches-3g", hurts: hurts, site: site{http: sized("server { listen 127.0.0.1:84%[1]d0; ssl_session_cache shared:z%[1]d:3072m; }")}},
		{name: "stream-limit-conn-zones-3g", hurts: hurts, site: site{stream: sized("limit_conn_zone $remote_addr zone=z%d:3072m;")}},
		{name: "stream-upstream-zones-3g", hurts: hurts, site: site{stream: sized("upstream u%[1]d { zone z%[1]d 3072m; server 127.0.0.1:8081; }")}},
		{name: "one-zone-of-14g", hurts: "the page table of one zone", site: site{http: "limit_req_zone $uri zone=z:14336m rate=10000r/s;"}},
	}
	const small = "each of thousands of small zones touches some pages"
	numerous := func(n int, format string) site {
		files := many("zones", ".conf", n, func(i int) string { return fmt.Sprintf(format+"\n", i) })
		return site{more: files}
	}
	return append(all,
		entry{name: "limit-req-zones-6000", hurts: small, site: numerous(6000, "limit_req_zone $uri zone=z%d:64k rate=10000r/s;")},
		entry{name: "limit-conn-zones-6000", hurts: small, site: numerous(6000, "limit_conn_zone $uri zone=z%d:64k;")},
	)
}

// structures are what single directives make nginx allocate.
func structures() []entry {
	upstream := func(text string) site {
		return site{http: "upstream app {\n" + text + "\n}", pass: "proxy_pass http://app;"}
	}
	return []entry{
		{name: "upstream-keepalive-1000000", hurts: "an entry for each idle connection", site: upstream("server 127.0.0.1:8081;\nkeepalive 1000000;")},
		{name: "upstream-keepalive-700000", hurts: "an entry for each idle connection", site: upstream("server 127.0.0.1:8081;\nkeepalive 700000;")},
		{name: "upstreams-with-keepalive-50000", hurts: "an entry for each idle connection of 20 upstreams", site: site{http: repeat(20, func(i int) string {
			return fmt.Sprintf("upstream u%d { server 127.0.0.1:8081; keepalive 50000; }\n", i)
		})}},
		{name: "consistent-hash-of-weight-40000", hurts: "160 points of the ring for each unit of weight", site: upstream("hash $uri consistent;\nserver 127.0.0.1:8081 weight=40000;")},
		{name: "consistent-hash-of-ten-servers", hurts: "160 points of the ring for each unit of weight", site: upstream("hash $uri consistent;\n" + repeat(10, func(i int) string {
			return fmt.Sprintf("server 127.0.0.%d:8081 weight=5000;\n", i+1)
		}))},
		{name: "stream-consistent-hash-of-weight-40000", hurts: "160 points of the ring for each unit of weight", site: site{
			stream: "upstream app {\n    hash $remote_addr consistent;\n    server 127.0.0.1:8081 weight=40000;\n}\nserver {\n    listen 9000;\n    proxy_pass app;\n}"}},
	}
}

// generated are files that a program has written, as large as a ConfigMap may be.
func generated() []entry {
	servers := many("many", ".conf", 6000, func(i int) string { return fmt.Sprintf("server { listen 8080; server_name n%d.test; }\n", i) })
	hosts := many("many", ".conf", 2500, func(i int) string {
		return fmt.Sprintf("server { listen 8080; server_name n%d.test; location / { return 204; } location /a { return 204; } }\n", i)
	})
	locations := many("locations", ".inc", 12_000, func(i int) string { return fmt.Sprintf("location /n%d { return 204; }\n", i) })
	expressions := many("locations", ".inc", 14_000, func(i int) string { return fmt.Sprintf("location ~ ^/n%d/(.*)$ { return 204; }\n", i) })
	addresses := func(i int) string {
		n := uint32(i) * 2654435761 // spread over all addresses
		return fmt.Sprintf("%d.%d.%d.%d 1;\n", n>>24, n>>16&255, n>>8&255, n&255)
	}
	geo := many("addresses", ".inc", 44_000, addresses)
	patterns := many("patterns", ".inc", 20_000, func(i int) string { return fmt.Sprintf("\"~*^/(a|b%d)+/x\" 1;\n", i) })
	conditions := many("conditions", ".inc", 12_000, func(i int) string { return fmt.Sprintf("if ($arg_a = b%d) { return 204; }\n", i) })
	return []entry{
		{name: "servers-6000", hurts: "16 KB for each server", site: site{more: servers}},
		{name: "servers-2500-with-locations", hurts: "16 KB for each server, and as much for its locations", site: site{more: hosts}},
		{name: "locations-12000", hurts: "8 KB for each location", site: site{server: includes(locations), more: locations}},
		{name: "regex-locations-14000", hurts: "8 KB and a compiled expression for each location", site: site{server: includes(expressions), more: expressions}},
		{name: "geo-44000-addresses-five-times", hurts: "a tree with a node for each bit of an address", site: site{http: repeat(5, func(i int) string {
			return block(fmt.Sprintf("geo $known%d", i), "default 0;\n"+includes(geo))
		}), more: geo}},
		{name: "map-20000-expressions", hurts: "a compiled expression for each line", site: site{main: "pcre_jit on;", http: block("map $uri $known", "default 0;\n"+includes(patterns)), more: patterns}},
		{name: "conditions-12000", hurts: "8 KB for each if", site: site{server: includes(conditions), more: conditions}},
	}
}
