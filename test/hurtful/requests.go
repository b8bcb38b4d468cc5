package hurtful

// requests make some or all requests fail.
func requests() []Case {
	f := family{Requests, InAnswers, Fails, []string{"answer", "request"}}
	return append(append(f.cases(limits()...), f.cases(proxies()...)...), f.cases(spoiled()...)...)
}

// limits are limits that common clients exceed.
func limits() []entry {
	rate := func(zone, rule string) site { return site{http: zone, server: rule} }
	return []entry{
		{name: "limit-req-1r-m", hurts: "503 to all but one in a minute", site: rate("limit_req_zone $binary_remote_addr zone=all:1m rate=1r/m;", "limit_req zone=all;")},
		{name: "limit-req-1r-s-of-all", hurts: "one limit for all clients", site: rate("limit_req_zone $server_port zone=all:1m rate=1r/s;", "limit_req zone=all burst=2 nodelay;")},
		{name: "limit-req-444", hurts: "closed without an answer", site: rate("limit_req_zone $server_port zone=all:1m rate=1r/m;", "limit_req zone=all;\nlimit_req_status 444;")},
		{name: "limit-conn-zone-of-all", hurts: "one request at a time", site: site{http: "limit_conn_zone $server_name zone=all:1m;", server: "limit_conn all 1;", backend: "location / {\n    limit_rate 40;\n    return 200 \"served $request_method\\n\";\n}"}},
		{name: "client-max-body-size-1", hurts: "413", site: site{server: "client_max_body_size 1;"}},
		{name: "client-max-body-size-of-a-page", hurts: "413", site: site{http: "client_max_body_size 100;"}},
		{name: "client-header-buffers-of-128-bytes", hurts: "400 or 414", site: site{server: "connection_pool_size 128;\nclient_header_buffer_size 64;\nlarge_client_header_buffers 1 128;"}},
		{name: "limit-except-post", hurts: "403 to GET", site: site{in: "limit_except POST {\n    deny all;\n}"}},
		{name: "limit-except-get", hurts: "403 to POST", site: site{in: "limit_except GET {\n    deny all;\n}"}},
		{name: "method-in-a-condition", hurts: "405 to POST", site: site{server: "if ($request_method !~ ^(GET|HEAD)$) {\n    return 405;\n}"}},
		{name: "half-of-them", hurts: "half of the clients see an experiment that fails", site: site{http: "split_clients $request_id $half {\n    50% 1;\n    * \"\";\n}", server: "if ($half) {\n    return 500;\n}"}},
		{name: "one-of-ten", hurts: "a tenth of the clients see an experiment that fails", site: site{http: "split_clients $request_id $tenth {\n    10% 1;\n    * \"\";\n}", server: "if ($tenth) {\n    return 500;\n}"}},
		{name: "body-in-a-folder-of-root", hurts: "500 to bodies that are written to a file", site: site{server: "client_body_in_file_only on;\nclient_body_temp_path /tmp/bodies 3 3 3;", main: "worker_rlimit_nofile 16;"}},
	}
}

