package importer

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"example.com/nginx-operator/internal/instance/syntax"
)

// controller holds the settings of the ConfigMap of ingress-nginx, which hold for all Ingress objects.
type controller struct {
	// name is that of the ConfigMap, or "" if the input has none.
	name string
	data map[string]string
	// http, server and location are lines of each of these blocks.
	http, server, location []string
	// closed are protecting settings that are not carried over, and why.
	closed map[string]string
	// snippets is what the controller does with snippets of annotations.
	snippets snippetPolicy
}

// snippetPolicy is what a controller does with snippets of annotations.
type snippetPolicy int

const (
	// snippetsUnknown: without allow-snippet-annotations, ingress-nginx ignores them since 1.9, and applied them before.
	// https://github.com/kubernetes/ingress-nginx/pull/10393
	snippetsUnknown snippetPolicy = iota
	snippetsApplied
	snippetsIgnored
)

func snippetPolicyOf(allowed string) snippetPolicy {
	switch {
	case isTrue(allowed):
		return snippetsApplied
	case isFalse(allowed):
		return snippetsIgnored
	}
	return snippetsUnknown
}

// controllerKeys are the settings of the controller that the import carries over. They are read in this order.
var controllerKeys = []string{"allow-snippet-annotations", "annotations-risk-level", "allowlist-source-range", "block-cidrs", "block-referers", "block-user-agents", "denylist-source-range",
	"enable-modsecurity", "enable-real-ip", "enable-owasp-modsecurity-crs", "forwarded-for-header", "global-auth-method", "global-auth-request-redirect", "global-auth-response-headers",
	"global-auth-signin", "global-auth-signin-redirect-param", "global-auth-snippet", "global-auth-url", "http-snippet", "location-snippet", "modsecurity-snippet",
	"proxy-real-ip-cidr", "server-snippet", "use-forwarded-headers", "use-proxy-protocol", "whitelist-source-range"}

// openControllerKeys are settings of the controller that keep no request out, whatever their names sound like.
var openControllerKeys = []string{"allow-backend-server-header", "allow-cross-namespace-resources", "annotation-value-word-blocklist", "enable-auth-access-log",
	"forwarded-for-proxy-protocol-header", "geoip2-autoreload-in-minutes", "global-allowed-response-headers", "global-auth-always-set-cookie", "global-auth-cache-duration", "global-auth-cache-key",
	"limit-conn-status-code", "limit-conn-zone-variable", "limit-rate", "limit-rate-after", "limit-req-status-code", "main-snippet", "nginx-status-ipv4-whitelist",
	"nginx-status-ipv6-whitelist", "no-auth-locations", "stream-snippet", "use-geoip", "use-geoip2"}

// isController reports whether a ConfigMap is that of ingress-nginx.
func isController(c *corev1.ConfigMap) bool {
	if c.Labels["app.kubernetes.io/name"] == "ingress-nginx" || c.Name == "ingress-nginx-controller" || c.Name == "nginx-configuration" {
		return true
	}
	return slices.ContainsFunc(controllerKeys, func(key string) bool { _, ok := c.Data[key]; return ok })
}

// readController returns the settings of the controller's ConfigMap. If the input has none, they cannot be known.
func (s *inputs) readController(r *Review, done map[*object]bool) *controller {
	k := &controller{data: map[string]string{}, closed: map[string]string{}}
	objects, found := ofType[*corev1.ConfigMap](s)
	for i, c := range found {
		if !isController(c) {
			continue
		}
		if k.name != "" {
			k.closed["the second ConfigMap "+c.Name] = "the input has two ConfigMaps with settings of ingress-nginx: pass that of the controller only"
		}
		k.name = c.Name
		maps.Copy(k.data, c.Data)
		defer func(o *object, data map[string]string) { k.review(o, r, data); done[o] = true }(objects[i], c.Data)
	}
	if k.name == "" {
		r.step("Pass the ConfigMap of the controller, too (kubectl get configmap -n ingress-nginx ingress-nginx-controller -o yaml), and import again: " +
			"what it sets for all Ingress objects, such as global-auth-url, whitelist-source-range and use-forwarded-headers, is not known.")
		return k
	}
	k.snippets = snippetPolicyOf(k.data["allow-snippet-annotations"])
	k.readAddresses(r)
	k.readBlocks()
	k.readSnippets()
	if isTrue(k.data["enable-modsecurity"]) {
		k.closed["enable-modsecurity"] = unsupported["enable-modsecurity"]
	}
	for key, value := range k.data {
		known := slices.Contains(controllerKeys, key) || slices.Contains(openControllerKeys, key)
		if !known && value != "" && !isFalse(value) && soundsProtecting.MatchString(key) {
			k.closed[key] = "it is not known to this version, and its name says that it may protect"
		}
	}
	return k
}

