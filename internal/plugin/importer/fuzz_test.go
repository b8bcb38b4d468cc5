package importer

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"example.com/nginx-operator/internal/instance/syntax"
)

// FuzzConfig: each statement of a file that is imported is in the review once, what remains is as well formed as the input,
// and no line moves.
func FuzzConfig(f *testing.F) {
	for _, name := range []string{"shop/nginx.conf", "shop/conf.d/shop.conf", "legacy/nginx.conf"} {
		text, err := os.ReadFile("testdata/conf/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), "server { listen 80; }")
	}
	f.Add("http { include *; include /etc/nginx/b; }", "include nginx.conf;")
	f.Fuzz(func(t *testing.T, main, other string) {
		source := Map{"/etc/nginx/nginx.conf": main, "/etc/nginx/conf.d/b.conf": other, "/etc/nginx/b": other}
		c := newConf(source, Options{})
		if err := c.run([]string{"/etc/nginx/nginx.conf"}); err != nil {
			return
		}
		reviewed := map[string]int{}
		for _, i := range c.review.Items {
			reviewed[i.Source]++
		}
		for path, f := range c.byPath {
			if f.plain {
				continue
			}
			n := 0
			for range syntax.Statements(f.text) {
				n++
			}
			if n != reviewed[shown(path)] {
				t.Errorf("%s has %d statements, and %d are reviewed", path, n, reviewed[shown(path)])
			}
			text := tidy(f.result())
			if bad := syntax.Check(text); bad != nil {
				t.Errorf("%s is no configuration any more: %v\n%s", path, bad, text)
			}
			if strings.Count(text, "\n") != strings.Count(f.text, "\n") {
				t.Errorf("the lines of %s have moved:\n%s", path, text)
			}
		}
	})
}

// FuzzManifests: no input makes the import panic, and its result can be written.
func FuzzManifests(f *testing.F) {
	for _, name := range []string{"ingress/ingress.yaml", "deployment/deployment.yaml", "templates/pod.yaml", "annotations/ingress.yaml", "closed/ingress.yaml"} {
		text, err := os.ReadFile("testdata/manifests/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		result, err := Manifests([]Document{{Name: "fuzz", Text: []byte(text)}}, Options{})
		if err != nil {
			return
		}
		for _, app := range result.Applications {
			if app.Spec.Config == nil {
				continue
			}
			for name, text := range app.Spec.Config.Files {
				if bad := syntax.Check(string(text)); bad != nil && strings.HasPrefix(name, "ingress.conf") {
					t.Errorf("%s is no configuration: %v\n%s", name, bad, text)
				}
			}
		}
		if err := result.Write(&bytes.Buffer{}, "yaml"); err != nil {
			t.Error(err)
		}
	})
}
