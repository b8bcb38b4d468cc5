package screen

import (
	"strings"
	"testing"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/plugin/view"
	"example.com/nginx-operator/test/golden"
)

// TestConfig: configurations, their differences and the outcomes of tests, with hostile files.
func TestConfig(t *testing.T) {
	served := view.Config{Name: "served", Revision: "0123456789abcdef", Pods: []string{"web-1", "web-2"}, Files: map[string]string{
		"site.conf": "server {\n\tlisten 80;\n}\n", "old.conf": "# \x1b[2J gone\n",
	}}
	local := view.Config{Name: "local", Files: map[string]string{"site.conf": "server {\n\tlisten 8080;\n}\n", "new.conf": "# new"}}
	var out strings.Builder
	p := printerTo(&out)
	for _, show := range []func() error{
		func() error { return p.Config(served) },
		func() error { return p.Diff(served, local) },
		func() error { return p.Diff(local, local) },
		func() error {
			return p.Tested("web-1", instanceapi.ConfigTest{Test: instanceapi.Passed, Unread: []string{"extra.conf"}})
		},
		func() error {
			return p.Tested("web-2", instanceapi.ConfigTest{Test: instanceapi.Failed, Problems: []instanceapi.Problem{
				{File: "site.conf", Line: 3, Message: "unknown directive \"lisen\""}, {File: "mime.types", Message: "not found"}, {Message: "out of memory"},
			}})
		},
	} {
		if err := show(); err != nil {
			t.Fatal(err)
		}
		out.WriteString("\n")
	}
	golden.Compare(t, "testdata/config.txt", out.String())
}
