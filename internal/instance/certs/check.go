// Package certs gives nginx the certificates of the mounted Secrets, and keeps the last
// good pair of each while the Secret has a bad one. nginx must never read the mounted
// files itself: they change whenever the kubelet likes, in the middle of a reload too.
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

// Keys of a Secret of the type kubernetes.io/tls.
const (
	certFile = "tls.crt"
	keyFile  = "tls.key"
)

// Check tells whether nginx can use the files of a Secret. Its errors never hold any
// content of them.
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
		return errors.New("tls.crt holds no certificates in PEM format that can be read")
	}
	_, err := tls.X509KeyPair([]byte(files[certFile]), []byte(files[keyFile]))
	switch {
	case err == nil:
		return nil
	case strings.Contains(err.Error(), "does not match") && isForALaterOne(files):
		return errors.New("the private key in tls.key is that of a later certificate in tls.crt: the server's own has to come first, and who signed it after it")
	case strings.Contains(err.Error(), "does not match"):
		return errors.New("the private key in tls.key does not match the certificate in tls.crt")
	default:
		// Not in the library's words: they quote the headers of what the Secret holds.
		return errors.New("tls.key holds no private key in PEM format that can be read")
	}
}

// isForALaterOne tells whether the key is that of a certificate which is not the first one.
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

// isChain tells whether a text has certificates, and all of them can be read.
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

// describe fills in what can be told about a good pair.
func describe(report *instanceapi.Certificate, files map[string]string) {
	pair, err := tls.X509KeyPair([]byte(files[certFile]), []byte(files[keyFile]))
	if err != nil {
		return
	}
	leaf := pair.Leaf
	report.Subject = leaf.Subject.String()
	report.DNSNames = leaf.DNSNames
	report.Serial = leaf.SerialNumber.Text(16)
	report.NotBefore, report.NotAfter = utc(leaf.NotBefore), utc(leaf.NotAfter)
}

func utc(t time.Time) *time.Time {
	t = t.UTC()
	return &t
}

// hash identifies the content of a Secret, without telling it.
func hash(files map[string]string) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h.Write(fmt.Appendf(nil, "%d %s %d ", len(name), name, len(files[name])))
		h.Write([]byte(files[name]))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
