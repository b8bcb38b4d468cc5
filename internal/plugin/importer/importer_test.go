package importer

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"example.com/nginx-operator/test/golden"
)

// same keeps a text as it is: golden files have the control characters of their input, if there are any.
func same(text string) string { return text }

// compareGolden compares the manifests and the review with golden files.
func compareGolden(t *testing.T, name string, r *Result) {
	t.Helper()
	var manifests, review bytes.Buffer
	if err := r.Write(&manifests, "yaml"); err != nil {
		t.Fatal(err)
	}
	if err := r.Review.Write(&review, true, same); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, filepath.Join("testdata", "golden", name+".yaml"), manifests.String())
	golden.Compare(t, filepath.Join("testdata", "golden", name+".review"), review.String())
}

// importFolder imports a folder as the command does.
func importFolder(t *testing.T, folder fs.FS, o Options) *Result {
	t.Helper()
	main, err := FindMain(folder)
	if err != nil {
		t.Fatal(err)
	}
	result, err := Config(Folder{Config: folder}, main, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := result.ReviewFiles(folder); err != nil {
		t.Fatal(err)
	}
	return result
}

func TestConfigGolden(t *testing.T) {
	folders, err := os.ReadDir(filepath.Join("testdata", "conf"))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range folders {
		t.Run(entry.Name(), func(t *testing.T) {
			folder := os.DirFS(filepath.Join("testdata", "conf", entry.Name()))
			compareGolden(t, "conf-"+entry.Name(), importFolder(t, folder, Options{Name: entry.Name()}))
		})
	}
}

func TestConfigRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		files Map
		want  string
	}{
		"no file":       {Map{}, "/etc/nginx/nginx.conf: file does not exist"},
		"empty":         {Map{"/etc/nginx/nginx.conf": "# nothing"}, "nginx.conf has no directives"},
		"not ended":     {Map{"/etc/nginx/nginx.conf": "http {\n"}, `nginx.conf:1: the block of "http" does not end`},
		"bad include":   {Map{"/etc/nginx/nginx.conf": "http { include a; }", "/etc/nginx/a": "b"}, `a:1: "b" is not ended by ";"`},
		"a snippet":     {Map{"/etc/nginx/nginx.conf": "location / {}"}, `"location" belongs into a server block`},
		"no UTF-8":      {Map{"/etc/nginx/nginx.conf": "# caf\xe9\nevents {}"}, "nginx.conf is not in UTF-8"},
		"a character":   {Map{"/etc/nginx/nginx.conf": "events {}\n# \u009b"}, "nginx.conf:2: there is a control character (U+009B)"},
		"a private key": {Map{"/etc/nginx/nginx.conf": "# -----BEGIN PRIVATE KEY-----"}, "contains a private key"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Config(tt.files, []string{"/etc/nginx/nginx.conf"}, Options{})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Config() error = %v, want one that says %q", err, tt.want)
			}
		})
	}
}

// TestManyFiles: more files than an NginxOperator can hold are in a ConfigMap.
func TestManyFiles(t *testing.T) {
	source := Map{"/etc/nginx/nginx.conf": "events {} http { include sites/*; }"}
	for i := range maxInlineFiles {
		source[fmt.Sprintf("/etc/nginx/sites/%02d", i)] = fmt.Sprintf("server { listen %d; }", 8000+i)
	}
	result, err := Config(source, []string{"/etc/nginx/nginx.conf"}, Options{Name: "many"})
	if err != nil {
		t.Fatal(err)
	}
	app := result.Applications[0]
	if len(result.ConfigMaps) != 1 || len(result.ConfigMaps[0].Data) != maxInlineFiles+1 || app.Spec.Config.ConfigMap.Name != result.ConfigMaps[0].Name {
		t.Errorf("%d ConfigMaps, config %+v", len(result.ConfigMaps), app.Spec.Config)
	}
	if len(app.Spec.Ports) != maxPorts || result.Review.Count(KindDirective, NotCarried) != maxInlineFiles-maxPorts {
		t.Errorf("%d ports, %d directives are not carried over", len(app.Spec.Ports), result.Review.Count(KindDirective, NotCarried))
	}
}

// TestRoot: with a root, files outside of the folder of nginx.conf are found, and without one they are named.
func TestRoot(t *testing.T) {
	config := fstest.MapFS{"nginx.conf": {Data: []byte("events {} http { include /etc/letsencrypt/options.conf; ssl_dhparam /etc/ssl/dh.pem; server { listen 443 ssl; } }")}}
	root := fstest.MapFS{"etc/letsencrypt/options.conf": {Data: []byte("ssl_protocols TLSv1.3;")}, "etc/ssl/dh.pem": {Data: []byte("-----BEGIN PRIVATE KEY-----")}}
	for name, tt := range map[string]struct {
		source  Source
		files   int
		missing bool
	}{
		"with":    {Folder{Config: config, Root: root}, 2, false},
		"without": {Folder{Config: config}, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := Config(tt.source, []string{"/etc/nginx/nginx.conf"}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			text := result.Applications[0].Spec.Config.Files
			if len(text) != tt.files || (result.Review.Count(KindDirective, NotCarried) > 0) != tt.missing {
				t.Errorf("files %v, review %v", text, result.Review.Items)
			}
			for name, content := range text {
				if strings.Contains(string(content), "PRIVATE KEY") {
					t.Errorf("%s has a private key", name)
				}
			}
		})
	}
}

