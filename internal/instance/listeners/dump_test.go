package listeners

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/instance/syntax"
)

// read writes a dump in pieces of the given size.
func read(known map[string]string, text string, size int) *Dump {
	d := NewDump(known)
	for len(text) > 0 {
		n := min(size, len(text))
		_, _ = d.Write([]byte(text[:n]))
		text = text[n:]
	}
	return d
}

func TestDump(t *testing.T) {
	const pasted = "# configuration file /c/other.conf:\nserver { listen 81; }\n"
	tests := map[string]struct {
		known map[string]string
		text  string
		want  map[string]string
	}{
		"nothing": {nil, "", map[string]string{}},
		"known and unknown": {map[string]string{"/c/a.conf": "server {}"},
			"# configuration file /c/a.conf:\nserver {}\n# configuration file /e/b.conf:\nlisten 80;\n\n",
			map[string]string{"/c/a.conf": "server {}", "/e/b.conf": "listen 80;\n\n"}},
		"a dump inside of a known file": {map[string]string{"/c/a.conf": pasted},
			"# configuration file /c/a.conf:\n" + pasted + "\n# configuration file /c/other.conf:\nlisten 80;\n\n",
			map[string]string{"/c/a.conf": pasted, "/c/other.conf": "listen 80;\n\n"}},
		"a known name, another content": {map[string]string{"/c/a.conf": "listen 82;"},
			"# configuration file /c/a.conf:\nlisten 81;\n", map[string]string{"/c/a.conf": "listen 81;\n"}},
		"data": {nil,
			"# configuration file /e/geo:\n# a list\n10.0.0.0/8 1;\n\"a b\" c; # d\ninclude /e/more;\n\n",
			map[string]string{"/e/geo": "\n\n\ninclude /e/more;\n\n"}},
		"a statement over two lines": {nil,
			"# configuration file /e/a:\nserver {\nlisten\n  80 ssl;\nroot /srv;\n}\n",
			map[string]string{"/e/a": "server {\nlisten\n  80 ssl;\n\n}\n"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{1, 7, 1 << 20} {
				d := read(tt.known, tt.text, size)
				if diff := cmp.Diff(tt.want, d.Files()); diff != "" || d.Cut() {
					t.Errorf("in pieces of %d (-want +got, cut: %t):\n%s", size, d.Cut(), diff)
				}
			}
		})
	}
}

// TestLargeDump: a listener after a million lines of data is found, with little memory.
func TestLargeDump(t *testing.T) {
	const lines = 1_000_000
	site := "server {\n  listen 8080;\n}\n"
	d := NewDump(map[string]string{"/c/main": "http { include /data/geo; include site; }", "/c/site": site})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	write := func(format string, args ...any) { _, _ = fmt.Fprintf(d, format, args...) }
	write("# configuration file /c/main:\nhttp { include /data/geo; include site; }\n# configuration file /data/geo:\ngeo $a {\n")
	for i := range lines {
		write("10.%d.%d.%d/32 value-%d;\n", i>>16&255, i>>8&255, i&255, i)
	}
	write("}\n\n# configuration file /c/site:\n%s\n", site)
	files := d.Files()
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("%d lines take %d MiB", lines, grown>>20)
	}
	if got := strings.Count(files["/data/geo"], "\n"); got != lines+3 {
		t.Errorf("%d of %d lines are left", got, lines+3)
	}
	found, _ := Reader{TLSDir: "/tls", DefaultPort: 80}.All(syntax.NewTree("/c", files), filepath.Join("/c", "main"))
	if len(found) != 1 || found[0].First != 8080 || found[0].Line != 2 || d.Cut() {
		t.Errorf("listeners: %+v, cut: %t", found, d.Cut())
	}
}

// TestTooLargeDump: the kept directives are bounded, and Cut reports that some were dropped.
func TestTooLargeDump(t *testing.T) {
	d := NewDump(nil)
	_, _ = d.Write([]byte("# configuration file /e/a:\n"))
	for range maxKept/8 + 1 {
		_, _ = d.Write([]byte("listen 80;\n"))
	}
	if !d.Cut() || len(d.Files()["/e/a"]) > maxKept {
		t.Errorf("cut: %t, %d bytes", d.Cut(), len(d.Files()["/e/a"]))
	}
}
