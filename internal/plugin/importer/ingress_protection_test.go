package importer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"example.com/nginx-operator/internal/instance/syntax"
)

// ingressYAML returns an Ingress for a test.
func ingressYAML(name, host, path string, annotations ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\napiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: %q\n  annotations: {", name)
	for _, a := range annotations {
		key, value, _ := strings.Cut(a, "=")
		if !strings.Contains(key, "/") {
			key = annotationPrefix + key
		}
		fmt.Fprintf(&b, "%q: %q, ", key, value)
	}
	fmt.Fprintf(&b, "}\nspec:\n  tls: [{hosts: [%q], secretName: tls}]\n  rules:\n  - host: %q\n    http: {paths: [{path: %q, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}\n", host, host, path)
	return b.String()
}

// controllerYAML returns the ConfigMap of the controller.
func controllerYAML(data string) string {
	return "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: ingress-nginx-controller, namespace: ingress-nginx}\ndata: {" + data + "}\n"
}

// importIngressYAML imports Ingress objects, and returns the files of the application.
func importIngressYAML(t *testing.T, texts ...string) (map[string]string, *Review) {
	t.Helper()
	result, err := Manifests([]Document{{Name: "test.yaml", Text: []byte(strings.Join(texts, ""))}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for name, text := range result.Applications[0].Spec.Config.Files {
		files[name] = string(text)
		if bad := syntax.Check(string(text)); bad != nil {
			t.Errorf("%s: %v\n%s", name, bad, text)
		}
	}
	return files, &result.Review
}

// serverOf returns the server block of a host, with the files that it includes in place.
func serverOf(t *testing.T, files map[string]string, host string) string {
	t.Helper()
	_, rest, found := strings.Cut(files[ingressFile], "server_name "+host+";\n")
	if !found {
		t.Fatalf("there is no server %s in\n%s", host, files[ingressFile])
	}
	rest, _, _ = strings.Cut(rest, "\nserver {")
	for name, text := range files {
		if name != headersFile {
			rest = strings.ReplaceAll(rest, "include "+name+";", text)
		}
	}
	return rest
}

// TestNamesThatCollide: each Ingress has files and variables of its own, whatever their names have in common.
func TestNamesThatCollide(t *testing.T) {
	long := strings.Repeat("a", 50)
	for _, names := range [][2]string{{"1-admin", "2-admin"}, {"shop.api", "shop-api"}, {long + "-x", long + "-y"}, {"admin", "Admin"}, {"---", "123"}, {"proxy-headers", "proxy.headers"}, {"a_b", "a-b"}} {
		for _, swap := range []bool{false, true} {
			if swap {
				names[0], names[1] = names[1], names[0]
			}
			t.Run(names[0], func(t *testing.T) {
				files, _ := importIngressYAML(t,
					ingressYAML(names[0], "admin.example.com", "/", "auth-type=basic", "auth-secret=users", "limit-rps=1"),
					ingressYAML(names[1], "shop.example.com", "/", "proxy-body-size=8m", "limit-rps=9"))
				if server := serverOf(t, files, "admin.example.com"); !strings.Contains(server, "auth_basic ") || strings.Contains(server, "client_max_body_size") {
					t.Errorf("the password is lost:\n%s", server)
				}
				if server := serverOf(t, files, "shop.example.com"); strings.Contains(server, "auth_basic ") || !strings.Contains(server, "client_max_body_size 8m;") {
					t.Errorf("the settings are those of another Ingress:\n%s", server)
				}
				if strings.Count(files[ingressFile], "limit_req_zone") != 2 {
					t.Errorf("the limits share a zone:\n%s", files[ingressFile])
				}
				if !strings.Contains(files[headersFile], "X-Real-IP") {
					t.Errorf("%s is replaced", headersFile)
				}
			})
		}
	}
}

// TestSameNames: two objects that would replace each other are an error.
func TestSameNames(t *testing.T) {
	twice := ingressYAML("shop", "a.example.com", "/") + ingressYAML("shop", "b.example.com", "/")
	if _, err := Manifests([]Document{{Name: "a.yaml", Text: []byte(twice)}}, Options{}); err == nil || !strings.Contains(err.Error(), "two Ingress objects with the name") {
		t.Errorf("error %v", err)
	}
	namespaces := strings.ReplaceAll(ingressYAML("shop", "a.example.com", "/"), "metadata:", "metadata:\n  namespace: a") +
		strings.ReplaceAll(ingressYAML("shop", "b.example.com", "/"), "metadata:", "metadata:\n  namespace: b")
	if _, err := Manifests([]Document{{Name: "a.yaml", Text: []byte(namespaces)}}, Options{Name: "edge", Namespace: "edge"}); err == nil || !strings.Contains(err.Error(), "two applications would be called") {
		t.Errorf("error %v", err)
	}
	files := newFiles()
	files.add("a", "1")
	files.add("a", "2")
	if files.err == nil {
		t.Error("two files have the same name")
	}
}

// TestDenyFirst: a denied address is refused, whatever admits others.
func TestDenyFirst(t *testing.T) {
	for _, allow := range []string{"allowlist-source-range=10.0.0.0/8", "whitelist-source-range=10.0.0.0/8", "configuration-snippet=allow 10.0.0.0/8;"} {
		files, _ := importIngressYAML(t, ingressYAML("shop", "shop.example.com", "/", allow, "denylist-source-range=10.1.2.3/32, 10.2.0.0/16"), controllerYAML("allow-snippet-annotations: 'true'"))
		server := serverOf(t, files, "shop.example.com")
		deny, admit := strings.Index(server, "deny 10.1.2.3/32;"), strings.Index(server, "allow 10.0.0.0/8;")
		if deny < 0 || admit < deny || strings.Index(server, "deny 10.2.0.0/16;") > admit {
			t.Errorf("%s: an address is admitted before it is denied:\n%s", allow, server)
		}
	}
}

// closedBy are annotations that protect paths and are not carried over.
var closedBy = []string{
	"auth-type=digest", "auth-type=basic", "auth-url=none", "auth-url=http://auth/ auth-proxy-set-headers=headers", "auth-tls-secret=ca", "auth-tls-secret=other/ca",
	"auth-type=basic auth-secret=users auth-realm=off", "auth-type=basic auth-secret=users auth-realm=$off", "auth-type=basic auth-secret=other/users",
	"whitelist-source-range=nowhere", "allowlist-source-range=10.0.0.0/8,", "denylist-source-range=fe80::1%eth0", "enable-global-auth=true", "enable-modsecurity=true",
	"enable-modsecurity=1", "ssl-passthrough=true", "configuration-snippet=deny all", "server-snippet=}", "limit-rps=many", "limit-connections=x", "global-rate-limit=5",
	"some-new-auth=x", "waf-profile=strict", "traefik.ingress.kubernetes.io/router.middlewares=auth", "nginx.org/basic-auth-secret=users", "ingress.kubernetes.io/auth-type=basic",
	"auth-tls-secret=default/ca auth-tls-verify-client=maybe",
}

// TestClosed: what protects paths and is not carried over closes them, with the line to delete.
func TestClosed(t *testing.T) {
	for _, annotations := range closedBy {
		t.Run(annotations, func(t *testing.T) {
			files, review := importIngressYAML(t, ingressYAML("shop", "shop.example.com", "/", strings.Fields(strings.Replace(annotations, "=deny all", "=deny\u00a0all", 1))...))
			server := serverOf(t, files, "shop.example.com")
			_, body, _ := strings.Cut(server, `location "/" {`)
			if !strings.Contains(server, "return 403; # closed: shop: ") {
				t.Fatalf("the path is open:\n%s", server)
			}
			if before, _, found := strings.Cut(body, "return 403;"); found && strings.TrimSpace(before) != "" {
				t.Errorf("the path is closed too late:\n%s", server)
			}
			if steps := strings.Join(review.Steps, "\n"); !strings.Contains(steps, "return 403; # closed: shop: ") {
				t.Errorf("no step names the line:\n%s", steps)
			}
		})
	}
}

// TestSnippetsOfAnnotations: without allow-snippet-annotations, ingress-nginx ignores snippets since 1.9, so they must open
// nothing. With it, it is known what they do.
func TestSnippetsOfAnnotations(t *testing.T) {
	const open = "satisfy any; allow all;"
	for name, annotations := range map[string][]string{
		"configuration-snippet": {"auth-type=basic", "auth-secret=users", "configuration-snippet=" + open},
		"server-snippet":        {"auth-type=basic", "auth-secret=users", "server-snippet=" + open},
		"auth-snippet":          {"auth-url=http://auth.example.com/", "auth-snippet=return 200;"},
		"stream-snippet":        {"stream-snippet=server { listen 8000; proxy_pass web:80; }"},
	} {
		for data, want := range map[string]struct{ carried, closed bool }{
			"":                                   {closed: name != "stream-snippet"},
			"use-http2: 'true'":                  {closed: name != "stream-snippet"},
			"allow-snippet-annotations: maybe":   {closed: name != "stream-snippet"},
			"allow-snippet-annotations: 'false'": {},
			"allow-snippet-annotations: 'true'":  {carried: true},
		} {
			texts := []string{ingressYAML("shop", "shop.example.com", "/", annotations...)}
			if data != "" {
				texts = append(texts, controllerYAML(data))
			}
			files, review := importIngressYAML(t, texts...)
			server := serverOf(t, files, "shop.example.com") + files["ingress.stream.conf"]
			_, value, _ := strings.Cut(annotations[len(annotations)-1], "=")
			if carried := strings.Contains(server, value); carried != want.carried {
				t.Errorf("%s, %q: it is carried over: %v\n%s", name, data, carried, server)
			}
			if closed := strings.Contains(server, "return 403; # closed: shop"); closed != want.closed {
				t.Errorf("%s, %q: the path is closed: %v\n%s", name, data, closed, server)
			}
			if steps := strings.Join(review.Steps, "\n"); strings.Contains(steps, "allow-snippet-annotations") != want.closed {
				t.Errorf("%s, %q: the steps are\n%s", name, data, steps)
			}
		}
	}
}

// TestNotClosed: what protects nothing leaves paths open.
func TestNotClosed(t *testing.T) {
	for _, annotations := range []string{"affinity=cookie", "enable-modsecurity=false", "ssl-passthrough=False", "modsecurity-snippet=x", "auth-secret=users", "enable-global-auth=false",
		"custom-headers=x", "secure-backends=true", "limit-rate=5", "cert-manager.io/issuer=x", "auth-tls-match-cn=CN=x", "auth-cache-key=x", "kubernetes.io/ingress.class=nginx"} {
		files, _ := importIngressYAML(t, ingressYAML("shop", "shop.example.com", "/", annotations))
		if strings.Contains(files[ingressFile], "return 403") {
			t.Errorf("%s: the path is closed:\n%s", annotations, files[ingressFile])
		}
	}
}

// TestProtections: the table has every annotation that the import knows.
func TestProtections(t *testing.T) {
	var known []string
	for _, names := range []map[string]bool{keys(directives), keys(annotations), keys(unsupported), keys(mainOfPart)} {
		known = append(known, slices.Collect(maps.Keys(names))...)
	}
	for _, name := range known {
		if _, ok := protections[name]; !ok {
			t.Errorf("%s is not classified", name)
		}
	}
	for name, p := range protections {
		if p == protectsNothing && soundsProtecting.MatchString(name) && !slices.Contains(known, name) {
			t.Errorf("%s is open, but nothing says why", name)
		}
	}
}

func keys[T any](m map[string]T) map[string]bool {
	found := map[string]bool{}
	for key := range m {
		found[key] = true
	}
	return found
}

// TestWholeServer: what ingress-nginx sets for a whole server holds for the paths of other Ingress objects, too.
func TestWholeServer(t *testing.T) {
	other := ingressYAML("other", "shop.example.com", "/other")
	t.Run("certificates of clients", func(t *testing.T) {
		files, _ := importIngressYAML(t, other, ingressYAML("shop", "shop.example.com", "/", "auth-tls-secret=default/ca", `auth-tls-match-cn=CN=(ops|"dev"\.x)`))
		server := serverOf(t, files, "shop.example.com")
		if !strings.Contains(server, `if ($ssl_client_s_dn !~ "CN=(ops|\"dev\"\\.x)") { return 403; }`) || !strings.Contains(server, "ssl_verify_client on;") {
			t.Errorf("the certificate does not matter:\n%s", server)
		}
		if strings.Count(server, "proxy_set_header ssl-client-verify $ssl_client_verify;") != 3 {
			t.Errorf("a client can send the header itself:\n%s", server)
		}
	})
	for name, annotation := range map[string]string{"a Secret that is not known": "auth-tls-secret=ca", "a snippet": "server-snippet=}", "a canary": "auth-tls-secret=ca canary=True"} {
		t.Run(name, func(t *testing.T) {
			files, _ := importIngressYAML(t, other, ingressYAML("shop", "shop.example.com", "/", strings.Fields(annotation)...))
			server := serverOf(t, files, "shop.example.com")
			if closed, location := strings.Index(server, "return 403;"), strings.Index(server, "location"); closed < 0 || closed > location {
				t.Errorf("the other Ingress is open:\n%s", server)
			}
		})
	}
	t.Run("without TLS", func(t *testing.T) {
		text := strings.ReplaceAll(ingressYAML("shop", "shop.example.com", "/", "auth-tls-secret=default/ca"), ", secretName: tls", "")
		files, _ := importIngressYAML(t, text)
		if server := serverOf(t, files, "shop.example.com"); !strings.HasPrefix(strings.TrimSpace(server), "return 403;") {
			t.Errorf("clients without a certificate are admitted:\n%s", server)
		}
	})
	t.Run("an alias", func(t *testing.T) {
		files, _ := importIngressYAML(t, ingressYAML("open", "a.example.com", "/", "server-alias=shop.example.com"), ingressYAML("shop", "shop.example.com", "/", "auth-type=basic", "auth-secret=users"))
		if strings.Contains(files[ingressFile], "server_name a.example.com shop.example.com") {
			t.Errorf("the alias takes the requests of a host:\n%s", files[ingressFile])
		}
	})
	t.Run("a default backend", func(t *testing.T) {
		text := "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: all, annotations: {nginx.ingress.kubernetes.io/auth-url: 'http://auth/'}}\nspec: {defaultBackend: {service: {name: web, port: {number: 80}}}}\n"
		files, _ := importIngressYAML(t, text)
		if server := serverOf(t, files, "_"); !strings.Contains(server, "location = /_auth_all {") {
			t.Errorf("the application itself is asked whether a client may use it:\n%s", server)
		}
	})
	t.Run("a wildcard", func(t *testing.T) {
		files, _ := importIngressYAML(t, ingressYAML("shop", "*.apps.example.com", "/"))
		if want := `server_name "~^(?<subdomain>[\w-]+)\.apps\.example\.com$";`; !strings.Contains(files[ingressFile], want) {
			t.Errorf("there is no %s in\n%s", want, files[ingressFile])
		}
	})
}

// TestSamePath: of two Ingress objects with the same path, the older one counts. If that is not known, the path is closed
// unless both protect it in the same way.
func TestSamePath(t *testing.T) {
	aged := func(text, time string) string {
		return strings.Replace(text, "metadata:", "metadata:\n  creationTimestamp: "+time, 1)
	}
	open, shut := ingressYAML("open", "shop.example.com", "/"), ingressYAML("shut", "shop.example.com", "/", "auth-type=basic", "auth-secret=users")
	for name, tt := range map[string]struct {
		texts        []string
		closed, auth bool
	}{
		"unknown, open first":   {[]string{open, shut}, true, false},
		"unknown, shut first":   {[]string{shut, open}, true, true},
		"the open one is older": {[]string{aged(shut, "2024-01-02T00:00:00Z"), aged(open, "2024-01-01T00:00:00Z")}, false, false},
		"the shut one is older": {[]string{aged(open, "2024-01-02T00:00:00Z"), aged(shut, "2024-01-01T00:00:00Z")}, false, true},
		"of one age":            {[]string{aged(open, "2024-01-02T00:00:00Z"), aged(shut, "2024-01-02T00:00:00Z")}, false, true},
		"the same protection":   {[]string{open, ingressYAML("other", "shop.example.com", "/", "affinity=cookie")}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			files, _ := importIngressYAML(t, tt.texts...)
			server := serverOf(t, files, "shop.example.com")
			if closed := strings.Contains(server, "return 403; # closed"); closed != tt.closed || strings.Contains(server, "auth_basic ") != tt.auth {
				t.Errorf("closed %v, want %v:\n%s", closed, tt.closed, server)
			}
		})
	}
}

// TestController: what the controller's ConfigMap sets for all Ingress objects is carried over, or closes them.
func TestController(t *testing.T) {
	for name, tt := range map[string]struct {
		data, annotation, want string
	}{
		"global authentication":         {"global-auth-url: http://auth.example.com/check", "proxy-body-size=1m", "auth_request /_auth_shop;"},
		"global authentication, own":    {"global-auth-url: http://auth.example.com/check", "auth-url=http://own.example.com/", "proxy_pass http://own.example.com/;"},
		"global authentication, closed": {"global-auth-url: nothing", "proxy-body-size=1m", "return 403; # closed: shop: auth-url"},
		"allowed":                       {"whitelist-source-range: 10.0.0.0/8", "proxy-body-size=1m", "allow 10.0.0.0/8;\ndeny all;"},
		"denied":                        {"denylist-source-range: 10.0.0.1", "proxy-body-size=1m", "deny 10.0.0.1;"},
		"agents":                        {"block-user-agents: '~*bot, curl'", "proxy-body-size=1m", "if ($blocked_user_agent) { return 403; }"},
		"server-snippet":                {"server-snippet: 'deny 192.0.2.1;'", "proxy-body-size=1m", "deny 192.0.2.1;"},
		"server-snippet, closed":        {"server-snippet: 'deny 192.0.2.1; }'", "proxy-body-size=1m", "return 403; # closed: shop: server-snippet"},
		"location-snippet":              {"location-snippet: 'deny 192.0.2.1;'", "proxy-body-size=1m", "deny 192.0.2.1;"},
		"modsecurity":                   {"enable-modsecurity: 'true'", "proxy-body-size=1m", "return 403; # closed: shop: enable-modsecurity"},
		"modsecurity, off":              {"enable-modsecurity: 'true'", "enable-modsecurity=false", `proxy_pass http://web-80;`},
		"proxy protocol":                {"use-proxy-protocol: 'true'", "allowlist-source-range=10.0.0.0/8", "return 403; # closed: shop: use-proxy-protocol"},
		"unknown":                       {"new-waf: strict", "proxy-body-size=1m", "return 403; # closed: shop: new-waf"},
	} {
		t.Run(name, func(t *testing.T) {
			files, review := importIngressYAML(t, ingressYAML("shop", "shop.example.com", "/", tt.annotation), controllerYAML(tt.data))
			server := serverOf(t, files, "shop.example.com")
			if !strings.Contains(server, tt.want) || tt.want[0] == 'p' && strings.Contains(server, "return 403") {
				t.Errorf("there is no %q in\n%s", tt.want, server)
			}
			if strings.Contains(strings.Join(review.Steps, "\n"), "Pass the ConfigMap of the controller") {
				t.Error("a step asks for the ConfigMap")
			}
		})
	}
	files, _ := importIngressYAML(t, ingressYAML("shop", "shop.example.com", "/"),
		"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: nginx-configuration}\ndata: {use-forwarded-headers: 'true', proxy-real-ip-cidr: 10.0.0.0/8, block-cidrs: 192.0.2.0/24}\n")
	for _, want := range []string{"real_ip_header X-Forwarded-For;", "set_real_ip_from 10.0.0.0/8;", "deny 192.0.2.0/24;"} {
		if !strings.Contains(files[ingressFile], want) {
			t.Errorf("there is no %q in\n%s", want, files[ingressFile])
		}
	}
	_, review := importIngressYAML(t, ingressYAML("shop", "shop.example.com", "/"))
	if !strings.Contains(strings.Join(review.Steps, "\n"), "Pass the ConfigMap of the controller") {
		t.Errorf("no step asks for the ConfigMap: %v", review.Steps)
	}
}

// TestClasses: Ingress objects of another class have other clients, so they are named and not imported.
func TestClasses(t *testing.T) {
	class := func(text, name string) string {
		return strings.Replace(text, "spec:", "spec:\n  ingressClassName: "+name, 1)
	}
	inner, outer := class(ingressYAML("inner", "inner.example.com", "/"), "traefik"), class(ingressYAML("outer", "outer.example.com", "/"), "nginx")
	files, review := importIngressYAML(t, inner, outer)
	if strings.Contains(files[ingressFile], "inner.example.com") || !strings.Contains(strings.Join(review.Steps, "\n"), "--class traefik") {
		t.Errorf("steps %v:\n%s", review.Steps, files[ingressFile])
	}
	for name, text := range map[string]string{"several": outer + class(ingressYAML("inner", "inner.example.com", "/"), "nginx-internal"), "none": inner} {
		if _, err := Manifests([]Document{{Name: "a.yaml", Text: []byte(text)}}, Options{}); err == nil || !strings.Contains(err.Error(), "choose one with --class") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := Manifests([]Document{{Name: "a.yaml", Text: []byte(inner)}}, Options{Class: "traefik"}); err != nil {
		t.Error(err)
	}
}

// TestNamespacesShareHost: a path of another namespace is closed, because its protection is in another application.
func TestNamespacesShareHost(t *testing.T) {
	in := func(namespace, text string) string {
		return strings.Replace(text, "metadata:", "metadata:\n  namespace: "+namespace, 1)
	}
	for _, host := range []string{"shop.example.com", "*.example.com"} {
		text := in("a", ingressYAML("admin", "shop.example.com", "/admin", "auth-type=basic", "auth-secret=users")) + in("b", ingressYAML("shop", host, "/"))
		result, err := Manifests([]Document{{Name: "a.yaml", Text: []byte(text)}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		files := map[string]string{ingressFile: string(result.Applications[1].Spec.Config.Files[ingressFile])}
		server := serverOf(t, files, "shop.example.com")
		if !strings.Contains(server, "return 403; # closed: ") {
			t.Errorf("%s: the path is open:\n%s", host, server)
		}
	}
}
