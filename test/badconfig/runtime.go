package badconfig

import "fmt"

func runtime() []sort {
	return []sort{
		{"zone-key-changed", zoneKeys()},
		{"cache-changed", caches()},
		{"workers-cannot-start", workers()},
	}
}

// zoneKeys change the keys of the zones in Good. nginx -t cannot detect this; a running nginx
// rejects it, and reports that only in its log.
func zoneKeys() []Case {
	var cases []Case
	for i, key := range []string{"$uri", "$host", "$remote_addr", "$request_uri", "$server_name", `"$uri$args"`, "$http_user_agent"} {
		cases = append(cases, by(Load, inHTTP(i, fmt.Sprintf("limit_req_zone %s zone=requests:1m rate=100000r/s;", key)),
			`limit_req "requests" uses the "`))
	}
	for i, key := range []string{"$uri", "$host", "$remote_addr", "$scheme", "$http_x_forwarded_for"} {
		cases = append(cases, by(Load, inHTTP(i, fmt.Sprintf("limit_conn_zone %s zone=connections:1m;", key)),
			`limit_conn_zone "connections" uses the "`))
	}
	return cases
}

// caches change the cache in Good.
func caches() []Case {
	var cases []Case
	for i, path := range []string{"/tmp/other", "/tmp/pages2", "/tmp/pages/inner", "/tmp/p"} {
		cases = append(cases, by(Load, inHTTP(i, fmt.Sprintf("proxy_cache_path %s keys_zone=pages:1m;", path)), `cache "pages" uses the "`))
	}
	for i, levels := range []string{"1", "2", "1:2", "2:2", "1:1:1"} {
		cases = append(cases, by(Load, inHTTP(i, fmt.Sprintf("proxy_cache_path /tmp/pages keys_zone=pages:1m levels=%s;", levels)), `cache "pages" had previously different levels`))
	}
	return cases
}

// workers exit as soon as they start. nginx stops the old ones all the same, so without the
// operator no worker would be left.
func workers() []Case {
	var cases []Case
	for i, folder := range []string{"/no/such/folder", "/missing", "/etc/passwd", "/tmp/not/there", "/srv/nowhere", "/proc/1/nowhere", "relative/nowhere", "/etc/nginx/mime.types"} {
		cases = append(cases, by(Workers, inMain(i, "working_directory "+folder+";"), "chdir("))
	}
	return cases
}
