package nginxconf

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/golden"
)

func TestRenderGolden(t *testing.T) {
	tests := map[string]struct {
		render func() (Config, error)
	}{
		"default": {func() (Config, error) { return Default([]int32{80, 8080}) }},
		"http":    {func() (Config, error) { return Render(Files{"b.conf": "server {}", "a.conf": "server {}"}) }},
		"contexts": {func() (Config, error) {
			return Render(Files{
				"site.conf":       "server {}",
				"tcp.stream.conf": "server {}",
				"env.main.conf":   "env TZ;",
				"mime.types":      "types {}",
			})
		}},
		"whole": {func() (Config, error) { return Render(Files{"nginx.conf": "events {}\n", "extra.conf": "# mine\n"}) }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			config, err := tt.render()
			if err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, filepath.Join("testdata", name+".nginx.conf"), config.Files[config.Main])
			if config.Revision != Revision(config.Files) {
				t.Errorf("Revision %q is not that of the files, %q", config.Revision, Revision(config.Files))
			}
		})
	}
}

func TestRenderPassesUserFilesThrough(t *testing.T) {
	user := Files{"site.conf": "server { listen 80; } # \u00e9\r\n\t", "page.html": "<p>"}
	config, err := Render(user)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range user {
		if config.Files[name] != text {
			t.Errorf("%s became %q, want %q", name, config.Files[name], text)
		}
	}
	if diff := cmp.Diff(user, UserFiles(config.Files)); diff != "" {
		t.Errorf("UserFiles does not undo Render (-want +got):\n%s", diff)
	}
	if _, added := user[GeneratedFile]; added {
		t.Error("Render changed the map of its caller")
	}
}

func TestRenderRefuses(t *testing.T) {
	many := Files{}
	for i := range maxFiles + 1 {
		many[strings.Repeat("a", i+1)+".conf"] = ""
	}
	tests := map[string]struct {
		files Files
		want  string
	}{
		"nothing":          {Files{}, "has no files"},
		"no configuration": {Files{"index.html": "hi"}, "no file that ends in .conf"},
		"too many":         {many, "at most 256"},
		"too large":        {Files{"a.conf": strings.Repeat("x", maxTotalBytes)}, "at most 900 KiB"},
		"path":             {Files{"../a.conf": ""}, "not a file name"},
		"folder":           {Files{"conf.d/a.conf": ""}, "not a file name"},
		"injection":        {Files{"a; daemon on;.conf": ""}, "not a file name"},
		"our name":         {Files{GeneratedFile: ""}, "operator's own file"},
		"newline":          {Files{"a\n.conf": ""}, "not a file name"},
		"long name":        {Files{strings.Repeat("a", 254) + ".conf": ""}, "longer than 253"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Render(tt.files)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Render() error = %v, want one that says %q", err, tt.want)
			}
		})
	}
}

func TestRevision(t *testing.T) {
	base := Files{"a": "b", "c": "d"}
	if Revision(base) != Revision(Files{"c": "d", "a": "b"}) {
		t.Error("the revision depends on the order of the files")
	}
	for name, other := range map[string]Files{
		"moved boundary": {"a": "bc", "": "d"},
		"other text":     {"a": "b", "c": "e"},
		"other name":     {"a": "b", "e": "d"},
		"one file less":  {"a": "b"},
	} {
		if Revision(base) == Revision(other) {
			t.Errorf("%s: different files have the same revision", name)
		}
	}
}
