package importset

import "testing"

func TestMissing(t *testing.T) {
	for output, want := range map[string]Need{
		`2026/11/26 15:02:51 [emerg] 1#1: host not found in upstream "app:3000" in /etc/nginx/nginx.conf:7`:                           {Host, "app"},
		`[emerg] 1#1: open() "/etc/nginx/x.conf" failed (2: No such file or directory) in /etc/nginx/nginx.conf:5`:                    {File, "/etc/nginx/x.conf"},
		`[emerg] 1#1: open() "/srv/log/a.log" failed (2: No such file or directory)`:                                                  {Folder, "/srv/log"},
		`[emerg] 1#1: mkdir() "/cache/a" failed (30: Read-only file system)`:                                                          {Folder, "/cache"},
		`[emerg] 1#1: bind() to unix:/srv/a.sock failed (2: No such file or directory)`:                                               {Folder, "/srv"},
		`[emerg] 1#1: cannot load certificate "/etc/ssl/a.pem": BIO_new_file() failed (SSL: error:80000002)`:                          {Certificate, "/etc/ssl/a.pem"},
		`[emerg] 1#1: cannot load certificate key "/etc/ssl/a.key": BIO_new_file() failed (SSL: error:80000002)`:                      {Key, "/etc/ssl/a.key"},
		`[emerg] 1#1: BIO_new_file("/etc/ssl/dh.pem") failed (SSL: error:80000002)`:                                                   {Parameters, "/etc/ssl/dh.pem"},
		`[emerg] 1#1: SSL_CTX_load_verify_locations("/etc/ssl/ca.pem") failed (SSL: error:80000002)`:                                  {Certificate, "/etc/ssl/ca.pem"},
		"[warn] 1#1: the \"user\" directive\n2026/11/26 15:02:51 [emerg] 1#1: host not found in resolver \"dns\" in /etc/nginx/a:1\n": {Host, "dns"},
	} {
		if got, known := Missing(Refusal(output)); !known || got != want {
			t.Errorf("%s: %v, %t, want %v", output, got, known, want)
		}
	}
	if _, known := Missing(`unknown directive "x" in /etc/nginx/nginx.conf:1`); known {
		t.Error("an unknown directive can be provided")
	}
}

func TestMissingAround(t *testing.T) {
	for refusal, want := range map[string]string{
		`no "ssl_certificate" is defined for the "listen ... ssl" directive in /etc/nginx/a:1`: "ssl_certificate /etc/nginx/part.crt; ssl_certificate_key /etc/nginx/part.key;",
		`no port in upstream "php" in /etc/nginx/a:3`:                                          "upstream php { server 198.18.0.1:8080; }",
		`unknown "cache_bypass" variable`:                                                      `map "" $cache_bypass { default ""; }`,
		`unknown log format "main" in /etc/nginx/a:3`:                                          `log_format main "$request";`,
	} {
		if got, known := MissingAround(refusal); !known || got.Name != want {
			t.Errorf("%s: %v, %t, want %q", refusal, got, known, want)
		}
	}
}

func TestReason(t *testing.T) {
	for refusal, want := range map[string]string{
		`unknown directive "js_import" in /etc/nginx/nginx.conf:4`:  `unknown directive "js_import"`,
		`duplicate upstream "a" in /etc/nginx/nginx.conf:4`:         `duplicate upstream "…"`,
		`"server" directive is not allowed here in /etc/nginx/a:40`: `"server" directive is not allowed here`,
	} {
		if got := Reason(refusal); got != want {
			t.Errorf("Reason(%q) = %q, want %q", refusal, got, want)
		}
	}
}
