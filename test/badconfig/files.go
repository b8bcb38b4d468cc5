package badconfig

import (
	"fmt"
	"strings"
)

func files() []sort {
	return []sort{
		{"missing-include", missingIncludes()},
		{"infinite-include", infiniteIncludes()},
		{"missing-file", missingFiles()},
		{"missing-folder", missingFolders()},
		{"unknown-module", unknownModules()},
	}
}

func missingIncludes() []Case {
	include := func(path string) fault {
		return fault{mark + "include " + path + ";", "open() "}
	}
	cases := append(each(inHTTP, include("missing.inc"), include("/etc/nginx/missing.conf"), include("conf.d/missing.types"), include("/no/such/folder/a.conf")),
		each(inServer, include("snippets/ssl.inc"), include("shop.inc"), include("../missing"))...)
	cases = append(cases, each(inLocation, include("proxy.inc"), include("fastcgi.inc"))...)
	cases = append(cases, each(inStream, include("missing.inc"))...)
	for i := range cases {
		cases[i].Want.Messages = []string{"(2: No such file or directory)"}
	}
	return append(cases, found(inMain(3, mark+"include missing.inc;"), "(2: No such file or directory)"))
}

// infiniteIncludes include themselves. nginx continues until it has too many open files or its
// stack is full; its message is not predictable.
func infiniteIncludes() []Case {
	var cases []Case
	add := func(marked map[string]string) { cases = append(cases, by(Crash, marked)) }
	for i := range 4 {
		name := fileNames[i]
		add(map[string]string{name: padding(i) + "include " + name + ";\n" + healthy})
	}
	add(map[string]string{"a.conf": "include b.conf;\n", "b.conf": "include a.conf;\n" + healthy})
	add(map[string]string{"a.conf": "include b.inc;\n", "b.inc": "include c.inc;\n", "c.inc": "include b.inc;\n", "d.conf": healthy})
	add(map[string]string{"site.conf": "server {\n    listen 8080;\n    include loop.inc;\n}\n", "loop.inc": "include loop.inc;\n"})
	add(map[string]string{"site.conf": healthy, "loop.stream.conf": "include loop.stream.conf;\n"})
	add(map[string]string{"site.conf": healthy, "loop.main.conf": "include loop.main.conf;\n"})
	add(map[string]string{"nginx.conf": "include nginx.conf;\nevents {\n}\n"})
	return cases
}

// missingFiles: nginx names a line for included files, but none for files of TLS.
func missingFiles() []Case {
	const message = "No such file or directory"
	certificate, key := pair(0)
	var cases []Case
	for i, directive := range []string{
		"ssl_dhparam /etc/nginx/dh.pem", "ssl_verify_client on;\n    ssl_client_certificate ca.pem", "ssl_trusted_certificate /etc/ssl/none.pem",
		"ssl_crl crl.pem", "ssl_session_ticket_key ticket.key", mark + "ssl_password_file passwords",
	} {
		files := secure(i, "shop.pem", "shop.key", map[string]string{"shop.pem": certificate, "shop.key": key})
		name := fileNames[i%len(fileNames)]
		files[name] = strings.Replace(files[name], "    ssl_certificate ", "    "+directive+";\n    ssl_certificate ", 1)
		cases = append(cases, found(files, message))
	}
	return append(cases, each(inHTTP,
		fault{"geo $inside {\n    default 0;\n    " + mark + "include networks.inc;\n}", message},
		fault{"map $host $site {\n    hostnames;\n    " + mark + "include sites.map;\n}", message},
		fault{"types {\n    " + mark + "include more.types;\n}", message})...)
}

func missingFolders() []Case {
	var cases []Case
	for i, directive := range []string{
		"access_log /no/such/folder/access.log;", "error_log /no/such/folder/error.log;", "client_body_temp_path /no/such/folder/body;",
		"proxy_temp_path /no/such/folder/proxy;", "fastcgi_temp_path /no/such/folder/fastcgi;", "access_log /no/such/folder/a.log combined buffer=4k;",
	} {
		cases = append(cases, found(inServer(i, directive), "/no/such/folder"))
	}
	for i, text := range []string{"proxy_cache_path /no/such/folder/cache keys_zone=other:1m;", "fastcgi_cache_path /no/such/folder/cache keys_zone=other:1m;", "error_log /no/such/folder/error.log warn;"} {
		cases = append(cases, found(inHTTP(i, text), "/no/such/folder"))
	}
	return append(cases, found(inMain(1, "error_log /no/such/folder/error.log;"), "/no/such/folder"),
		found(inStream(1, "server {\n    listen 9000;\n    error_log /no/such/folder/error.log;\n    return a;\n}"), "/no/such/folder"))
}

func unknownModules() []Case {
	var cases []Case
	for i, module := range []string{
		"modules/ngx_http_lua_module.so", "/usr/lib/nginx/modules/ngx_http_js_module.so", "ngx_http_brotli_filter_module.so", "/no/such/folder/a.so",
		"modules/missing.so", "/etc/passwd", "/usr/lib/nginx/modules/", "a", "/dev/null", "modules/ngx_http_headers_more_filter_module.so",
	} {
		layout := inMain
		if i%3 == 2 {
			layout = func(i int, text string) map[string]string {
				return whole(i, text+"\nevents {\n}\nhttp {\n"+healthy+"}")
			}
		}
		cases = append(cases, found(layout(i, fmt.Sprintf("%sload_module %s;", mark, module)), "dlopen() "))
	}
	return append(cases, found(whole(0, "events {\n}\n"+mark+"load_module modules/ngx_stream_module.so;"), `"load_module" directive is specified too late`))
}
