package site

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// repository writes a repository, and returns what its documents become.
func repository(t *testing.T, files map[string]string) *Site {
	t.Helper()
	root := t.TempDir()
	all := map[string]string{
		"VERSION":        "1.2.3\n",
		"README.md":      "# Home\n[all](docs/README.md)\n",
		"docs/README.md": "# Documents\n[home](../README.md)\n",
	}
	maps.Copy(all, files)
	for name, text := range all {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCheck(t *testing.T) {
	files := map[string]string{"docs/image.svg": "<svg/>", "config/a.yaml": "a: b\n"}
	for name, tt := range map[string]struct{ link, want string }{
		"a page":               {"[a](README.md)", ""},
		"an anchor":            {"[a](#page)", ""},
		"an anchor elsewhere":  {"[a](../README.md#home)", ""},
		"a file":               {"[a](../config/a.yaml)", ""},
		"a folder":             {"[a](../config)", ""},
		"a folder with a page": {"[a](../docs#documents)", ""},
		"an image":             {"![a](image.svg)", ""},
		"an external link":     {"[a](https://example.com/#a)", ""},
		"no page":              {"[a](none.md)", "docs/page.md:3: none.md: there is no file docs/none.md"},
		"no anchor":            {"[a](#none)", "docs/page.md:3: #none: docs/page.md has no heading with the anchor #none"},
		"no anchor elsewhere":  {"[a](../README.md#none)", "docs/page.md:3: ../README.md#none: README.md has no heading with the anchor #none"},
		"an anchor of a file":  {"[a](../config/a.yaml#b)", "docs/page.md:3: ../config/a.yaml#b: config/a.yaml is not a page, so it has no anchors"},
		"out of the tree":      {"[a](../../etc/passwd)", "docs/page.md:3: ../../etc/passwd: it leads out of the repository"},
		"an absolute path":     {"[a](/etc/passwd)", "docs/page.md:3: /etc/passwd: write the path relative to the page"},
		"a script":             {"[a](javascript:alert)", `docs/page.md:3: javascript:alert: the scheme "javascript" is not https, http or mailto`},
		"a foreign image":      {"![a](https://example.com/a.png)", "docs/page.md:3: https://example.com/a.png: a page loads nothing from elsewhere: add the image to the repository"},
		"no image":             {"![a](../config/a.yaml)", "docs/page.md:3: ../config/a.yaml: config/a.yaml is not an image"},
		"empty":                {"[a]()", "docs/page.md:3: : the link is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			files["docs/page.md"] = "# Page\n\n" + tt.link + "\n"
			files["README.md"] = "# Home\n[all](docs/README.md) [page](docs/page.md)\n"
			if got := strings.Join(repository(t, files).Check(), "\n"); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestCheckOrphans(t *testing.T) {
	got := repository(t, map[string]string{"docs/lost.md": "# Lost\n[itself](lost.md)\n"}).Check()
	want := []string{"docs/lost.md:1: no page links to this page: add it to docs/README.md"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestFiles: links lead to the addresses of the site, and what pages link to is part of it.
func TestFiles(t *testing.T) {
	s := repository(t, map[string]string{
		"docs/README.md": "# Documents\n\n## How-to guides\n\n- [First](first.md)\n- [Second](sub/second.md), with [files](../config)\n\n[home](../README.md)\n",
		"docs/first.md":  "# First\n\n[second](sub/second.md#part) ![](i.svg) [f](../config/deep/a.yaml) [up](#part) [e](https://example.com)\n\n## Part\n",
		"docs/i.svg":     "<svg/>", "config/deep/a.yaml": "a: <b>\n",
		"docs/sub/second.md": "# Second\n\n## Part\n",
	})
	if got := s.Check(); len(got) > 1 {
		t.Errorf("findings: %v", got)
	}
	files, err := s.Files()
	if err != nil {
		t.Fatal(err)
	}
	for file, texts := range map[string][]string{
		"docs/first.html": {
			`href="sub/second.html#part"`, `src="i.svg"`, `href="../source/config/deep/a.yaml.html"`, `href="#part"`, `href="https://example.com"`,
			`href="../assets/style.css"`, `aria-current="page">First</a>`, `<h2>How-to guides</h2>`, `rel="next" href="sub/second.html"`, "<title>First · nginx-operator</title>", "1.2.3",
		},
		"docs/sub/second.html":           {`href="../../assets/style.css"`, `data-base="../.."`, `rel="prev" href="../first.html"`},
		"docs/index.html":                {"<h1 id=\"documents\">"},
		"index.html":                     {`href="docs/index.html"`, `data-base="."`},
		"docs/i.svg":                     {"<svg/>"},
		"source/config.html":             {`<a href="config/deep.html"><code>deep/</code></a>`},
		"source/config/deep/a.yaml.html": {"&lt;b&gt;"},
		"assets/search-index.js":         {`"address":"docs/first.html#part"`},
		"assets/style.css":               {"prefers-color-scheme: dark", ".chroma"},
		"assets/search.js":               {"function search"},
		"assets/page.js":                 {"search-index.js"},
	} {
		for _, text := range texts {
			if !strings.Contains(string(files[file]), text) {
				t.Errorf("%s lacks %s:\n%s", file, text, files[file])
			}
		}
	}
}

// TestRepository: the documents of this repository have no finding.
func TestRepository(t *testing.T) {
	s, err := Open("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, finding := range s.Check() {
		t.Error(finding)
	}
}
