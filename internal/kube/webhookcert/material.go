package webhookcert

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
)

// Keys of the Secret.
const (
	keyCACert   = "ca.crt"
	keyCAKey    = "ca.key"
	keyNextCert = "next-ca.crt"
	keyNextKey  = "next-ca.key"
	keyLastCert = "last-ca.crt"
	keyCert     = "tls.crt"
	keyKey      = "tls.key"
)

// clockTolerance is how far the clock of a client may be behind.
const clockTolerance = time.Hour

// Issuer names a CA in its certificates.
type Issuer struct {
	CommonName, Organization string
}

const (
	// DefaultLifetime is the lifetime of the serving certificate.
	DefaultLifetime = 365 * 24 * time.Hour
	// DefaultCALifetime is the lifetime of its CA.
	DefaultCALifetime = 10 * DefaultLifetime
	// MinLifetime leaves enough time for a renewal.
	MinLifetime = 10 * time.Second
	// maxOverlap bounds how long a CA is published before it signs: an API server may notice a
	// changed CRD later than the operator.
	maxOverlap = time.Minute
)

// Lifetimes are the lifetimes of certificates. They do not affect existing certificates until these
// are due.
type Lifetimes struct {
	Serving, CA time.Duration
}

// Validate returns an error if a lifetime is too short.
func (l Lifetimes) Validate() error {
	if l.Serving < MinLifetime {
		return fmt.Errorf("the certificate's lifetime is %s: it must be at least %s", l.Serving, MinLifetime)
	}
	if l.CA < 2*l.Serving {
		return fmt.Errorf("the CA's lifetime is %s: it must be at least twice that of its certificates, %s", l.CA, l.Serving)
	}
	return nil
}

// renewBefore returns how long before its expiry a certificate is renewed.
func (l Lifetimes) renewBefore() time.Duration { return l.Serving / 6 }

// overlap returns how long a CA is published before it signs.
func (l Lifetimes) overlap() time.Duration { return min(maxOverlap, l.renewBefore()/4) }

// Material is the content of the Secret.
type Material map[string][]byte

// Bundle returns the CAs that clients must trust, as PEM: the current, the next and the previous
// one. Its order does not depend on their roles, so that the CRD does not change when the next CA
// starts to sign: the API server recreates its clients and caches for each change.
func (m Material) Bundle() []byte {
	authorities := [][]byte{m[keyCACert], m[keyNextCert], m[keyLastCert]}
	slices.SortFunc(authorities, bytes.Compare)
	return bytes.Join(authorities, nil)
}

// renew returns what the Secret should contain at the time now. It returns m itself if nothing is
// due.
//
// A CA is replaced in two steps, so that no client ever receives a certificate that it does not
// trust: the new CA first joins the bundle, and signs only once published reports that clients have
// that bundle.
func (a authority) renew(m Material, published bool, now time.Time) (Material, error) {
	due := now.Add(a.lifetimes.renewBefore())
	next := maps.Clone(m)
	if next == nil {
		next = Material{}
	}
	switch {
	case !a.validCA(m[keyCACert], m[keyCAKey], now):
		// There is no usable CA, so there is none to overlap with.
		clear(next)
		if err := a.newCA(next, keyCACert, keyCAKey, now); err != nil {
			return nil, err
		}
	case !a.validCA(m[keyCACert], m[keyCAKey], due) && len(m[keyNextCert]) == 0:
		if err := a.newCA(next, keyNextCert, keyNextKey, now); err != nil {
			return nil, err
		}
	case len(m[keyNextCert]) > 0 && published:
		next[keyLastCert], next[keyCACert], next[keyCAKey] = m[keyCACert], m[keyNextCert], m[keyNextKey]
		delete(next, keyNextCert)
		delete(next, keyNextKey)
	}
	if len(next[keyNextCert]) > 0 {
		// The current CA is about to expire, so its certificates would be, too. A new certificate
		// follows with the new CA.
		due = now.Add(a.lifetimes.overlap())
	}
	if a.validServing(next, due) {
		return keepIfEqual(m, next), nil
	}
	if err := a.newServing(next, now); err != nil {
		return nil, err
	}
	return next, nil
}

