//go:build instance

package instance_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/nginx-operator/internal/instanceapi"
)

// stylesheet returns a stylesheet whose result is content, after a document type declaration.
func stylesheet(doctype, content string) string {
	return doctype + `<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">` +
		`<xsl:template match="/"><page>` + content + `</page></xsl:template></xsl:stylesheet>`
}

// transformed returns a configuration that serves TLS and a transformed document.
func transformed(directives string) map[string]string {
	return map[string]string{
		"xslt.main.conf": "load_module /usr/lib/nginx/modules/ngx_http_xslt_filter_module.so;\n",
		"tls.conf":       tlsServer,
		"site.conf": `server {
  listen 80;
  location / {
    default_type text/xml;
    ` + directives + `
    return 200 "<!DOCTYPE a SYSTEM 'a.dtd'><a>&page;</a>";
  }
}
`,
	}
}

// TestKeysAreNotReadByStylesheets: nginx's master process and its tests parse stylesheets and entities themselves, so they get
// the keys that such a file names. None of the keys is served or logged. Other stylesheets work next to TLS.
func TestKeysAreNotReadByStylesheets(t *testing.T) {
	const key = "file:///etc/nginx/tls/shop/tls.key"
	files := map[string]string{
		"good.xsl":      stylesheet(`<!DOCTYPE s [<!ENTITY text SYSTEM "file:///tmp/text">]>`, "&text;"),
		"text":          "transformed",
		"entity.xsl":    stylesheet(`<!DOCTYPE s [<!ENTITY key SYSTEM "`+key+`">]>`, "&key;"),
		"parameter.xsl": stylesheet(`<!DOCTYPE s SYSTEM "file:///tmp/key.dtd">`, "&page;"),
		"key.dtd":       `<!ENTITY % key SYSTEM "` + key + `"><!ENTITY page "%key;">`,
		"entity.dtd":    `<!ENTITY page SYSTEM "` + key + `">`,
		"all.dtd":       `<!ENTITY % key SYSTEM "` + key + `">%key;`,
		"include.xsl":   `<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:include href="` + key + `"/></xsl:stylesheet>`,
		"page.xsl":      stylesheet("", `<xsl:value-of select="/a"/>`),
		"document.xsl":  stylesheet("", `<xsl:copy-of select="document('`+key+`')"/>`),
	}
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, site("first"))
		p.mount(shop, secret(t, 1))
		for name, text := range files {
			must(t, os.WriteFile(filepath.Join(scratchOf(p.dir, "/tmp"), name), []byte(text), 0o644))
		}
		p.start(image, "--port=https:443/TCP", "--certificate=shop")
		secrets := append(p.private()[1:], p.lines()...)
		p.serves(p.roll(transformed("xslt_stylesheet /tmp/good.xsl;")))
		if _, body := p.send(http.MethodGet, "/", ""); !strings.Contains(body, "<page>transformed</page>") || p.served() != 1 {
			t.Errorf("a stylesheet without a key, next to TLS: %q", body)
		}
		for _, directives := range []string{
			"xslt_stylesheet /tmp/entity.xsl;", "xslt_stylesheet /tmp/parameter.xsl;", "xslt_stylesheet /tmp/include.xsl;",
			"xslt_stylesheet /tmp/document.xsl;", "xml_entities /tmp/key.dtd; xslt_stylesheet /tmp/page.xsl;",
			"xml_entities /tmp/entity.dtd; xslt_stylesheet /tmp/page.xsl;",
			"xml_entities /tmp/all.dtd; xslt_stylesheet /tmp/page.xsl;", "xml_entities /etc/nginx/tls/shop/tls.key;",
		} {
			p.revealsNothing(directives, secrets)
		}
		if holdsPrivate(p.output.String(), secrets) {
			t.Error("a key is in the log")
		}
	})
}

// lines returns the lines of the key, besides those around its text.
func (p *Pod) lines() []string {
	p.t.Helper()
	content, err := os.ReadFile(filepath.Join(p.volume(shop), "tls.key"))
	must(p.t, err)
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return lines[1 : len(lines)-1]
}

// revealsNothing fails the test if a configuration with directives is accepted and serves a secret, or is refused with one
// in a message.
func (p *Pod) revealsNothing(directives string, secrets []string) {
	p.t.Helper()
	revision := p.roll(transformed(directives))
	outcome := p.outcome(revision, func(r instanceapi.Revision) bool { return r.Test == instanceapi.Failed || r.Load != "" })
	for _, problem := range outcome.Problems {
		if holdsPrivate(problem.Message, secrets) || strings.Contains(problem.Message, "BEGIN") {
			p.t.Errorf("%s: %q", directives, problem.Message)
		}
	}
	if outcome.Test == instanceapi.Failed {
		return
	}
	p.serves(revision)
	if _, body := p.send(http.MethodGet, "/", ""); holdsPrivate(body, append(secrets, "BEGIN")) {
		p.t.Errorf("%s: %q", directives, body)
	}
}
