package webhookcert

import (
	"bytes"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	clocktesting "k8s.io/utils/clock/testing"
)

// issued returns a certificate with its CA, for a Service in the namespace "ns".
func issued(t *testing.T, service string) Material {
	t.Helper()
	m, err := newAuthority(issuer, service, "ns", nil, Lifetimes{Serving: DefaultLifetime, CA: DefaultCALifetime}).renew(nil, false, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// clientOf returns the clientConfig for a Service in the namespace "ns".
func clientOf(service string, bundle []byte) *apiextensionsv1.WebhookClientConfig {
	return &apiextensionsv1.WebhookClientConfig{
		Service:  &apiextensionsv1.ServiceReference{Namespace: "ns", Name: service, Path: new("/convert")},
		CABundle: bundle,
	}
}

func TestRestoredClient(t *testing.T) {
	mine, next := issued(t, "olm"), issued(t, "olm")
	tests := []struct {
		name       string
		live, last *apiextensionsv1.WebhookClientConfig
		// want is the published Service; empty: the CRD stays as it is.
		want string
		// trusted are the certificates that must be trusted afterwards.
		trusted []Material
	}{
		{name: "no CA", live: clientOf("olm", nil), last: clientOf("olm", mine[keyCACert]), want: "olm", trusted: []Material{mine}},
		{name: "no CA and the bundle's Service", live: clientOf("manifests", nil), last: clientOf("olm", mine[keyCACert]), want: "olm", trusted: []Material{mine}},
		{name: "the next CA", live: clientOf("olm", next[keyCACert]), last: clientOf("olm", mine[keyCACert]), want: "olm", trusted: []Material{mine, next}},
		{name: "no conversion", live: nil, last: clientOf("olm", mine[keyCACert])},
		{name: "another installation", live: clientOf("manifests", next[keyCACert]), last: clientOf("olm", mine[keyCACert])},
		{name: "nothing known", live: clientOf("olm", nil)},
		{name: "an older certificate's CA is known", live: clientOf("olm", nil), last: clientOf("olm", next[keyCACert])},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := restoredClient(tt.live, tt.last, mine[keyCert], time.Now())
			if (got != nil) != (tt.want != "") {
				t.Fatalf("it publishes %+v", got)
			}
			if got == nil {
				return
			}
			if got.Service.Name != tt.want {
				t.Errorf("the Service is %s, want %s", got.Service.Name, tt.want)
			}
			for i, m := range tt.trusted {
				if !trusts(got, m[keyCert], time.Now()) {
					t.Errorf("certificate %d is not trusted", i)
				}
			}
		})
	}
}

// TestBundleDoesNotGrow: after repeated rotations, the bundle contains only the current CAs.
func TestBundleDoesNotGrow(t *testing.T) {
	mine := issued(t, "olm")
	last := clientOf("olm", mine[keyCACert])
	for range 5 {
		next := issued(t, "olm")
		last = restoredClient(clientOf("olm", next[keyCACert]), last, mine[keyCert], time.Now())
		if n := bytes.Count(last.CABundle, []byte("BEGIN CERTIFICATE")); n != 2 {
			t.Fatalf("there are %d CAs, want 2", n)
		}
		mine = next
	}
}

func TestMayPublish(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	c := &Controller{Clock: clock}
	count := func(bundle string) (n int) {
		for range 100 {
			if c.mayPublish([]byte(bundle)) {
				n++
			}
		}
		return n
	}
	if n := count("a"); n != 1+publicationBurst {
		t.Errorf("the same CA is published %d times at once, want %d", n, 1+publicationBurst)
	}
	if !c.mayPublish([]byte("b")) {
		t.Error("another CA has to wait")
	}
	clock.SetTime(clock.Now().Add(publicationInterval + time.Second))
	if n := count("b"); n != 1 {
		t.Errorf("after a pause it is published %d times, want once", n)
	}
}
