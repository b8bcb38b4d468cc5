package hurtful

// nothingServed give no client what it wants, although all workers live and all ports are open.
func nothingServed() []Case {
	f := family{NothingServed, InAnswers, Fails, []string{"answer", "request"}}
	return append(append(f.cases(known()...), f.cases(returned()...)...), append(f.cases(loops()...), f.cases(streams()...)...)...)
}

// known are the most common ones.
func known() []entry {
	return []entry{
		{name: "return-444", hurts: "connections are closed without an answer", site: site{server: "return 444;"}},
		{name: "deny-all", hurts: "403", site: site{server: "deny all;"}},
		{name: "redirect-to-itself", hurts: "a redirect to the same address, without end", site: site{server: "return 301 $scheme://$http_host$request_uri;"}},
		{name: "proxy-to-itself", hurts: "a request to itself, until no connection is left", site: site{pass: "proxy_pass http://127.0.0.1:8080;"}},
		{name: "listen-ssl", hurts: "TLS where clients speak HTTP", site: site{listen: "listen 8080 ssl;", server: "ssl_reject_handshake on;"}},
		{name: "variable-upstream-without-resolver", hurts: "502", site: site{in: "set $backend backend.example;", pass: "proxy_pass http://$backend;"}},
		{name: "auth-file-missing", hurts: "403 or 500", site: site{server: "auth_basic all;\nauth_basic_user_file users;"}},
		{name: "listen-proxy-protocol", hurts: "clients do not say who they are", site: site{listen: "listen 8080 proxy_protocol;"}},
		{name: "stream-on-the-http-port", hurts: "no HTTP where clients speak HTTP", site: site{listen: "listen 8082;", stream: "server {\n    listen 8080;\n    return ok;\n}"}},
		{name: "rewrite-loop", hurts: "500 after ten rounds", site: site{server: "location /a {\n    rewrite ^ /b last;\n}\nlocation /b {\n    rewrite ^ /a last;\n}\nlocation = /page {\n    rewrite ^ /a last;\n}", location: "location / {\n    rewrite ^ /a last;\n}"}},
		{name: "try-files-loop", hurts: "500 after ten rounds", site: site{location: "location / {\n    root /nowhere;\n    try_files $uri /index.html;\n}"}},
		{name: "redirect-to-https-without-listener", hurts: "a redirect to a port without a listener", site: site{server: "return 301 https://$host$request_uri;"}},
		{name: "auth-request-to-nowhere", hurts: "500", site: site{server: "auth_request /auth;\nlocation = /auth {\n    internal;\n    proxy_pass http://127.0.0.1:8089;\n}"}},
		{name: "internal", hurts: "404", site: site{in: "internal;"}},
		{name: "wrong-root", hurts: "404", site: site{location: "location / {\n    root /srv/www;\n}"}},
		{name: "default-server-421", hurts: "421 to every name but one", site: site{server: "server_name shop.example.com;", http: "server {\n    listen 8080 default_server;\n    return 421;\n}"}},
	}
}