// served returns the Ingress objects that the controller serves, and reviews the others: it serves none with a snippet if
// annotations-risk-level is set to less than Critical.
// https://github.com/kubernetes/ingress-nginx/issues/12635
func (k *controller) served(objects []*object, r *Review, done map[*object]bool) []*object {
	level := strings.TrimSpace(k.data["annotations-risk-level"])
	if level == "" || level == "Critical" {
		return objects
	}
	return slices.DeleteFunc(objects, func(o *object) bool {
		ingress, _ := o.typed.(*networkingv1.Ingress)
		at := slices.IndexFunc(snippetAnnotations, func(name string) bool { _, ok := ingress.Annotations[annotationPrefix+name]; return ok })
		if at < 0 {
			return false
		}
		note := fmt.Sprintf("ingress-nginx does not serve it, because annotations-risk-level is %s in its ConfigMap, and %s is a critical annotation", level, snippetAnnotations[at])
		o.take("metadata", NotCarried, note)
		o.take("spec", NotCarried, note)
		o.review(r, note)
		done[o] = true
		r.step("Decide about the Ingress %s: %s. To import it, delete the annotation, or set the level to Critical in the input, and import again.", ingress.Name, note)
		return true
	})
}

// setValues sets the annotations of ingress-nginx that the controller does not ignore, by their names.
func (k *controller) setValues(values, annotations map[string]string) {
	for key, value := range annotations {
		name, own := strings.CutPrefix(key, annotationPrefix)
		if own && (k.snippets != snippetsIgnored || !slices.Contains(snippetAnnotations, name)) {
			values[name] = strings.TrimSpace(value)
		}
	}
}

// review reviews the ConfigMap of the controller.
func (k *controller) review(o *object, r *Review, data map[string]string) {
	o.take("metadata", NotCarried, "the settings that protect paths are carried over: keep the object for the controller")
	for key := range data {
		path := childPath("data", key)
		switch why, closed := k.closed[key]; {
		case closed:
			o.take(path, NotCarried, why+"; until you replace it, the paths that it protects answer 403")
		case slices.Contains(controllerKeys, key):
			o.take(path, Changed, "it holds for the whole configuration")
		default:
			o.take(path, NotCarried, "set it in the configuration, if it differs from what "+ingressFile+" has")
		}
	}
	o.review(r, "set it in the configuration")
}

// readAddresses carries over how the addresses of clients are found, and which of them are refused.
func (k *controller) readAddresses(r *Review) {
	if list := k.data["block-cidrs"]; list != "" {
		lines, ok := accessLines("deny", list)
		if !ok {
			k.closed["block-cidrs"] = "it is not a list of networks"
		}
		k.http = append(k.http, lines...)
	}
	if isTrue(k.data["use-proxy-protocol"]) {
		k.closed["use-proxy-protocol"] = "set proxy_protocol in each listen, and real_ip_header proxy_protocol, or nginx does not see the addresses of clients"
		return
	}
	for _, key := range []string{"use-forwarded-headers", "enable-real-ip"} {
		if !isTrue(k.data[key]) {
			continue
		}
		header := cmp.Or(strings.TrimSpace(k.data["forwarded-for-header"]), "X-Forwarded-For")
		if !headerName.MatchString(header) {
			k.closed[key] = "forwarded-for-header is not the name of a header"
			return
		}
		k.http = append(k.http, "real_ip_header "+header+";", "real_ip_recursive on;")
		for network := range strings.SplitSeq(cmp.Or(k.data["proxy-real-ip-cidr"], "0.0.0.0/0"), ",") {
			network = strings.TrimSpace(network)
			prefix, errPrefix := netip.ParsePrefix(network)
			_, errAddr := netip.ParseAddr(network)
			if errPrefix != nil && errAddr != nil || prefix.Addr().Zone() != "" || strings.Contains(network, "%") {
				k.closed[key] = "proxy-real-ip-cidr is not a list of networks"
				return
			}
			k.http = append(k.http, "set_real_ip_from "+network+";")
		}
		r.step("Let clients reach the application only through the proxy that sets %s, as they reach the controller, or restrict set_real_ip_from in %s: otherwise they choose the address that allow and deny compare.", header, ingressFile)
		return
	}
}