// proxies lose requests between nginx and its backend.
func proxies() []entry {
	in := func(text string) site { return site{in: text} }
	pass := func(text string) site { return site{pass: text} }
	group := func(text string) site {
		return site{http: "upstream app {\n" + text + "\n}", pass: "proxy_pass http://app;"}
	}
	return []entry{
		{name: "proxy-to-nobody", hurts: "502", site: pass("proxy_pass http://127.0.0.1:8089;")},
		{name: "proxy-https-to-http", hurts: "502", site: pass("proxy_pass https://127.0.0.1:8081;")},
		{name: "proxy-to-a-missing-socket", hurts: "502", site: pass("proxy_pass http://unix:/run/app.sock;")},
		{name: "fastcgi-to-nobody", hurts: "502", site: pass("fastcgi_pass 127.0.0.1:9000;")},
		{name: "fastcgi-to-http", hurts: "502", site: pass("fastcgi_pass 127.0.0.1:8081;")},
		{name: "uwsgi-to-nobody", hurts: "502", site: pass("uwsgi_pass 127.0.0.1:3031;")},
		{name: "scgi-to-http", hurts: "502", site: pass("scgi_pass 127.0.0.1:8081;")},
		{name: "grpc-to-http", hurts: "502", site: pass("grpc_pass grpc://127.0.0.1:8081;")},
		{name: "memcached-to-http", hurts: "502", site: pass("set $memcached_key $uri;\nmemcached_pass 127.0.0.1:8081;")},
		{name: "memcached-with-empty-key", hurts: "500", site: pass("set $memcached_key \"\";\nmemcached_pass 127.0.0.1:8081;")},
		{name: "upstream-all-down", hurts: "502", site: group("server 127.0.0.1:8081 down;")},
		{name: "upstream-half-dead", hurts: "half of the servers are none", site: site{http: "upstream app {\n    server 127.0.0.1:8081;\n    server 127.0.0.1:8089 max_fails=0;\n}", pass: "proxy_pass http://app;\nproxy_next_upstream off;"}},
		{name: "upstream-max-conns", hurts: "502 beyond one connection", site: site{http: "upstream app {\n    zone app 64k;\n    server 127.0.0.1:8081 max_conns=1;\n}", pass: "proxy_pass http://app;", backend: "location / {\n    limit_rate 40;\n    return 200 \"served $request_method\\n\";\n}"}},
		{name: "upstream-fails-for-an-hour", hurts: "one error, and the only servers are out for an hour", site: site{http: "upstream app {\n    server 127.0.0.1:8081 fail_timeout=1h;\n    server 127.0.0.2:8081 fail_timeout=1h;\n}", pass: "proxy_pass http://app;\nproxy_next_upstream http_404 non_idempotent;", backend: "return 404;"}},
		{name: "upstream-resolve-without-answer", since: "1.27.3", hurts: "502: no address is known", site: site{http: "upstream app {\n    zone app 64k;\n    resolver 192.0.2.53;\n    server backend.example:8081 resolve;\n}", pass: "proxy_pass http://app;"}},
		{name: "resolver-refuses", hurts: "502", site: site{server: "resolver 127.0.0.1:8053;\nresolver_timeout 1s;", in: "set $backend backend.example;", pass: "proxy_pass http://$backend;"}},
		{name: "proxy-buffer-of-64-bytes", hurts: "502: the header of the answer is too big", site: in("proxy_buffer_size 64;\nproxy_buffers 2 64;\nproxy_busy_buffers_size 64;")},
		{name: "proxy-bind-elsewhere", hurts: "500: an address that is not the pod's", site: in("proxy_bind 192.0.2.1;")},
		{name: "proxy-bind-transparent", hurts: "500: not permitted", site: in("proxy_bind $remote_addr transparent;")},
		{name: "proxy-method-of-nobody", hurts: "400", site: in("proxy_method \"GET IT\";")},
		{name: "proxy-path-of-nobody", hurts: "400", site: pass("proxy_pass http://127.0.0.1:8081/\\ no;")},
		{name: "proxy-host-invalid", hurts: "400", site: in("proxy_set_header Host \"a b/c\";")},
		{name: "proxy-two-lengths", hurts: "400", site: in("proxy_set_header Transfer-Encoding chunked;")},
		{name: "proxy-length-of-one", hurts: "the rest of a body is taken for a request", site: in("proxy_set_header Content-Length -1;")},
		{name: "proxy-upgrade-always", hurts: "an answer to no request", site: site{in: "proxy_set_header Expect 101;\nproxy_set_header Host \"\";\nproxy_http_version 1.1;"}},
		{name: "proxy-cache-of-one-key", hurts: "every client gets the answer of the first", site: site{http: "proxy_cache_path /tmp/one keys_zone=one:1m;", in: "proxy_cache one;\nproxy_cache_key all;\nproxy_cache_methods GET POST;\nproxy_cache_valid any 1h;"}},
		{name: "proxy-cache-of-errors", hurts: "an error is kept for a day", site: site{http: "proxy_cache_path /tmp/errors keys_zone=errors:1m;", in: "proxy_cache errors;\nproxy_cache_valid any 1d;", backend: "if ($request_method = GET) {\n    return 502;\n}\nreturn 200 \"served $request_method\\n\";"}},
		{name: "intercepted-errors", hurts: "every answer is an error page that is not there", site: site{in: "proxy_intercept_errors on;\nerror_page 400 401 403 404 405 /missing.html;", backend: "return 404;"}},
		{name: "auth-request-of-post", hurts: "the authorization request lacks a body that its server waits for", site: site{in: "auth_request /auth;\nauth_request_set $user $upstream_http_x_user;", server: "location = /auth {\n    internal;\n    proxy_pass http://127.0.0.1:8085;\n}", http: "server {\n    listen 127.0.0.1:8085;\n    return 401;\n}"}},
	}
}

// spoiled are responses that clients cannot read, or that differ from those of the backend.
func spoiled() []entry {
	in := func(text string) site { return site{in: text} }
	return []entry{
		{name: "content-length-twice", hurts: "an answer of two lengths", site: in("add_header Content-Length 1;")},
		{name: "transfer-encoding-added", hurts: "an answer that is not chunked and says so", site: in("add_header Transfer-Encoding chunked;")},
		{name: "sub-filter-of-all", hurts: "another text", site: in("sub_filter served failed;\nsub_filter_types *;")},
		{name: "addition-of-a-page", hurts: "another text behind it", site: in("addition_types *;\nadd_after_body /page;")},
		{name: "chunks-for-old-clients", hurts: "an answer without an end", site: site{in: "chunked_transfer_encoding off;\nsub_filter e E;\nsub_filter_types *;"}},
		{name: "error-page-of-success", hurts: "errors that look like success, and success like errors", site: site{in: "proxy_intercept_errors on;\nerror_page 404 =500 /page;", backend: "return 404;"}},
		{name: "post-action-loop", hurts: "each request is followed by another", site: site{in: "mirror /page;\nmirror_request_body on;\nclient_max_body_size 1;"}},
		{name: "etag-as-content", hurts: "304 to every client", site: in("if_modified_since before;\nreturn 304;")},
	}
}