// returned give a response, but not the requested one.
func returned() []entry {
	server := func(text string) site { return site{server: text} }
	shadow := func(text string) site {
		return site{server: "server_name shop.example.com;", http: "server {\n    listen 8080 default_server;\n    " + text + "\n}"}
	}
	root := func(text string) site { return site{location: "location / {\n    " + text + "\n}"} }
	return []entry{
		{name: "return-500", hurts: "500", site: server("return 500;")},
		{name: "return-503", hurts: "maintenance that was not ended", site: server("return 503 \"back soon\";")},
		{name: "return-404", hurts: "404", site: server("return 404;")},
		{name: "return-204", hurts: "no content", site: server("return 204;")},
		{name: "return-empty", hurts: "200 and nothing", site: server("return 200 \"\";")},
		{name: "return-429", hurts: "429", site: server("return 429;")},
		{name: "return-of-a-condition", hurts: "a map that is always true", site: site{http: "map $remote_addr $maintenance {\n    default 1;\n}", server: "if ($maintenance) {\n    return 503;\n}"}},
		{name: "geo-blocks-all", hurts: "a network that contains every client", site: site{http: "geo $blocked {\n    default 0;\n    0.0.0.0/0 1;\n}", server: "if ($blocked) {\n    return 403;\n}"}},
		{name: "allow-one-network", hurts: "403 to all others", site: server("allow 192.0.2.0/24;\ndeny all;")},
		{name: "allow-behind-proxy", hurts: "an address that clients do not have", site: server("set_real_ip_from 0.0.0.0/0;\nreal_ip_header X-Forwarded-For;\nallow 192.0.2.1;\ndeny all;")},
		{name: "satisfy-nobody", hurts: "401", site: site{server: "satisfy all;\nauth_basic all;\nauth_basic_user_file users;\nallow all;", more: map[string]string{"users": ""}}},
		{name: "auth-file-empty", hurts: "401 to every client", site: site{server: "auth_basic all;\nauth_basic_user_file users;", more: map[string]string{"users": ""}}},
		{name: "auth-file-a-folder", hurts: "500", site: server("auth_basic all;\nauth_basic_user_file /tmp;")},
		{name: "auth-file-of-root", hurts: "500", site: server("auth_basic all;\nauth_basic_user_file /root/users;")},
		{name: "secure-link-of-nobody", hurts: "403 without a signature", site: server("secure_link $arg_md5,$arg_expires;\nsecure_link_md5 \"$secure_link_expires$uri secret\";\nif ($secure_link = \"\") {\n    return 403;\n}")},
		{name: "referers-of-nobody", hurts: "403 without a referer", site: server("valid_referers example.com;\nif ($invalid_referer) {\n    return 403;\n}")},
		{name: "user-agent-of-all", hurts: "an expression that matches every client", site: server("if ($http_user_agent ~ \"\") {\n    return 403;\n}")},
		{name: "default-server-444", hurts: "closed for every name but one", site: shadow("return 444;")},
		{name: "default-server-404", hurts: "404 to every name but one", site: shadow("return 404;")},
		{name: "default-server-empty", hurts: "a folder that does not exist", site: shadow("root /nowhere;")},
		{name: "root-without-index", hurts: "403", site: root("root /usr/share;")},
		{name: "root-of-root", hurts: "403: the worker may not read it", site: root("root /root;")},
		{name: "index-missing", hurts: "403", site: root("root /usr/share/nginx/html;\n    index home.php;")},
		{name: "alias-without-slash", hurts: "404", site: root("alias /usr/share/nginx/htm;")},
		{name: "autoindex-instead", hurts: "a list of files", site: root("root /usr/share;\n    autoindex on;")},
		{name: "empty-gif-instead", hurts: "a pixel", site: root("empty_gif;")},
		{name: "stub-status-instead", hurts: "figures", site: root("stub_status;")},
		{name: "slash-of-a-location", hurts: "a location without requests", site: site{location: "location /api/ {\n    proxy_pass http://127.0.0.1:8081;\n}"}},
		{name: "error-page-hides", hurts: "an answer of the wrong kind", site: site{location: "location / {\n    root /nowhere;\n    error_page 404 =200 /empty;\n}\nlocation = /empty {\n    return 200 \"\";\n}"}},
		{name: "certificate-of-a-variable", hurts: "TLS, and a certificate that is read for each connection", site: site{listen: "listen 8080 ssl;", server: "ssl_certificate /tmp/$ssl_server_name.crt;\nssl_certificate_key /tmp/$ssl_server_name.key;"}},
	}
}

