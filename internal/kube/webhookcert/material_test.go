package webhookcert

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"testing"
	"time"
)

// usual are the lifetimes without flags.
var usual = Lifetimes{Serving: DefaultLifetime, CA: DefaultCALifetime}

var issuer = Issuer{CommonName: "hook-ca", Organization: "hook"}

var start = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// step renews the material, and fails the test on an error.
func step(t *testing.T, m Material, published bool, now time.Time) Material {
	t.Helper()
	next, err := newAuthority(issuer, "hook", "system", []string{"localhost"}, usual).renew(m, published, now)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// trusted reports whether a client that has bundle trusts the serving certificate.
func trusted(t *testing.T, bundle []byte, m Material, host string, now time.Time) bool {
	t.Helper()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(bundle) {
		t.Fatal("the bundle holds no certificate")
	}
	block, _ := pem.Decode(m[keyCert])
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	_, err = cert.Verify(x509.VerifyOptions{DNSName: host, Roots: pool, CurrentTime: now})
	return err == nil
}

func TestFirstTime(t *testing.T) {
	for name, before := range map[string]Material{
		"nothing":  nil,
		"garbage":  {keyCACert: []byte("x"), keyCAKey: []byte("y"), keyCert: []byte("z")},
		"an empty": {},
	} {
		t.Run(name, func(t *testing.T) {
			m := step(t, before, false, start)
			for _, host := range []string{"hook.system.svc", "hook.system", "localhost"} {
				if !trusted(t, m.Bundle(), m, host, start) {
					t.Errorf("the certificate is not trusted for %s", host)
				}
			}
		})
	}
}

func TestNothingIsDue(t *testing.T) {
	m := step(t, nil, false, start)
	again := step(t, m, true, start.Add(200*24*time.Hour))
	if !bytes.Equal(m[keyCert], again[keyCert]) || !bytes.Equal(m.Bundle(), again.Bundle()) {
		t.Error("a certificate that is valid for long was replaced")
	}
}

func TestServingCertificateIsRenewedUnderTheSameCA(t *testing.T) {
	m := step(t, nil, false, start)
	later := start.Add(usual.Serving - usual.renewBefore() + time.Hour)
	next := step(t, m, true, later)
	if bytes.Equal(m[keyCert], next[keyCert]) {
		t.Fatal("the certificate was not renewed")
	}
	if !trusted(t, m.Bundle(), next, "hook.system.svc", later) {
		t.Error("a client with the bundle from before does not trust the new certificate")
	}
}

// TestCAIsReplacedWithoutAGap: at no step of a replacement does a client receive a certificate that
// it does not trust, whether it has the bundle from before the step or the one from after it.
func TestCAIsReplacedWithoutAGap(t *testing.T) {
	now := start
	m := step(t, nil, false, now)
	old := m[keyCACert]
	now = start.Add(usual.CA - usual.renewBefore() + time.Hour)
	for i, published := range []bool{true, false, true, true} {
		next := step(t, m, published, now)
		bundles := [][]byte{next.Bundle()}
		if published {
			bundles = append(bundles, m.Bundle())
		}
		for _, bundle := range bundles {
			if i > 0 && !trusted(t, bundle, next, "hook.system.svc", now) {
				t.Errorf("step %d: not trusted", i)
			}
		}
		m = next
	}
	if bytes.Equal(m[keyCACert], old) {
		t.Error("the CA was not replaced")
	}
	if !bytes.Contains(m.Bundle(), old) {
		t.Error("the old CA left the bundle while replicas may still serve its certificate")
	}
}

func TestMissingHostIsAdded(t *testing.T) {
	m, err := newAuthority(issuer, "hook", "system", nil, usual).renew(nil, false, start)
	if err != nil {
		t.Fatal(err)
	}
	if next := step(t, m, true, start); !trusted(t, m.Bundle(), next, "localhost", start) {
		t.Error("the certificate was not made again for a further host")
	}
}

// TestNothingChangesWhileACAIsPublished: as long as clients do not have the new CA, repeated checks
// renew nothing.
func TestNothingChangesWhileACAIsPublished(t *testing.T) {
	m := step(t, nil, false, start)
	now := start.Add(usual.CA - usual.renewBefore() + time.Hour)
	m = step(t, m, true, now)
	if len(m[keyNextCert]) == 0 {
		t.Fatal("no CA is made although the present one is about to end")
	}
	for i := range 5 {
		now = now.Add(time.Second)
		next := step(t, m, false, now)
		if !bytes.Equal(m[keyCert], next[keyCert]) || !bytes.Equal(m.Bundle(), next.Bundle()) {
			t.Errorf("look %d: something was renewed", i)
		}
		m = next
	}
}

// TestSigningChangesNoBundle: the bundle stays the same when a published CA starts to sign.
func TestSigningChangesNoBundle(t *testing.T) {
	now := start.Add(usual.CA - usual.renewBefore() + time.Hour)
	published := step(t, step(t, nil, false, start), true, now)
	signs := step(t, published, true, now)
	if bytes.Equal(signs[keyCACert], published[keyCACert]) {
		t.Fatal("the new CA does not sign")
	}
	if !bytes.Equal(signs.Bundle(), published.Bundle()) {
		t.Error("the bundle changed although clients trust the same CAs")
	}
}

func TestUntilDue(t *testing.T) {
	a := newAuthority(issuer, "hook", "system", nil, usual)
	m := step(t, nil, false, start)
	if until := a.untilDue(m, start); until != usual.Serving-usual.renewBefore() {
		t.Errorf("a new certificate is due in %s", until)
	}
	if until := a.untilDue(m, start.Add(usual.Serving)); until > 0 {
		t.Errorf("one that has ended is due in %s", until)
	}
	if until := a.untilDue(Material{keyCACert: []byte("x")}, start); until > 0 {
		t.Errorf("one that cannot be read is due in %s", until)
	}
}

func TestLifetimes(t *testing.T) {
	for name, tt := range map[string]struct {
		lifetimes Lifetimes
		valid     bool
	}{
		"usual":        {usual, true},
		"short":        {Lifetimes{Serving: MinLifetime, CA: 2 * MinLifetime}, true},
		"too short":    {Lifetimes{Serving: MinLifetime - 1, CA: time.Hour}, false},
		"CA too short": {Lifetimes{Serving: time.Hour, CA: 2*time.Hour - 1}, false},
		"none":         {Lifetimes{}, false},
	} {
		if err := tt.lifetimes.Validate(); (err == nil) != tt.valid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if usual.overlap() != maxOverlap {
		t.Errorf("a CA is published for %s before it signs", usual.overlap())
	}
}
