package testenv

import (
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// AgeCertificate replaces the serving certificate in the data of the operator's Secret with one
// that expires after left. The key, the names and the CA stay the same.
func AgeCertificate(data map[string][]byte, left time.Duration) error {
	return age(data, "tls.crt", left)
}

// AgeCA replaces the CA's certificate with one that expires after left. The key stays the same, so
// certificates that the CA has signed stay valid.
func AgeCA(data map[string][]byte, left time.Duration) error {
	return age(data, "ca.crt", left)
}

func age(data map[string][]byte, name string, left time.Duration) error {
	ca, err := ParseCertificate(data["ca.crt"])
	if err != nil {
		return err
	}
	template, err := ParseCertificate(data[name])
	if err != nil {
		return err
	}
	block, _ := pem.Decode(data["ca.key"])
	if block == nil {
		return errors.New("the CA's key is not PEM")
	}
	key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		return fmt.Errorf("parse the CA's key: %w", err)
	}
	template.SerialNumber, template.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(left)
	der, err := x509.CreateCertificate(rand.Reader, template, ca, template.PublicKey, key)
	if err != nil {
		return fmt.Errorf("sign %s: %w", name, err)
	}
	data[name] = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return nil
}

// ParseCertificate parses the first certificate of a PEM text.
func ParseCertificate(text []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("there is no certificate in the PEM text")
	}
	return x509.ParseCertificate(block.Bytes)
}
