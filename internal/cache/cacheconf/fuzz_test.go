package cacheconf

import (
	"strings"
	"testing"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/internal/instance/syntax"
)

// FuzzRules: whatever a rule matches, it stays one entry of one map: it cannot end the map and add directives of its own.
func FuzzRules(f *testing.F) {
	for _, seed := range []string{"/static/", `^/\d+"$`, `"; } server { listen 99; } map $a $b { "`, `\`, `\"`, "${host}", "a;b", "}", "#"} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, prefix, expression string) {
		in := full()
		in.Cache.Spec.Rules = []v1alpha1.Rule{
			{Match: v1alpha1.Match{PathPrefix: &prefix}},
			{Match: v1alpha1.Match{PathRegularExpression: &expression}},
		}
		files, err := Edge(in)
		if err != nil {
			return
		}
		if got, want := shape(files["rules.conf"]), shape(reference(t)); got != want {
			t.Errorf("prefix %q, expression %q: the directives are\n%s\nwant\n%s", prefix, expression, got, want)
		}
	})
}

// reference returns the file with two rules that need no quoting.
func reference(t *testing.T) string {
	t.Helper()
	in := full()
	in.Cache.Spec.Rules = []v1alpha1.Rule{
		{Match: v1alpha1.Match{PathPrefix: new("/a")}},
		{Match: v1alpha1.Match{PathRegularExpression: new("a")}},
	}
	files, err := Edge(in)
	if err != nil {
		t.Fatal(err)
	}
	return files["rules.conf"]
}

// shape returns the blocks of a file, and the number of arguments of each directive.
func shape(text string) string {
	var b strings.Builder
	syntax.NewTree("", map[string]string{"f": text}).Walk("f", func(v syntax.Visit) {
		b.WriteString(strings.Repeat(" ", len(v.Context)))
		if len(v.Context) == 0 {
			b.WriteString(v.Name + " " + strings.Join(v.Args, " "))
		} else {
			b.WriteString(strings.Repeat("x", len(v.Args)))
		}
		b.WriteString("\n")
	})
	return b.String()
}
