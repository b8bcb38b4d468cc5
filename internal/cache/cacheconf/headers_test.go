package cacheconf

import (
	"slices"
	"strings"
	"testing"

	"example.com/nginx-operator/api/cache/v1alpha1"
)

// TestDeclaredHeaders: a rule cannot pass on a header that the cache sets, or by which a client changes the answers for others.
func TestDeclaredHeaders(t *testing.T) {
	for name, refused := range map[string]bool{
		"RSC": false, "HX-Request": false, "X-Api-Key": false, "Accept-Language": false, "Proxying": false,
		"X-Forwarded-Prefix": true, "x-http-method-override": true, "Host": true, "Cookie": true, "Authorization": true, "X-Cache-Only": true,
		"If-None-Match": true, "Range": true, "X-Original-URL": true, "Proxy": true, "Content-Length": true, "X-Accel-Mapping": true,
		"X-Forwarded-Client-Cert": false, "X-Forwarded-For": true,
	} {
		_, err := declaredHeaders([]v1alpha1.Rule{{}, {RequestHeaders: []string{name}}})
		if (err != nil) != refused || refused && !strings.HasPrefix(err.Error(), "spec.rules[1].requestHeaders: "+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	found, err := declaredHeaders([]v1alpha1.Rule{{RequestHeaders: []string{"RSC", "rsc"}}, {RequestHeaders: []string{"Rsc", "Accept", "A-B"}}})
	if err != nil || len(found) != 2 || found[0].Variable != "a_b" || !slices.Equal(found[1].Rules, []int{0, 1}) {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestCredentialsFit: nginx reads parameters of up to 4096 bytes.
func TestCredentialsFit(t *testing.T) {
	found, err := declaredHeaders([]v1alpha1.Rule{{RequestHeaders: credentialHeaders}})
	if err != nil || len(found) != len(credentialHeaders) {
		t.Fatalf("%d of %d headers are declared (%v)", len(found), len(credentialHeaders), err)
	}
	if n := len(strings.Join(credentials(found), "")); n > 4000 {
		t.Errorf("the variables of all credentials have %d bytes", n)
	}
}