// loops lead back to where they started.
func loops() []entry {
	return []entry{
		{name: "redirect-loop-of-two", hurts: "two addresses that redirect to each other", site: site{location: "location / {\n    return 302 /a;\n}\nlocation = /a {\n    return 302 /;\n}"}},
		{name: "redirect-to-port", hurts: "a redirect to a port without a listener", site: site{server: "rewrite ^ http://$host:8099$request_uri permanent;"}},
		{name: "redirect-of-the-name", hurts: "a redirect to a name that is not there", site: site{server: "if ($host != www.example.com) {\n    return 301 http://www.example.com$request_uri;\n}"}},
		{name: "error-page-loop", hurts: "an error page that is not there, again and again", site: site{location: "location / {\n    root /nowhere;\n    recursive_error_pages on;\n    error_page 404 /missing;\n}"}},
		{name: "error-page-named-loop", hurts: "500 after ten rounds", site: site{location: "location / {\n    recursive_error_pages on;\n    error_page 418 = @again;\n    return 418;\n}\nlocation @again {\n    recursive_error_pages on;\n    error_page 418 = @again;\n    return 418;\n}"}},
		{name: "index-loop", hurts: "500: an index that is its own folder", site: site{location: "location / {\n    root /usr/share/nginx/html;\n    index /index.php;\n}\nlocation = /index.php {\n    rewrite ^ / last;\n}"}},
		{name: "proxy-to-itself-by-host", hurts: "a request to the requested host, which is itself", site: site{pass: "proxy_pass http://$http_host;\nproxy_set_header Host $http_host;"}},
		{name: "proxy-to-itself-by-upstream", hurts: "a request to itself", site: site{http: "upstream app {\n    server 127.0.0.1:8080;\n    keepalive 16;\n}", pass: "proxy_pass http://app;"}},
		{name: "proxy-to-itself-by-backup", hurts: "a request to itself when the backend is gone", site: site{http: "upstream app {\n    server 127.0.0.1:8089;\n    server 127.0.0.1:8080 backup;\n}", pass: "proxy_pass http://app;"}},
		{name: "proxies-to-each-other", hurts: "two servers that pass requests to each other", site: site{pass: "proxy_pass http://127.0.0.1:8082;", http: "server {\n    listen 127.0.0.1:8082;\n    location / {\n        proxy_pass http://127.0.0.1:8080;\n    }\n}"}},
		{name: "fastcgi-to-itself", hurts: "another protocol, to itself", site: site{pass: "fastcgi_pass 127.0.0.1:8080;"}},
	}
}

// streams use the port of HTTP.
func streams() []entry {
	on := func(text string) site {
		return site{listen: "listen 8082;", stream: "server {\n    listen 8080;\n    " + text + "\n}"}
	}
	return []entry{
		{name: "stream-to-nobody", hurts: "connections are closed", site: on("proxy_pass 127.0.0.1:8089;")},
		{name: "stream-deny-all", hurts: "connections are closed", site: on("deny all;\n    proxy_pass 127.0.0.1:8082;")},
		{name: "stream-proxy-protocol", hurts: "a backend that does not know the protocol", site: on("proxy_protocol on;\n    proxy_pass 127.0.0.1:8082;")},
		{name: "stream-listen-proxy-protocol", hurts: "clients do not say who they are", site: site{listen: "listen 8082;", stream: "server {\n    listen 8080 proxy_protocol;\n    proxy_pass 127.0.0.1:8082;\n}"}},
		{name: "stream-proxy-ssl", hurts: "TLS to a backend without", site: on("proxy_ssl on;\n    proxy_pass 127.0.0.1:8082;")},
		{name: "stream-ssl-preread", hurts: "no server name without TLS", site: site{listen: "listen 8082;",
			stream: "map $ssl_preread_server_name $target {\n    shop.example.com 127.0.0.1:8082;\n}\nserver {\n    listen 8080;\n    ssl_preread on;\n    proxy_pass $target;\n}"}},
		{name: "stream-timeout-0", hurts: "connections end before an answer", site: on("proxy_timeout 0;\n    proxy_pass 127.0.0.1:8082;")},
		{name: "stream-rate-1", hurts: "a byte a second", site: on("proxy_download_rate 1;\n    proxy_pass 127.0.0.1:8082;")},
		{name: "stream-bind", hurts: "an address that is not the pod's", site: on("proxy_bind 192.0.2.1;\n    proxy_pass 127.0.0.1:8082;")},
		{name: "stream-return-http", hurts: "an answer to nothing", site: on("return \"HTTP/1.1 200 OK\\r\\n\\r\\n\";")},
	}
}
