// Package certs gives nginx the certificates of the mounted Secrets, and keeps the last good pair of each while the
// Secret holds a bad one. nginx must never read the mounted files itself: the kubelet may replace them at any time,
// even in the middle of a reload.
package certs

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
)

// Keys of a Secret of type kubernetes.io/tls, and the key of the authorities that cert-manager adds.
const (
	certFile = "tls.crt"
	keyFile  = "tls.key"
	caFile   = "ca.crt"
)

// Check returns an error if nginx cannot use the files of a Secret. The error never includes their content.
func Check(files map[string]string) error {
	_, hasCert := files[certFile]
	_, hasKey := files[keyFile]
	switch {
	case !hasCert && !hasKey:
		return errors.New("the Secret does not exist, or has no tls.crt and tls.key")
	case !hasCert:
		return errors.New("the Secret has no tls.crt")
	case !hasKey:
		return errors.New("the Secret has no tls.key")
	}
	if !isChain([]byte(files[certFile])) {
		return errors.New("tls.crt contains no valid certificate in PEM format")
	}
	_, err := tls.X509KeyPair([]byte(files[certFile]), []byte(files[keyFile]))
	switch {
	case err == nil:
		return nil
	case strings.Contains(err.Error(), "does not match") && isForALaterOne(files):
		return errors.New("the private key in tls.key belongs to a later certificate in tls.crt: the server certificate must come first, followed by its issuers")
	case strings.Contains(err.Error(), "does not match"):
		return errors.New("the private key in tls.key does not match the certificate in tls.crt")
	default:
		// The library's error is not used because it quotes the PEM headers of the Secret.
		return errors.New("tls.key contains no valid private key in PEM format")
	}
}

// isForALaterOne reports whether the key belongs to a certificate other than the first one.
func isForALaterOne(files map[string]string) bool {
	for _, rest := pem.Decode([]byte(files[certFile])); len(rest) > 0; {
		if _, err := tls.X509KeyPair(rest, []byte(files[keyFile])); err == nil {
			return true
		}
		block, after := pem.Decode(rest)
		if block == nil {
			return false
		}
		rest = after
	}
	return false
}

// isChain reports whether the text contains certificates that can all be parsed.
func isChain(text []byte) bool {
	found := false
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return false
		}
		found = true
	}
	return found
}

// leaf returns the certificate of a good pair, or nil.
func leaf(files map[string]string) *x509.Certificate {
	pair, err := tls.X509KeyPair([]byte(files[certFile]), []byte(files[keyFile]))
	if err != nil {
		return nil
	}
	return pair.Leaf
}

// describe fills the report with the details of a certificate.
func describe(report *instanceapi.Certificate, leaf *x509.Certificate) {
	report.Subject, report.Issuer = leaf.Subject.String(), leaf.Issuer.String()
	report.DNSNames = leaf.DNSNames
	report.Serial = leaf.SerialNumber.Text(16)
	report.NotBefore, report.NotAfter = utc(leaf.NotBefore), utc(leaf.NotAfter)
}

func utc(t time.Time) *time.Time {
	t = t.UTC()
	return &t
}

// hash identifies the content of a Secret without revealing it.
func hash(files map[string]string) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h.Write(fmt.Appendf(nil, "%d %s %d ", len(name), name, len(files[name])))
		h.Write([]byte(files[name]))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
