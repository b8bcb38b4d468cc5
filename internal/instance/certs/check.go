// Package certs gives nginx the certificates of the mounted Secrets, and keeps the last
// good pair of each while the Secret has a bad one. nginx must never read the mounted
// files itself: they change whenever the kubelet likes, in the middle of a reload too.
package certs

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
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
	pair, err := tls.X509KeyPair([]byte(files[certFile]), []byte(files[keyFile]))
	if err != nil {
		return err
	}
	for i, der := range pair.Certificate {
		if _, err := x509.ParseCertificate(der); err != nil {
			return fmt.Errorf("certificate %d of tls.crt: %w", i+1, err)
		}
	}
	return nil
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
