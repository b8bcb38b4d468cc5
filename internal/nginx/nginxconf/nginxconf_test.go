package nginxconf

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/test/golden"
)

func TestDefaultGolden(t *testing.T) {
	config, err := Default([]int32{80, 8080}, false)
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, filepath.Join("testdata", "default.conf"), config.Files["default.conf"])
	if config, err = Default([]int32{80, 8080}, true); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, filepath.Join("testdata", "default-ipv6.conf"), config.Files["default.conf"])
}

func TestNewPassesFilesThrough(t *testing.T) {
	user := Files{"site.conf": "server { listen 80; } # \u00e9\r\n\t", "page.html": "<p>"}
	config, err := New(user)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Config{Files: user, Revision: Revision(user)}, config); diff != "" {
		t.Errorf("New (-want +got):\n%s", diff)
	}
}

func TestNewRefuses(t *testing.T) {
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
		"too large":        {Files{"a.conf": strings.Repeat("x", MaxTotalBytes)}, "at most 900 KiB"},
		"path":             {Files{"../a.conf": ""}, "not a file name"},
		"folder":           {Files{"conf.d/a.conf": ""}, "not a file name"},
		"injection":        {Files{"a; daemon on;.conf": ""}, "not a file name"},
		"our name":         {Files{"nginx-operator.conf": ""}, "reserved for the operator"},
		"delete":           {Files{"a.conf": "server {}\n\x7f"}, "a.conf:2: there is a control character (U+007F)"},
		"byte order mark":  {Files{"a.conf": "\ufeffserver {}"}, "a.conf:1: there is a control character (U+FEFF)"},
		"next line":        {Files{"a.conf": "server {}\u0085"}, "a.conf:1: there is a control character (U+0085)"},
		"C1":               {Files{"a.conf": "\u0080"}, "U+0080"},
		"newline":          {Files{"a\n.conf": ""}, "not a file name"},
		"long name":        {Files{strings.Repeat("a", 254) + ".conf": ""}, "longer than 253"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := New(tt.files)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("New() error = %v, want one that says %q", err, tt.want)
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

func BenchmarkNew(b *testing.B) {
	site := strings.Repeat("server { listen 80; location / { return 200 ok; } }\n", 100)
	user := Files{}
	for _, name := range []string{"a.conf", "b.conf", "c.conf", "d.conf"} {
		user[name] = site
	}
	b.SetBytes(int64(len(user) * len(site)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := New(user); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDefault(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Default([]int32{80, 8080}, true); err != nil {
			b.Fatal(err)
		}
	}
}
