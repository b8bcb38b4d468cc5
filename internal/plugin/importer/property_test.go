package importer

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instance/syntax"
)

// TestNoPathIsMoreOpen compares what an import lets through with a model of ingress-nginx: for each host, path, client and
// credential, a backend that the import reaches is one that ingress-nginx reaches.
func TestNoPathIsMoreOpen(t *testing.T) {
	const sets = 1000
	admitted := 0
	for seed := range uint64(sets) {
		set := generate(rand.New(rand.NewPCG(seed, 35)))
		result, err := Manifests([]Document{{Name: "set.yaml", Text: []byte(set.yaml())}}, Options{})
		if errors.Is(err, ErrNothing) && len(set.served().ingresses) == 0 {
			continue
		}
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, set.yaml())
		}
		for _, app := range result.Applications {
			n, problem := set.compare(t, app)
			if problem != "" {
				t.Fatalf("seed %d: %s", seed, problem)
			}
			admitted += n
		}
	}
	if admitted < sets*5 {
		t.Errorf("only %d requests are admitted: the sets prove little", admitted)
	}
	t.Logf("%d requests of %d are admitted", admitted, sets*len(requests()))
}

// compare returns how many requests an imported application admits, and the first that ingress-nginx does not admit.
func (s generatedSet) compare(t *testing.T, app *v1alpha2.NginxOperator) (admitted int, problem string) {
	t.Helper()
	files := map[string]string{}
	for name, text := range app.Spec.Config.Files {
		files[name] = string(text)
	}
	served, orders := readServed(t, files), s.orders()
	for _, r := range requests() {
		got := served.answer(r)
		if got == "" {
			continue
		}
		admitted++
		for _, original := range orders {
			want := original.answer(r)
			if want == "" || s.aged && want != app.Namespace+"/"+got {
				return admitted, fmt.Sprintf("%+v reaches %s of %s, with ingress-nginx %q\n%s\n%s", r, got, app.Namespace, want, s.yaml(), files[ingressFile])
			}
		}
	}
	return admitted, ""
}

// request is a request with what the client has.
type request struct {
	host, path string
	tls        bool
	address    string
	// subject is that of the client's certificate, or "".
	subject string
	// password and session are what auth-type and auth-url want, and attack is what a firewall refuses.
	password, session, attack bool
}

func requests() (all []request) {
	for _, host := range []string{"a.example.com", "b.example.com", "x.example.com", "x.y.example.com", "other.test"} {
		for _, path := range []string{"/", "/foo", "/foo/", "/foo/x", "/foobar", "/admin", "/admin/x", "/ADMIN"} {
			for i, client := range []request{
				{}, {password: true}, {session: true}, {subject: "CN=ops"}, {subject: "CN=other"},
				{password: true, session: true, subject: "CN=ops"}, {password: true, session: true, subject: "CN=ops", attack: true},
			} {
				for _, address := range []string{"10.1.2.3", "10.9.9.9", "192.0.2.9", "198.51.100.1"} {
					client.host, client.path, client.address = host, path, address
					client.tls = client.subject != "" || i%2 == 1
					all = append(all, client)
				}
			}
		}
	}
	return all
}

// generated is an Ingress of a generated set.
type generated struct {
	namespace, name string
	age             int
	annotations     map[string]string
	host            string
	tls             bool
	paths           []generatedPath
	// fallback is set if it has a default backend, and alone if it has no rules.
	fallback, alone bool
}

type generatedPath struct{ path, pathType string }

