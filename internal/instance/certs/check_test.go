package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"

	"example.com/nginx-operator/test/golden"
)

// issue returns a self-signed certificate and its key.
func issue(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return encode("CERTIFICATE", der), encode("PRIVATE KEY", pkcs8)
}

func encode(header string, content []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: header, Bytes: content}))
}

// TestCheck: an unusable pair is reported with its reason, without quoting the content of the
// Secret.
func TestCheck(t *testing.T) {
	crt, key := issue(t)
	other, _ := issue(t)
	const canary = "CANARY"
	const noCertificate, noKey = "tls.crt contains no valid certificate", "tls.key contains no valid private key"
	tests := map[string]struct {
		certificate, key, want string
	}{
		"good":           {crt, key, ""},
		"with a chain":   {crt + other, key, ""},
		"swapped":        {key, crt, noCertificate},
		"not PEM":        {canary, key, noCertificate},
		"a PEM of what":  {encode(canary, []byte(canary)), key, noCertificate},
		"broken":         {encode("CERTIFICATE", []byte(canary)), key, noCertificate},
		"a broken chain": {crt + encode("CERTIFICATE", []byte(canary)), key, noCertificate},
		"key not PEM":    {crt, canary, noKey},
		"a key of what":  {crt, encode(canary, []byte(canary)), noKey},
		"a broken key":   {crt, encode("PRIVATE KEY", []byte(canary)), noKey},
		"another's key":  {other, key, "does not match"},
		"the wrong way":  {other + crt, key, "must come first"},
		"of no key":      {other + other, key, "does not match"},
		"nothing":        {"", "", "the Secret does not exist, or has no tls.crt and tls.key"},
		"no certificate": {"", key, "the Secret has no tls.crt"},
		"no key":         {crt, "", "the Secret has no tls.key"},
	}
	var messages golden.Messages
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{}
			if tt.certificate != "" {
				files[certFile] = tt.certificate
			}
			if tt.key != "" {
				files[keyFile] = tt.key
			}
			err := Check(files)
			if err != nil {
				messages.Add("certificate refused by an instance", err.Error())
			}
			switch {
			case err == nil && tt.want != "":
				t.Errorf("there is no error, want %q", tt.want)
			case err != nil && (tt.want == "" || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), canary)):
				t.Errorf("Check = %v, want %q", err, tt.want)
			}
		})
	}
	messages.Compare(t, "certificate.txt")
}
