package cacheconf

import (
	"fmt"
	"slices"
	"strings"

	"example.com/nginx-operator/api/cache/v1alpha1"
)

// commonHeaders are the headers of a request that every origin gets, also if the answer is stored. Common servers send Vary
// where their answer depends on them. nginx itself handles ranges and conditions of requests that it can answer from a cache.
var commonHeaders = []string{"Accept", "Accept-Encoding", "Accept-Language", "Origin", "Traceparent", "Tracestate", "User-Agent"}

// credentialHeaders are headers by which clients, and proxies in front of the cache, say who the client is, besides
// Authorization and Cookie. An answer to them is for this client. A header that is not here does not reach the origin.
//
// nginx finds no prefixes. Of the claims of Pomerium, these are common ones, and X-Pomerium-Jwt-Assertion comes with all of them.
var credentialHeaders = []string{
	"Api-Key", "Apikey", "Cf-Access-Authenticated-User-Email", "Cf-Access-Jwt-Assertion", "Client-Cert", "Dpop", "Job-Token",
	"Ocp-Apim-Subscription-Key", "Private-Token", "Proxy-Authorization", "Remote-Email", "Remote-Groups", "Remote-User",
	"Signature", "Ssl-Client-Cert", "Ssl-Client-Subject-Dn", "Ssl-Client-Verify", "Tailscale-User-Login", "Token",
	"X-Access-Token", "X-Amz-Security-Token", "X-Amzn-Mtls-Clientcert", "X-Amzn-Mtls-Clientcert-Subject",
	"X-Amzn-Oidc-Accesstoken", "X-Amzn-Oidc-Data", "X-Amzn-Oidc-Identity", "X-Api-Key", "X-Api-Token", "X-Arr-Clientcert",
	"X-Auth-Key", "X-Auth-Request-Access-Token", "X-Auth-Request-Email", "X-Auth-Request-Groups",
	"X-Auth-Request-Preferred-Username", "X-Auth-Request-User", "X-Auth-Token", "X-Auth-User", "X-Authenticated-User",
	"X-Authentik-Jwt", "X-Authentik-Username", "X-Authorization", "X-Client-Cert", "X-Consumer-Id", "X-Consumer-Username",
	"X-Forwarded-Access-Token", "X-Forwarded-Client-Cert", "X-Forwarded-Email", "X-Forwarded-Groups",
	"X-Forwarded-Preferred-Username", "X-Forwarded-Tls-Client-Cert", "X-Forwarded-Tls-Client-Cert-Info", "X-Forwarded-User",
	"X-Functions-Key", "X-Gitlab-Token", "X-Goog-Api-Key", "X-Goog-Authenticated-User-Email", "X-Goog-Authenticated-User-Id",
	"X-Goog-Iap-Jwt-Assertion", "X-Id-Token", "X-Ms-Client-Principal", "X-Ms-Client-Principal-Id", "X-Ms-Client-Principal-Name",
	"X-Ms-Token-Aad-Access-Token", "X-Ms-Token-Aad-Id-Token", "X-Pomerium-Claim-Email", "X-Pomerium-Claim-Groups",
	"X-Pomerium-Claim-Sub", "X-Pomerium-Claim-User", "X-Pomerium-Jwt-Assertion", "X-Remote-User", "X-Session-Id",
	"X-Session-Token", "X-Shopify-Access-Token", "X-Ssl-Client-Cert", "X-Ssl-Client-Dn", "X-Ssl-Client-S-Dn",
	"X-Ssl-Client-Verify", "X-Token", "X-User-Token", "X-Vault-Token", "X-Vouch-User", "X-Webauth-User",
}

// ownHeaders are those that the cache sets, or that end at it; a prefix ends with a hyphen. Those for the address, the URL or
// the method of a request are of common servers: a rule that passed them on would let a client change what others get.
var ownHeaders = []string{
	"authorization", "connection", "content-", "cookie", "expect", "forwarded", "front-end-https", "host", "http2-settings", "if-", "keep-alive",
	"proxy", "proxy-connection", "range", "te", "trailer", "transfer-encoding", "upgrade", "via", "x-accel-", "x-cache-", "x-forwarded-", "x-host",
	"x-http-method", "x-http-method-override", "x-method-override", "x-original-", "x-rewrite-url", "x-sendfile-type", "x-url-scheme",
}

// header is a header that rules pass on to the origin.
type header struct {
	// Name is the header, in lower case, and Variable its part of the names of nginx's variables.
	Name, Variable string
	// Rules are the numbers of the rules that pass it on.
	Rules []int
}

// declaredHeaders returns the headers that rules pass on, by name.
func declaredHeaders(rules []v1alpha1.Rule) ([]header, error) {
	byName := map[string]*header{}
	var names []string
	for i, r := range rules {
		for _, declared := range r.RequestHeaders {
			name := strings.ToLower(declared)
			if own(name) {
				return nil, fmt.Errorf("spec.rules[%d].requestHeaders: %s is a header that the cache sets itself, or that would let a client change the answers for others", i, declared)
			}
			if slices.ContainsFunc(commonHeaders, func(common string) bool { return strings.EqualFold(common, name) }) {
				continue
			}
			if byName[name] == nil {
				byName[name] = &header{Name: name, Variable: variable(name)}
				names = append(names, name)
			}
			if h := byName[name]; !slices.Contains(h.Rules, i) {
				h.Rules = append(h.Rules, i)
			}
		}
	}
	slices.Sort(names)
	all := make([]header, 0, len(names))
	for _, name := range names {
		all = append(all, *byName[name])
	}
	return all, nil
}

// common returns the headers that every origin gets.
func common() (all []header) {
	for _, name := range commonHeaders {
		all = append(all, header{Name: name, Variable: variable(name)})
	}
	return all
}

// own reports whether rules must not pass on a header. A credential is none of these, whatever it begins with: a service mesh adds
// X-Forwarded-Client-Cert to all requests.
func own(name string) bool {
	if slices.ContainsFunc(credentialHeaders, func(credential string) bool { return strings.EqualFold(credential, name) }) {
		return false
	}
	return slices.ContainsFunc(ownHeaders, func(own string) bool {
		return name == own || strings.HasSuffix(own, "-") && strings.HasPrefix(name, own)
	})
}

// variable returns the name of a header in nginx's variables.
func variable(name string) string { return strings.ReplaceAll(strings.ToLower(name), "-", "_") }

// credentials returns the variables with the credentials of a request. What a rule passes on is none for it.
func credentials(declared []header) []string {
	all := make([]string, 0, len(credentialHeaders))
	for _, name := range credentialHeaders {
		prefix := "$http_"
		if slices.ContainsFunc(declared, func(h header) bool { return h.Variable == variable(name) }) {
			prefix = "$cache_credential_"
		}
		all = append(all, prefix+variable(name))
	}
	return all
}