// keepIfEqual returns before if after is equal to it.
func keepIfEqual(before, after Material) Material {
	if maps.EqualFunc(before, after, bytes.Equal) {
		return before
	}
	return after
}

// untilDue returns the time until something must be renewed. It is not positive if something is
// due.
func (a authority) untilDue(m Material, now time.Time) time.Duration {
	until := a.lifetimes.CA
	for _, key := range []string{keyCACert, keyCert} {
		block, _ := pem.Decode(m[key])
		if block == nil {
			return 0
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return 0
		}
		until = min(until, cert.NotAfter.Sub(now)-a.lifetimes.renewBefore())
	}
	return until
}

// authority creates certificates for the names of one Service.
type authority struct {
	lifetimes Lifetimes
	rotator   *rotator.CertRotator
}

// newAuthority returns an authority for a Service of a namespace, and for hosts.
func newAuthority(issuer Issuer, service, namespace string, hosts []string, lifetimes Lifetimes) authority {
	host := service + "." + namespace + ".svc"
	return authority{lifetimes, &rotator.CertRotator{
		CAName:         issuer.CommonName,
		CAOrganization: issuer.Organization,
		DNSName:        host,
		ExtraDNSNames:  append([]string{service + "." + namespace, host + ".cluster.local"}, hosts...),
		ExtKeyUsages:   &[]x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}}
}

func (a authority) validCA(cert, key []byte, at time.Time) bool {
	valid, err := rotator.ValidCert(cert, cert, key, a.rotator.CAName, nil, at)
	return err == nil && valid
}

func (a authority) validServing(m Material, at time.Time) bool {
	for _, name := range append([]string{a.rotator.DNSName}, a.rotator.ExtraDNSNames...) {
		valid, err := rotator.ValidCert(m[keyCACert], m[keyCert], m[keyKey], name, a.rotator.ExtKeyUsages, at)
		if err != nil || !valid {
			return false
		}
	}
	return true
}

func (a authority) newCA(m Material, certKey, keyKey string, now time.Time) error {
	ca, err := a.rotator.CreateCACert(now.Add(-clockTolerance), now.Add(a.lifetimes.CA))
	if err != nil {
		return fmt.Errorf("make a CA: %w", err)
	}
	m[certKey], m[keyKey] = ca.CertPEM, ca.KeyPEM
	return nil
}

func (a authority) newServing(m Material, now time.Time) error {
	ca, err := parseCA(m[keyCACert], m[keyCAKey])
	if err != nil {
		return err
	}
	cert, key, err := a.rotator.CreateCertPEM(ca, now.Add(-clockTolerance), now.Add(a.lifetimes.Serving))
	if err != nil {
		return fmt.Errorf("make a serving certificate: %w", err)
	}
	m[keyCert], m[keyKey] = cert, key
	return nil
}

func parseCA(certPEM, keyPEM []byte) (*rotator.KeyPairArtifacts, error) {
	certBlock, _ := pem.Decode(certPEM)
	keyBlock, _ := pem.Decode(keyPEM)
	if certBlock == nil || keyBlock == nil {
		return nil, errors.New("the CA is not PEM")
	}
	cert, err := x509.ParseCertificate(certBlock.Bytes)
	if err != nil {
		return nil, fmt.Errorf("parse the CA's certificate: %w", err)
	}
	key, err := x509.ParsePKCS1PrivateKey(keyBlock.Bytes)
	if err != nil {
		return nil, fmt.Errorf("parse the CA's key: %w", err)
	}
	return &rotator.KeyPairArtifacts{Cert: cert, Key: key, CertPEM: certPEM, KeyPEM: keyPEM}, nil
}
