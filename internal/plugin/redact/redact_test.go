package redact

import (
	"strings"
	"testing"
)

// TestText: secrets are hidden in the forms in which they are found in logs, configurations, objects and URLs.
func TestText(t *testing.T) {
	const secret = "s3cr3t-Value"
	for _, text := range []string{
		`GET /api?token=` + secret + `&page=2 HTTP/1.1`,
		`GET /login?user=jo&password=` + secret + ` HTTP/1.1`,
		`GET /cb?code=` + secret + `&state=x HTTP/1.1`,
		`referrer: "https://jo:` + secret + `@shop.example.com/"`,
		`GET /connect?to=postgres%3A%2F%2Fjo%3A` + secret + `%40db%2Fshop HTTP/1.1`,
		`Authorization: Basic ` + secret,
		`"authorization":"` + secret + `"`,
		`authorization=Bearer ` + secret,
		`proxy_set_header Authorization "Bearer ` + secret + `";`,
		`proxy_set_header X-Api-Key ` + secret + `;`,
		`set $backend_token "` + secret + `";`,
		`fastcgi_param DB_PASSWORD ` + secret + `;`,
		`secure_link_md5 "$uri ` + secret + `";`,
		`Set-Cookie: sid=` + secret + `; Path=/`,
		`{"apiKey": "` + secret + `"}`,
		`{"client_secret":"` + secret + `"}`,
		`password: ` + secret,
		`  DB_PASSWORD: '` + secret + `'`,
		`upstream sent "X-Auth-Token: ` + secret + `" while reading`,
		`jo:$apr1$` + secret + `$abc`,
		`jo:{SHA}` + secret,
		"-----BEGIN RSA PRIVATE KEY-----\n" + secret + "\n-----END RSA PRIVATE KEY-----",
		"-----BEGIN EC PRIVATE KEY-----\n" + secret,
		`eyJhbGciOiJIUzI1NiJ9.` + secret + `.c2ln`,
		`key AKIAIOSFODNN7EXAMPLE and ghp_` + strings.ReplaceAll(secret, "-", "") + `0123456789abcdef`,
		`map $http_x_api_key $ok { default 0; "` + secret + `" 1; }`,
		`if ($http_x_api_key != "` + secret + `") { return 403; }`,
		`if ($arg_token = ` + secret + `) { return 403; }`,
		`proxy_set_header X-Auth "a;` + secret + `";`,
		`proxy_set_header Cookie "sid=1; x=` + secret + `";`,
		`{"body":"{\"password\":\"` + secret + `\"}"}`,
		`"{\x22password\x22:\x22` + secret + `\x22}"`,
		"password: |\n  " + secret + "\n",
		`password:` + secret,
		`token = ` + secret,
		`mysql --password ` + secret,
		`password: first ` + secret,
		`redis://:pa/` + secret + `@db`,
		`invalid port in upstream "user:` + secret + `@host:99999"`,
		`server user:pa/` + secret + `@host:8080;`,
		"-----BEGIN PGP PRIVATE KEY BLOCK-----\n" + secret,
		`GET /share/dGhpcyBpcyBhIHNlY3JldCB0b2tlbiE HTTP/1.1`,
		`id 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08`,
	} {
		got := Text(text)
		if strings.Contains(got, secret) || !strings.Contains(got, Mask) {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

// TestOrdinaryText: what support needs stays.
func TestOrdinaryText(t *testing.T) {
	for _, text := range []string{
		`10.0.0.1 - - [26/Nov/2026:11:00:00 +0000] "GET /index.html?page=2 HTTP/1.1" 200 612 "-" "curl/8.1"`,
		`shop-768c558dc9-jtfmj served configuration d4b05fa1591871d0`,
		`image: localhost/nginx:1.30-debian@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08`,
		`uid: 0b0a5c1e-3f5e-4a2b-9a59-2f5d0f6f0d11`,
		`operator.example.com/nginxoperator: shop`,
		`nginx: [emerg] unknown directive "lisen" in /etc/nginx/conf.d/site.conf:3`,
		`reason: MinimumReplicasUnavailable, ProgressDeadlineExceeded`,
		`proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;`,
		`nginx_http_requests_total{code="2xx",method="GET",server="_"} 2`,
		`secretName: site-tls`,
		`"secretRef":{"name":"backend"}`,
		`automountServiceAccountToken: false`,
		`"authorization":"","agent":"curl"`,
		`authorization="" x=1`,
		`GET /cb?to=https%3A%2F%2Fshop.example.com%2Fcart HTTP/1.1`,
		`default-deny-all-ingress-from-other-namespaces`,
	} {
		if got := Text(text); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("password=x")
	f.Fuzz(func(t *testing.T, text string) {
		// What is hidden stays hidden, and hiding ends.
		once := Text(text)
		if strings.Count(Text(once), Mask) < strings.Count(once, Mask) {
			t.Errorf("%q becomes %q", once, Text(once))
		}
	})
}
