package nginxtest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/plugin/lint"
)

func TestVerdicts(t *testing.T) {
	const dir, time = "/tmp/x", "2026/11/26 12:00:00 "
	for message, want := range map[string][]lint.Tested{
		time + `[emerg] 7#7: unknown directive "lisen" in /tmp/x/site.conf:3`: {{Problem: instanceapi.Problem{File: "site.conf", Line: 3, Message: `unknown directive "lisen"`}}},
		time + `[emerg] 7#7: host not found in upstream "app:8080" in /tmp/x/a.conf:1`: {{
			Problem: instanceapi.Problem{File: "a.conf", Line: 1, Message: `host not found in upstream "app:8080": only the cluster has it, so nginx could test the configuration up to here only`}, NotTested: true}},
		time + `[emerg] 7#7: mkdir() "/data/cache" failed (2: No such file or directory)`: {{
			Problem: instanceapi.Problem{Message: `mkdir() "/data/cache" failed (2: No such file or directory): only the cluster has it, so nginx could test the configuration up to here only`}, NotTested: true}},
		time + `[emerg] 7#7: bind() to 192.0.2.1:8080 failed (99: Cannot assign requested address)`: {{
			Problem: instanceapi.Problem{Message: `bind() to 192.0.2.1:8080 failed (99: Cannot assign requested address): only the cluster has it, so nginx could test the configuration up to here only`}, NotTested: true}},
		time + `[emerg] 7#7: bind() to 0.0.0.0:80 failed (13: Permission denied)`:           nil,
		time + `[emerg] 7#7: bind() to 0.0.0.0:8080 failed (98: Address already in use)`:    nil,
		time + `[warn] 7#7: conflicting server name "a" on 0.0.0.0:80, ignored`:             nil,
		"nginx: configuration file /tmp/x/nginx-operator.conf test failed":                  nil,
		`nginx: [emerg] open() "/tmp/x/nginx-operator.conf" failed (13: Permission denied)`: {{Problem: instanceapi.Problem{Message: `open() "nginx-operator.conf" failed (13: Permission denied)`}}},
	} {
		if diff := cmp.Diff(want, verdicts(dir, message+"\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", message, diff)
		}
	}
}

func TestReplaceWord(t *testing.T) {
	for text, want := range map[string]string{
		"proxy_pass http://app;":         "proxy_pass http://127.0.0.1;",
		"server app:8080; server app2:1": "server 127.0.0.1:8080; server app2:1",
		"my-app app.example.com app":     "my-app app.example.com 127.0.0.1",
	} {
		if got := replaceWord(text, "app", "127.0.0.1"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