// readBlocks carries over which browsers and referring pages are refused.
func (k *controller) readBlocks() {
	for key, header := range map[string]string{"block-user-agents": "user_agent", "block-referers": "referer"} {
		if k.data[key] == "" {
			continue
		}
		lines := []string{"map $http_" + header + " $blocked_" + header + " {", "    default 0;"}
		for value := range strings.SplitSeq(k.data[key], ",") {
			if value = strings.TrimSpace(value); strings.ContainsFunc(value, isControl) || value == "" || syntax.Check("map a b { "+value+" 1; }") != nil {
				k.closed[key] = "it is not a list of words and regular expressions"
				break
			}
			lines = append(lines, "    "+value+" 1;")
		}
		if _, closed := k.closed[key]; !closed {
			k.http = append(k.http, strings.Join(append(lines, "}"), "\n"))
			k.server = append(k.server, "if ($blocked_"+header+") { return 403; }")
		}
	}
	slices.Sort(k.server)
}

func (k *controller) readSnippets() {
	for key, lines := range map[string]*[]string{"http-snippet": &k.http, "server-snippet": &k.server, "location-snippet": &k.location} {
		text := k.data[key]
		if text == "" {
			continue
		}
		if bad := syntax.Check(text); bad != nil {
			k.closed[key] = bad.Error()
			continue
		}
		*lines = append(*lines, text)
	}
}

// defaults adds to the annotations of an Ingress what the controller sets for those that lack it, and returns their names.
func (k *controller) defaults(values map[string]string) (names []string) {
	set := func(name, value string) {
		if value = strings.TrimSpace(value); value != "" {
			values[name] = value
			names = append(names, name)
		}
	}
	if values["allowlist-source-range"] == "" && values["whitelist-source-range"] == "" {
		set("allowlist-source-range", cmp.Or(k.data["whitelist-source-range"], k.data["allowlist-source-range"]))
	}
	if values["denylist-source-range"] == "" {
		set("denylist-source-range", k.data["denylist-source-range"])
	}
	if k.data["global-auth-url"] != "" && values["auth-url"] == "" && !isFalse(values["enable-global-auth"]) {
		for _, part := range []string{"method", "signin", "signin-redirect-param", "response-headers", "request-redirect", "snippet"} {
			delete(values, "auth-"+part)
			set("auth-"+part, k.data["global-auth-"+part])
		}
		delete(values, "auth-proxy-set-headers")
		set("auth-url", k.data["global-auth-url"])
	}
	return names
}

// closes closes the paths of an Ingress that depend on a setting of the controller that is not carried over.
func (k *controller) closes(x *ingressImport, s *settings) {
	for _, key := range slices.Sorted(maps.Keys(k.closed)) {
		limited := len(s.access) > 0 || s.values["limit-rps"] != "" || s.values["limit-rpm"] != "" || s.values["limit-connections"] != ""
		switch {
		case key == "enable-modsecurity" && isFalse(s.values[key]):
		case key == "use-proxy-protocol" && !limited && k.data["block-cidrs"] == "":
		default:
			s.closedHosts = append(s.closedHosts, x.close(s, key, fmt.Sprintf("in the ConfigMap %s: %s", k.name, k.closed[key])))
		}
	}
}

// globalAuth is for Ingress objects that the authentication of the controller holds for, or not.
func globalAuth(a *annotationReader, value string) (Outcome, string) {
	switch k := a.importer.controller; {
	case isFalse(value):
		return Carried, ""
	case k.name == "":
		return NotCarried, unsupported["enable-global-auth"]
	case k.data["global-auth-url"] == "":
		return Carried, "the ConfigMap of the controller has no global-auth-url"
	}
	return Changed, "see auth-url, which is global-auth-url of the controller"
}