// generatedSet is a generated set, in the order in which ingress-nginx takes its objects.
type generatedSet struct {
	ingresses []generated
	aged      bool
	// controller are the settings of the controller.
	controller map[string]string
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// generateController returns settings of the controller.
func generateController(r *rand.Rand) map[string]string {
	data := map[string]string{}
	if allowed := pick(r, "", "true", "true", "false"); allowed != "" {
		data["allow-snippet-annotations"] = allowed
	}
	if r.IntN(6) == 0 {
		data["annotations-risk-level"] = pick(r, "Critical", "High")
	}
	if r.IntN(3) == 0 {
		for _, setting := range []string{"global-auth-url=http://auth.test/", "whitelist-source-range=10.0.0.0/8", "denylist-source-range=10.1.2.3", "block-cidrs=192.0.2.0/24",
			"enable-modsecurity=true", "server-snippet=deny 192.0.2.9;", "location-snippet=deny 192.0.2.9;"} {
			if r.IntN(4) == 0 {
				key, value, _ := strings.Cut(setting, "=")
				data[key] = value
			}
		}
	}
	return data
}

func generate(r *rand.Rand) generatedSet {
	s := generatedSet{aged: r.IntN(2) == 0, controller: generateController(r)}
	// nginx refuses both forms of a prefix beside each other, as ingress-nginx writes them.
	foo := pick(r, "/foo", "/foo/")
	names := []string{"1-admin", "2-admin", "shop.api", "shop-api", "proxy-headers", strings.Repeat("a", 50) + "x", strings.Repeat("a", 50) + "y", "web"}
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for i := range 1 + r.IntN(4) {
		g := generated{namespace: pick(r, "one", "one", "one", "two"), name: names[i], age: r.IntN(3), annotations: map[string]string{}}
		g.host, g.tls = pick(r, "a.example.com", "a.example.com", "b.example.com", "*.example.com", ""), r.IntN(2) == 0
		for _, annotation := range []string{
			"auth-type=basic auth-secret=users", "auth-type=digest auth-secret=users", "auth-url=http://auth.test/", "auth-tls-secret=one/ca", "auth-tls-secret=ca",
			"auth-tls-secret=one/ca auth-tls-match-cn=CN=ops", "whitelist-source-range=10.0.0.0/8", "allowlist-source-range=10.0.0.0/8,192.0.2.0/24", "whitelist-source-range=nowhere",
			"denylist-source-range=10.1.2.3/32", "satisfy=any", "enable-modsecurity=true", "enable-modsecurity=false", "enable-global-auth=false",
			"configuration-snippet=deny 10.9.9.9;", "configuration-snippet=return 403;", "configuration-snippet=allow 10.0.0.0/8;", "configuration-snippet=satisfy any; allow all;", "server-snippet=deny 10.9.9.9;", "server-snippet=return 403;",
			"use-regex=true", "use-regex=True", "rewrite-target=/", "rewrite-target=/foo", "ssl-redirect=false", "canary=true", "server-alias=b.example.com",
			"server-alias=other.test", "proxy-body-size=8m", "affinity=cookie", "backend-protocol=GRPC",
		} {
			if r.IntN(14) == 0 {
				// Values of snippets have spaces, and those of others none.
				for one := range strings.SplitSeq(strings.ReplaceAll(annotation, " auth-", "\nauth-"), "\n") {
					key, value, _ := strings.Cut(one, "=")
					g.annotations[key] = value
				}
			}
		}
		g.fallback = r.IntN(6) == 0
		g.alone = g.fallback && r.IntN(2) == 0
		used := map[generatedPath]bool{}
		for range 1 + r.IntN(3) {
			p := generatedPath{pick(r, "/", foo, "/admin", "/foo(/|$)(.*)"), pick(r, "Prefix", "Exact", "ImplementationSpecific")}
			if strings.Contains(p.path, "(") {
				p.pathType = "ImplementationSpecific"
			}
			if id := (generatedPath{p.path, strings.Replace(p.pathType, "ImplementationSpecific", "Prefix", 1)}); !used[id] {
				used[id] = true
				g.paths = append(g.paths, p)
			}
		}
		s.ingresses = append(s.ingresses, g)
	}
	return s
}

func without(annotations map[string]string, key string) map[string]string {
	kept := map[string]string{}
	for name, value := range annotations {
		if name != key {
			kept[name] = value
		}
	}
	return kept
}

// canary reports whether the Ingress is a canary of another one.
func (g generated) canary() bool { return g.annotations["canary"] == "true" }

func (g generated) backend(i int) string { return fmt.Sprintf("%s-%d", hashed(g.name), i) }

// hashed returns a name for Services.
func hashed(name string) string {
	sum := uint32(7)
	for _, c := range name {
		sum = sum*31 + uint32(c)
	}
	return fmt.Sprintf("s%d", sum)
}

func (s generatedSet) yaml() string {
	var b strings.Builder
	for _, g := range s.ingresses {
		fmt.Fprintf(&b, "---\napiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: %s\n  namespace: %s\n", g.name, g.namespace)
		if s.aged {
			fmt.Fprintf(&b, "  creationTimestamp: %s\n", time.Unix(int64(g.age)*1000, 0).UTC().Format(time.RFC3339))
		}
		b.WriteString("  annotations:\n    other: none\n")
		for _, key := range sortedKeys(g.annotations) {
			fmt.Fprintf(&b, "    nginx.ingress.kubernetes.io/%s: %q\n", key, g.annotations[key])
		}
		b.WriteString("spec:\n")
		service := func(i int) string { return fmt.Sprintf("{service: {name: %s, port: {number: 80}}}", g.backend(i)) }
		if g.fallback {
			fmt.Fprintf(&b, "  defaultBackend: %s\n", service(99))
		}
		if g.tls && g.host != "" {
			fmt.Fprintf(&b, "  tls: [{hosts: [%q], secretName: tls}]\n", g.host)
		}
		if g.alone {
			continue
		}
		fmt.Fprintf(&b, "  rules:\n  - host: %q\n    http:\n      paths:\n", g.host)
		for i, p := range g.paths {
			fmt.Fprintf(&b, "      - {path: %q, pathType: %s, backend: %s}\n", p.path, p.pathType, service(i))
		}
	}
	if len(s.controller) > 0 {
		b.WriteString("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: ingress-nginx-controller, namespace: ingress-nginx}\ndata:\n")
		for _, key := range sortedKeys(s.controller) {
			fmt.Fprintf(&b, "  %s: %q\n", key, s.controller[key])
		}
	}
	return b.String()
}

func sortedKeys(m map[string]string) []string {
	var found []string
	for key := range m {
		found = append(found, key)
	}
	slices.Sort(found)
	return found
}

func (s generatedSet) byAge() generatedSet {
	s.ingresses = slices.Clone(s.ingresses)
	slices.SortStableFunc(s.ingresses, func(a, b generated) int {
		return cmp.Or(cmp.Compare(a.age, b.age), cmp.Compare(b.namespace+"/"+b.name, a.namespace+"/"+a.name))
	})
	return s
}

func (s generatedSet) reversed() generatedSet {
	s.ingresses = slices.Clone(s.ingresses)
	slices.Reverse(s.ingresses)
	return s
}

// orders returns the sets as ingress-nginx may take them: their order is not known without their age, and whether snippets of
// annotations count depends on its release.
func (s generatedSet) orders() (all []generatedSet) {
	sets := []generatedSet{s.served()}
	s = sets[0]
	switch s.controller["allow-snippet-annotations"] {
	case "":
		sets = append(sets, s.withoutSnippets())
	case "false":
		sets[0] = s.withoutSnippets()
	}
	for _, one := range sets {
		if s.aged {
			all = append(all, one.byAge())
		} else {
			all = append(all, one, one.reversed())
		}
	}
	return all
}

// served returns the set without the objects that the controller does not serve.
func (s generatedSet) served() generatedSet {
	if s.controller["annotations-risk-level"] == "High" {
		s.ingresses = slices.DeleteFunc(slices.Clone(s.ingresses), func(g generated) bool {
			return g.annotations["configuration-snippet"] != "" || g.annotations["server-snippet"] != ""
		})
	}
	return s
}

// withoutSnippets returns the set as a controller takes it that ignores snippets of annotations.
func (s generatedSet) withoutSnippets() generatedSet {
	s.ingresses = slices.Clone(s.ingresses)
	for i := range s.ingresses {
		s.ingresses[i].annotations = without(without(s.ingresses[i].annotations, "configuration-snippet"), "server-snippet")
	}
	return s
}

// modelPath is a location of the model.
type modelPath struct {
	path    string
	exact   bool
	of      *generated
	backend string
	// fallback is set for the path / that the controller adds, which a path of an Ingress replaces.
	fallback bool
}

func (p modelPath) regex() bool {
	if p.of == nil {
		return false
	}
	target := p.of.annotations["rewrite-target"]
	return strings.EqualFold(p.of.annotations["use-regex"], "true") || target != "" && target != p.path
}

// answer returns the backend that ingress-nginx passes a request to, or "".
func (s generatedSet) answer(r request) string {
	host := s.serverFor(r.host)
	own := s.ruledBy(host)
	server, usable := modelServerOf(own)
	if !usable || server.refuses(r) {
		return ""
	}
	found := s.locationFor(r.path, host, own)
	if found == nil || found.backend == "" {
		return ""
	}
	a := map[string]string{}
	if found.of != nil {
		a = found.of.annotations
	}
	if server.redirects(r, a) || a["configuration-snippet"] == "return 403;" || s.stopsAttack(r, a) {
		return ""
	}
	if unusableSecret(a["auth-tls-secret"], found.of) || !s.admits(r, a, server.snippet) {
		return ""
	}
	return found.of.namespace + "/" + found.backend
}

// ruledBy returns the Ingress objects that have rules for a host.
func (s generatedSet) ruledBy(host string) (own []*generated) {
	for i := range s.ingresses {
		if g := &s.ingresses[i]; !g.alone && g.host == host {
			own = append(own, g)
		}
	}
	return own
}

// unusableSecret reports whether the controller cannot use the Secret that an Ingress names for certificates.
func unusableSecret(secret string, of *generated) bool {
	return secret == "ca" || secret == "one/ca" && of.namespace != "one"
}

// modelServer is what holds for a whole server.
type modelServer struct {
	snippet, certificate, subject string
	hasTLS                        bool
}

// modelServerOf returns what holds for the server of all of its Ingress objects, and whether the controller can use their
// Secrets.
func modelServerOf(own []*generated) (m modelServer, usable bool) {
	for _, g := range own {
		a := g.annotations
		secret := a["auth-tls-secret"]
		if unusableSecret(secret, g) {
			return m, false
		}
		if secret != "" && m.certificate == "" {
			m.certificate, m.subject = secret, a["auth-tls-match-cn"]
		}
		if !g.canary() {
			m.snippet = cmp.Or(m.snippet, a["server-snippet"])
			m.hasTLS = m.hasTLS || g.tls && g.host != ""
		}
	}
	return m, true
}

// refuses reports whether the server refuses a request, whatever its path.
func (m modelServer) refuses(r request) bool {
	if m.certificate != "" && r.tls && r.subject == "" || m.snippet == "return 403;" {
		return true
	}
	return m.subject != "" && (!r.tls || !regexp.MustCompile(m.subject).MatchString(r.subject))
}

// redirects reports whether a location of the server redirects a request to HTTPS.
func (m modelServer) redirects(r request, a map[string]string) bool {
	return m.hasTLS && !r.tls && a["ssl-redirect"] != "false"
}

// stopsAttack reports whether the firewall of a location stops a request.
func (s generatedSet) stopsAttack(r request, a map[string]string) bool {
	waf := a["enable-modsecurity"] == "true" || s.controller["enable-modsecurity"] == "true" && a["enable-modsecurity"] != "false"
	return waf && r.attack
}

// admits models the access phase of a location.
func (s generatedSet) admits(r request, a map[string]string, serverSnippet string) bool {
	if a["auth-type"] == "digest" {
		return false // no client of the test has it
	}
	allow := cmp.Or(a["allowlist-source-range"], a["whitelist-source-range"], s.controller["whitelist-source-range"])
	if allow == "nowhere" {
		return false
	}
	checks := checksOf(s.accessRules(a, allow, serverSnippet), r.address)
	if a["auth-type"] == "basic" {
		checks = append(checks, verdict(r.password))
	}
	if a["auth-url"] != "" || s.controller["global-auth-url"] != "" && a["enable-global-auth"] != "false" {
		checks = append(checks, verdict(r.session))
	}
	return satisfied(checks, a["satisfy"] == "any" || strings.HasPrefix(a["configuration-snippet"], "satisfy any;"))
}

// accessRules returns the rules for addresses that hold in a location, with the networks that it allows.
func (s generatedSet) accessRules(a map[string]string, allow, serverSnippet string) []string {
	rules := networks("deny", cmp.Or(a["denylist-source-range"], s.controller["denylist-source-range"]))
	if allow != "" {
		rules = append(append(rules, networks("allow", allow)...), "deny all")
	}
	for _, text := range []string{strings.TrimPrefix(a["configuration-snippet"], "satisfy any; "), s.controller["location-snippet"]} {
		if strings.HasPrefix(text, "deny ") || strings.HasPrefix(text, "allow ") {
			rules = append(rules, strings.TrimSuffix(text, ";"))
		}
	}
	if len(rules) == 0 {
		for _, text := range []string{serverSnippet, s.controller["server-snippet"]} {
			if strings.HasPrefix(text, "deny ") {
				rules = append(rules, strings.TrimSuffix(text, ";"))
			}
		}
	}
	if len(rules) == 0 {
		rules = networks("deny", s.controller["block-cidrs"])
	}
	return rules
}

// check is the result of a part of the access phase.
type check int

const (
	passed check = iota
	failed
)

func verdict(ok bool) check {
	if ok {
		return passed
	}
	return failed
}

func satisfied(checks []check, either bool) bool {
	if either {
		return len(checks) == 0 || slices.Contains(checks, passed)
	}
	return !slices.Contains(checks, failed)
}

func networks(word, list string) (rules []string) {
	for network := range strings.SplitSeq(list, ",") {
		if network != "" {
			rules = append(rules, word+" "+network)
		}
	}
	return rules
}

// checksOf returns the result of rules for an address, which is none if no rule matches.
func checksOf(rules []string, address string) []check {
	for _, rule := range rules {
		word, network, _ := strings.Cut(rule, " ")
		prefix, err := netip.ParsePrefix(network)
		if err == nil && prefix.Contains(netip.MustParseAddr(address)) || network == address || network == "all" {
			return []check{verdict(word == "allow")}
		}
	}
	return nil
}

// serverFor returns the host whose server ingress-nginx chooses.
func (s generatedSet) serverFor(name string) string {
	known := map[string]bool{}
	aliases := map[string][]string{}
	for _, g := range s.ingresses {
		if !g.alone && !g.canary() {
			known[g.host] = true
			if alias := g.annotations["server-alias"]; alias != "" && len(aliases[g.host]) == 0 {
				aliases[g.host] = []string{alias}
			}
		}
	}
	if known[name] {
		return name
	}
	var hosts []string
	for host := range aliases {
		hosts = append(hosts, host)
	}
	slices.SortFunc(hosts, func(a, b string) int { return cmp.Compare(cmp.Or(a, "_"), cmp.Or(b, "_")) })
	for _, host := range hosts {
		if slices.Contains(aliases[host], name) {
			return host
		}
	}
	if label, domain, _ := strings.Cut(name, "."); label != "" && known["*."+domain] {
		return "*." + domain
	}
	return ""
}

// locationFor returns the location that nginx chooses in the server of a host.
func (s generatedSet) locationFor(path, host string, own []*generated) *modelPath {
	locations := withPaths(s.rootFor(host, own), own)
	slices.SortStableFunc(locations, func(a, b *modelPath) int {
		return cmp.Or(cmp.Compare(len(b.path), len(a.path)), cmp.Compare(b.path, a.path))
	})
	if slices.ContainsFunc(locations, func(l *modelPath) bool { return l.regex() }) {
		return firstByRegex(locations, path)
	}
	return firstByPrefix(locations, path)
}

// rootFor returns the location / that the controller adds to the server of a host.
func (s generatedSet) rootFor(host string, own []*generated) *modelPath {
	root := &modelPath{path: "/", fallback: true}
	if host != "" {
		if at := slices.IndexFunc(own, func(g *generated) bool { return !g.canary() }); at >= 0 {
			root.of = own[at]
			if root.of.fallback {
				root.backend = root.of.backend(99)
			}
		}
		return root
	}
	if at := slices.IndexFunc(s.ingresses, func(g generated) bool { return g.alone && !g.canary() }); at >= 0 {
		// Redirects and rewrites do not hold there.
		copied := s.ingresses[at]
		copied.annotations = without(without(copied.annotations, "rewrite-target"), "use-regex")
		root.of, root.backend, root.fallback = &copied, copied.backend(99), false
	}
	return root
}

// withPaths returns the locations of a server: its root and the paths of its Ingress objects, of which the first wins.
func withPaths(root *modelPath, own []*generated) []*modelPath {
	locations := []*modelPath{root}
	for _, g := range own {
		if g.canary() {
			continue
		}
		for i, p := range g.paths {
			l := &modelPath{path: p.path, exact: p.pathType == "Exact", of: g, backend: g.backend(i)}
			at := slices.IndexFunc(locations, func(other *modelPath) bool { return other.path == l.path && other.exact == l.exact })
			switch {
			case at < 0:
				locations = append(locations, l)
			case locations[at].fallback:
				locations[at] = l
			}
		}
	}
	return locations
}

// firstByRegex returns the location for a path in a server whose locations are all regular expressions.
func firstByRegex(locations []*modelPath, path string) *modelPath {
	for _, l := range locations {
		if regexp.MustCompile("(?i)^" + l.path).MatchString(path) {
			return l
		}
	}
	return nil
}

// firstByPrefix returns the location for a path in a server without regular expressions.
func firstByPrefix(locations []*modelPath, path string) *modelPath {
	for _, matches := range []func(*modelPath) bool{
		func(l *modelPath) bool { return l.exact && l.path == path },
		func(l *modelPath) bool { return l.path == path },
		func(l *modelPath) bool {
			return !l.exact && strings.HasPrefix(path, strings.TrimSuffix(l.path, "/")+"/")
		},
	} {
		if at := slices.IndexFunc(locations, matches); at >= 0 {
			return locations[at]
		}
	}
	return nil
}

// served is an imported configuration, as nginx reads it.
type served struct{ http []*syntax.Directive }

var includes = regexp.MustCompile(`include ([-a-z0-9.]+);`)

func readServed(t *testing.T, files map[string]string) served {
	t.Helper()
	text := includes.ReplaceAllStringFunc(files[ingressFile], func(statement string) string { return files[includes.FindStringSubmatch(statement)[1]] })
	if bad := syntax.Check(text); bad != nil {
		t.Fatalf("%v\n%s", bad, text)
	}
	return served{syntax.Scan(text)}
}

func directivesOf(block []*syntax.Directive, name string) (found []*syntax.Directive) {
	for _, d := range block {
		if d.Name == name {
			found = append(found, d)
		}
	}
	return found
}

// answer returns the Service that nginx passes a request to, or "".
func (s served) answer(r request) string {
	server := s.server(r)
	if server == nil || refusesClient(server, r) || returns(server, r) {
		return ""
	}
	location := locationOf(server, r.path)
	if location == nil || returns(location, r) {
		return ""
	}
	checks := checksOf(addressRules(location, server, s.http), r.address)
	if len(directivesOf(location, "auth_basic")) > 0 && firstArg(location, "auth_basic") != "off" {
		checks = append(checks, verdict(r.password))
	}
	if subrequests := directivesOf(location, "auth_request"); len(subrequests) > 0 {
		if locationNamed(server, subrequests[0].Args[0]) == nil {
			return "the application itself is asked"
		}
		checks = append(checks, verdict(r.session))
	}
	if !satisfied(checks, firstArg(location, "satisfy") == "any") {
		return ""
	}
	return passedTo(location)
}

// firstArg returns the first argument of the first directive with a name in a block, or "".
func firstArg(block []*syntax.Directive, name string) string {
	if found := directivesOf(block, name); len(found) > 0 {
		return found[0].Args[0]
	}
	return ""
}

// refusesClient reports whether a server refuses the handshake or the certificate of a client.
func refusesClient(server []*syntax.Directive, r request) bool {
	if !r.tls {
		return false
	}
	return len(directivesOf(server, "ssl_reject_handshake")) > 0 || firstArg(server, "ssl_verify_client") == "on" && r.subject == ""
}

// addressRules returns the rules for addresses of the first block that has some.
func addressRules(blocks ...[]*syntax.Directive) (rules []string) {
	for _, block := range blocks {
		for _, d := range block {
			if d.Name == "allow" || d.Name == "deny" {
				rules = append(rules, d.Name+" "+d.Args[0])
			}
		}
		if len(rules) > 0 {
			break
		}
	}
	return rules
}

// passedTo returns the Service that a location passes requests to, or "".
func passedTo(location []*syntax.Directive) string {
	for _, name := range []string{"proxy_pass", "grpc_pass"} {
		if pass := directivesOf(location, name); len(pass) > 0 {
			_, upstream, _ := strings.Cut(pass[0].Args[0], "://")
			return strings.TrimSuffix(upstream, "-80")
		}
	}
	return ""
}

// server returns the server block that nginx chooses.
func (s served) server(r request) []*syntax.Directive {
	port := "80"
	if r.tls {
		port = "443"
	}
	var byRegex, byDefault []*syntax.Directive
	for _, d := range directivesOf(s.http, "server") {
		listens := slices.ContainsFunc(directivesOf(d.Block, "listen"), func(l *syntax.Directive) bool { return l.Args[0] == port })
		if !listens {
			continue
		}
		for _, name := range directivesOf(d.Block, "server_name")[0].Args {
			expression, isRegex := strings.CutPrefix(name, "~")
			switch {
			case name == r.host:
				return d.Block
			case isRegex && byRegex == nil && regexp.MustCompile(expression).MatchString(r.host):
				byRegex = d.Block
			}
		}
		if slices.ContainsFunc(directivesOf(d.Block, "listen"), func(l *syntax.Directive) bool { return l.Args[0] == port && slices.Contains(l.Args, "default_server") }) {
			byDefault = d.Block
		}
	}
	if byRegex != nil {
		return byRegex
	}
	return byDefault
}

// returns reports whether nginx answers in the rewrite phase.
func returns(block []*syntax.Directive, r request) bool {
	for _, d := range block {
		switch {
		case d.Name == "return":
			return true
		case d.Name != "if":
		case strings.HasPrefix(d.Args[0], "($ssl_client_s_dn"):
			subject := ""
			if r.tls {
				subject = r.subject
			}
			if !regexp.MustCompile(strings.TrimSuffix(d.Args[2], ")")).MatchString(subject) {
				return true
			}
		case strings.HasPrefix(d.Args[0], "($scheme"):
			if !r.tls {
				return true
			}
		}
	}
	return false
}

func locationNamed(server []*syntax.Directive, name string) *syntax.Directive {
	for _, l := range directivesOf(server, "location") {
		if l.Args[len(l.Args)-1] == name {
			return l
		}
	}
	return nil
}

// locationOf returns the location that nginx chooses.
func locationOf(server []*syntax.Directive, path string) []*syntax.Directive {
	var prefix *syntax.Directive
	for _, l := range directivesOf(server, "location") {
		switch {
		case l.Args[0] == "=" && l.Args[1] == path:
			return l.Block
		case len(l.Args) == 1 && strings.HasPrefix(path, l.Args[0]) && (prefix == nil || len(prefix.Args[0]) < len(l.Args[0])):
			prefix = l
		}
	}
	for _, l := range directivesOf(server, "location") {
		if l.Args[0] == "~*" && regexp.MustCompile("(?i)"+l.Args[1]).MatchString(path) {
			return l.Block
		}
	}
	if prefix == nil {
		return nil
	}
	return prefix.Block
}
