package problems

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/instanceapi"
)

// reader returns a Reader that owns the files directly in the folder of a revision.
func reader() Reader {
	const dir = "/run/nginx-operator/revisions/r1-1"
	return Reader{Hidden: []string{dir}, Own: func(file string) bool {
		name, inside := strings.CutPrefix(file, dir+"/")
		return inside && !strings.Contains(name, "/")
	}}
}

func TestProblems(t *testing.T) {
	tests := map[string]struct {
		text string
		want []instanceapi.Problem
	}{
		"a file and a line": {
			"nginx: [emerg] unknown directive \"lisen\" in /run/nginx-operator/revisions/r1-1/site.conf:2\n",
			[]instanceapi.Problem{{File: "site.conf", Line: 2, Message: `unknown directive "lisen"`}}},
		"of Angie": {
			"angie: [emerg] unknown directive \"lisen\" in /run/nginx-operator/revisions/r1-1/site.conf:2\n",
			[]instanceapi.Problem{{File: "site.conf", Line: 2, Message: `unknown directive "lisen"`}}},
		"no place": {
			"2026/11/21 05:00:00 [emerg] 7#7: no \"events\" section in configuration\n",
			[]instanceapi.Problem{{Message: `no "events" section in configuration`}}},
		"a warning": {"nginx: [warn] conflicting server name\n", nil},
		"twice": {
			"nginx: [emerg] a in /run/nginx-operator/revisions/r1-1/a.conf:1\nnginx: [emerg] a in /run/nginx-operator/revisions/r1-1/a.conf:1\n",
			[]instanceapi.Problem{{File: "a.conf", Line: 1, Message: "a"}}},
		"a foreign file": {
			"nginx: [emerg] unknown directive \"CANARY\" in /etc/nginx/tls/shop/tls.key:1\n",
			[]instanceapi.Problem{{File: "/etc/nginx/tls/shop/tls.key", Line: 1, Message: notShown}}},
		"by a link beside the configuration": {
			"nginx: [emerg] unknown directive \"CANARY\" in /run/nginx-operator/revisions/r1-1/tls/shop/tls.key:1\n",
			[]instanceapi.Problem{{File: "tls/shop/tls.key", Line: 1, Message: notShown}}},
		"a key in the configuration": {
			"nginx: [emerg] cannot load certificate key \"data:-----BEGIN CANARY\": PEM_read\n",
			[]instanceapi.Problem{{Message: `cannot load certificate key "(not shown)`}}},
		"a password in an address": {
			"nginx: [emerg] invalid port in upstream \"user:CANARY@host:99999\" in /run/nginx-operator/revisions/r1-1/a.conf:1\n",
			[]instanceapi.Problem{{File: "a.conf", Line: 1, Message: `invalid port in upstream "(not shown)@host:99999"`}}},
		"control characters": {
			"nginx: [emerg] unknown directive \"\x1b[2J\" in /run/nginx-operator/revisions/r1-1/a.conf:1\n",
			[]instanceapi.Problem{{File: "a.conf", Line: 1, Message: `unknown directive "?[2J"`}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, reader().Problems(tt.text)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestRedact(t *testing.T) {
	const own = `2026/11/21 05:00:00 [emerg] 7#7: unknown directive "lisen" in /run/nginx-operator/revisions/r1-1/site.conf:2`
	tests := map[string]struct{ line, want string }{
		"the configuration's own": {own, own},
		"nothing about a file":    {"2026/11/21 05:00:00 [notice] 7#7: start worker processes", "2026/11/21 05:00:00 [notice] 7#7: start worker processes"},
		"not nginx's":             {"CANARY", "CANARY"},
		"a password in an address": {
			`2026/11/21 05:00:00 [emerg] 7#7: invalid port in upstream "user:CANARY@h" in /run/nginx-operator/revisions/r1-1/site.conf:2`,
			`2026/11/21 05:00:00 [emerg] 7#7: invalid port in upstream "(not shown)@h" in /run/nginx-operator/revisions/r1-1/site.conf:2`},
		"a password in an address of a request": {
			`2026/11/21 05:00:00 [error] 9#9: *1 no live upstreams, upstream: "http://user:CANARY@h/"`,
			`2026/11/21 05:00:00 [error] 9#9: *1 no live upstreams, upstream: "http://(not shown)@h/"`},
		"foreign": {
			`2026/11/21 05:00:00 [emerg] 7#7: unknown directive "CANARY" in /run/nginx-operator/revisions/r1-1/tls/shop/users:1`,
			`2026/11/21 05:00:00 [emerg] 7#7: ` + notShown + ` in /run/nginx-operator/revisions/r1-1/tls/shop/users:1`},
		"foreign, of Angie": {
			`angie: [emerg] unknown directive "CANARY" in /etc/nginx/tls/shop/tls.key:1`,
			`angie: [emerg] ` + notShown + ` in /etc/nginx/tls/shop/tls.key:1`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := reader().Redact(tt.line); got != tt.want {
				t.Errorf("Redact = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestLastLines(t *testing.T) {
	const alert = "2026/11/21 05:00:00 [alert] 7#7: worker process 9 exited on signal 9"
	got := FatalLines([]string{
		"2026/11/21 05:00:00 [notice] 7#7: start worker processes",
		`2026/11/21 05:00:00 [error] 9#9: *1 open() "/x" failed, client: 10.0.0.1, request: "GET /?token=CANARY HTTP/1.1"`,
		`2026/11/21 05:00:00 [crit] 9#9: *2 open() "/x" failed (13: Permission denied), client: 10.0.0.1, request: "GET /?token=CANARY HTTP/1.1"`,
		alert,
		"CANARY",
	})
	if diff := cmp.Diff([]string{alert}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestProblemsOfRequests: requests of clients during a load are not problems of the configuration.
func TestProblemsOfRequests(t *testing.T) {
	got := reader().Problems(`2026/11/21 05:00:00 [error] 9#9: *1 open() "/x" failed, client: 10.0.0.1, request: "GET /?token=CANARY HTTP/1.1"
2026/11/21 05:00:00 [emerg] 7#7: limit_req "z" uses the "$uri" key while previously it used the "$binary_remote_addr" key`)
	if len(got) != 1 || !strings.HasPrefix(got[0].Message, `limit_req "z"`) {
		t.Errorf("%+v", got)
	}
}
