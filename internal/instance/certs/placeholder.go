package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"path/filepath"
	"strings"
	"time"

	"example.com/nginx-operator/internal/instance/volumes"
)

// placeholder takes the place of the hash of a pair that does not exist.
const placeholder = "placeholder"

// FillGaps gives nginx placeholders for the certificates that it has no pair of, so that it can start and serve the other
// hosts. Clients reject a placeholder: it has expired, and is for no host. It does nothing if there is no good pair, because
// then there may be nothing to serve. It reports whether nginx got a placeholder.
func (k *Keeper) FillGaps() (filled bool, err error) {
	var gaps []string
	for _, name := range k.names {
		if s := k.state[name]; s.used == "" && s.candidate == nil {
			gaps = append(gaps, name)
		}
	}
	if len(gaps) == 0 || len(gaps) == len(k.names) {
		return false, nil
	}
	pair, err := newPlaceholder()
	if err != nil {
		return false, err
	}
	for _, name := range gaps {
		if err := k.writePair(name, placeholder, k.placeholderFiles(name, pair)); err != nil {
			return filled, err
		}
		if err := k.link(name, placeholder); err != nil {
			return filled, err
		}
		k.state[name].used, filled = placeholder, true
	}
	return filled, nil
}

// placeholderFiles returns a pair with the other files of a Secret, because nginx refuses a configuration if it lacks a file
// that the configuration names. Without authorities, ca.crt is the certificate of the pair, so that no client is accepted.
func (k *Keeper) placeholderFiles(name string, pair map[string]string) map[string]string {
	// A Secret that cannot be read has no other files.
	files, _ := volumes.Read(filepath.Join(k.secrets, name))
	badKey := strings.TrimSpace(files[keyFile])
	all := map[string]string{caFile: pair[certFile]}
	for file, content := range files {
		block, _ := pem.Decode([]byte(content))
		switch {
		case mayHoldKey(file, content, badKey):
			all[file] = pair[certFile] + pair[keyFile]
		case file != caFile || block != nil:
			all[file] = content
		}
	}
	maps.Copy(all, pair)
	return all
}

// mayHoldKey reports whether a file contains the key, or is a key file that is not PEM and might contain it.
func mayHoldKey(file, content, key string) bool {
	if !strings.Contains(content, "PRIVATE KEY-----") {
		return holdsKey(file, content)
	}
	return key != "" && strings.Contains(content, key)
}

// newPlaceholder returns a pair that no client accepts.
func newPlaceholder() (map[string]string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a placeholder for a certificate: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "no certificate"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1, 0),
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("make a placeholder for a certificate: %w", err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("make a placeholder for a certificate: %w", err)
	}
	return map[string]string{
		certFile: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})),
		keyFile:  string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
	}, nil
}