// TestScratch: nginx creates a folder that it writes to, but none around it.
func TestScratch(t *testing.T) {
	for dir, want := range map[string]string{
		"/tmp/body":                     "/tmp/body",
		"/var/cache/nginx/proxy/":       "/var/cache/nginx/proxy/",
		"/run/openresty/body":           "/var/cache/nginx/run-openresty-body",
		"/var/cache/nginx/shop/proxy":   "/var/cache/nginx/var-cache-nginx-shop-proxy",
		"/tmp":                          "/tmp",
		"/usr/share/nginx/temp/../body": "/var/cache/nginx/usr-share-nginx-body",
	} {
		t.Run(dir, func(t *testing.T) {
			source := Map{"/etc/nginx/nginx.conf": "events {} http { client_body_temp_path " + dir + "; }"}
			result, err := Config(source, []string{"/etc/nginx/nginx.conf"}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			text := string(result.Applications[0].Spec.Config.Files["nginx.conf"])
			if want := "client_body_temp_path " + want + ";"; !strings.Contains(text, want) {
				t.Errorf("the import is\n%s\nwant %s", text, want)
			}
		})
	}
}

// TestSocketFolder: a socket in a folder that the pods lack is named.
func TestSocketFolder(t *testing.T) {
	for socket, noted := range map[string]bool{"unix:/run/shop.sock": false, "unix:/run/shop/nginx.sock": true, "unix:/srv/nginx.sock": true} {
		source := Map{"/etc/nginx/nginx.conf": "events {} http { server { listen " + socket + "; } }"}
		result, err := Config(source, []string{"/etc/nginx/nginx.conf"}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, i := range result.Review.Items {
			found = found || strings.Contains(i.Note, "nginx cannot create a socket there")
		}
		if found != noted {
			t.Errorf("%s: noted %v, want %v", socket, found, noted)
		}
	}
}

// TestScripts: a script is found in the folders of js_path, and its module keeps its name.
func TestScripts(t *testing.T) {
	source := Map{
		"/etc/nginx/nginx.conf": `load_module modules/ngx_http_js_module.so;
events {}
http {
    js_import utils.js;
    js_import main from http/hello.js;
    js_import local.js;
    js_path "/etc/nginx/njs/";
    js_fetch_trusted_certificate /etc/nginx/njs/ca.pem;
    server { listen 80; location / { js_content main.hello; } }
}
`,
		"/etc/nginx/njs/utils.js":      "export default {};",
		"/etc/nginx/njs/http/hello.js": "import fs from 'fs';\nimport words from 'words.js';\nexport default {};",
		"/etc/nginx/local.js":          "export default {};",
		"/etc/nginx/njs/ca.pem":        "-----BEGIN CERTIFICATE-----",
	}
	result, err := Config(source, []string{"/etc/nginx/nginx.conf"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	files := result.Applications[0].Spec.Config.Files
	for _, want := range []string{"js_import utils from njs-utils.js;", "js_import main from njs-http-hello.js;", "js_import local.js;", "js_fetch_trusted_certificate njs-ca.pem;"} {
		if !strings.Contains(string(files["nginx.conf"]), want) {
			t.Errorf("the import has no %q:\n%s", want, files["nginx.conf"])
		}
	}
	for _, name := range []string{"njs-utils.js", "njs-http-hello.js", "local.js"} {
		if files[name] == "" {
			t.Errorf("there is no file %s", name)
		}
	}
	if steps := strings.Join(result.Review.Steps, "\n"); !strings.Contains(steps, "njs/http/hello.js imports words.js") || strings.Contains(steps, "imports fs") {
		t.Errorf("steps:\n%s", steps)
	}
}

// TestPassphrases: the operator takes keys without a passphrase, so the review asks to decrypt them.
func TestPassphrases(t *testing.T) {
	source := Map{"/etc/nginx/nginx.conf": "events {} http { server { listen 443 ssl; ssl_password_file keys.pass; ssl_certificate a.crt; ssl_certificate_key a.key; } }"}
	result, err := Config(source, []string{"/etc/nginx/nginx.conf"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if text := string(result.Applications[0].Spec.Config.Files["nginx.conf"]); strings.Contains(text, "ssl_password_file") {
		t.Errorf("the import has the passphrases:\n%s", text)
	}
	if steps := strings.Join(result.Review.Steps, "\n"); !strings.Contains(steps, "Decrypt the keys that have a passphrase of keys.pass") {
		t.Errorf("steps:\n%s", steps)
	}
}

// TestMissingInclude: what a missing file would protect stays closed.
func TestMissingInclude(t *testing.T) {
	for context, tt := range map[string]struct{ config, want string }{
		"server":   {"events {} http { server { include snippets/auth.conf; location / { return 200; } } }", "return 403; location"},
		"location": {"events {} http { server { location / { include /etc/acl.conf; proxy_pass http://a; } } }", "location / { return 403; proxy_pass"},
		"http":     {"events {} http { include acl.conf; server { listen 80; } }", "http { include acl.conf; server"},
		"map":      {"events {} http { map $a $b { include denied.map; } }", "{ include denied.map; }"},
	} {
		t.Run(context, func(t *testing.T) {
			result, err := Config(Map{"/etc/nginx/nginx.conf": tt.config}, []string{"/etc/nginx/nginx.conf"}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			text := string(result.Applications[0].Spec.Config.Files["nginx.conf"])
			if !strings.Contains(text, tt.want) || !strings.Contains(strings.Join(result.Review.Steps, "\n"), "was not found") {
				t.Errorf("the import is\n%s\nsteps %v", text, result.Review.Steps)
			}
		})
	}
}
