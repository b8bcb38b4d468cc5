package instance

import (
	"flag"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/instanceapi"
)

// parse parses the arguments of `nginx-instance run`.
func parse(arguments ...string) (Options, error) {
	var o Options
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	o.AddFlags(flags)
	if err := flags.Parse(arguments); err != nil {
		return o, err
	}
	return o, o.Validate()
}

func TestOptions(t *testing.T) {
	o, err := parse("--port=http:8080", "--port=dns:53/UDP", "--port=last:65535/TCP", "--certificate=shop", "--certificate=a.b-1", "--reload-on=/etc/extra", "--reload-on=/srv/users")
	if err != nil {
		t.Fatal(err)
	}
	ports := []instanceapi.DeclaredPort{
		{Name: "http", Port: 8080, Protocol: "TCP"}, {Name: "dns", Port: 53, Protocol: "UDP"}, {Name: "last", Port: 65535, Protocol: "TCP"},
	}
	if diff := cmp.Diff(ports, o.Ports); diff != "" {
		t.Errorf("ports -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"shop", "a.b-1"}, o.Certificates); diff != "" {
		t.Errorf("certificates -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"/etc/extra", "/srv/users"}, o.ReloadOn); diff != "" {
		t.Errorf("folders -want +got:\n%s", diff)
	}
	if !o.RequestMetrics || o.Listen != ":9113" || o.Stable != instanceapi.DirStable {
		t.Errorf("the defaults are %+v", o)
	}
}

func TestOptionsThatAreRefused(t *testing.T) {
	for argument, want := range map[string]string{
		"--port=8080":            "must have the form",
		"--port=:8080":           "must have the form",
		"--port=http:0":          "must have the form",
		"--port=http:65536":      "must have the form",
		"--port=http:-1":         "must have the form",
		"--port=http:80/SCTP":    "must have the form",
		"--port=http:80/":        "must have the form",
		"--certificate=":         "a name must consist of",
		"--certificate=..":       "a name must consist of",
		"--certificate=a/b":      "a name must consist of",
		"--certificate=../shop":  "a name must consist of",
		"--certificate=shop.":    "a name must consist of",
		"--reload-on=extra":      "absolute path",
		"--drain-delay=-1s":      "--drain-delay",
		"--drain-timeout=999ms":  "--drain-timeout",
		"--request-metrics=some": "request-metrics",
	} {
		if _, err := parse(argument); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", argument, err, want)
		}
	}
}
