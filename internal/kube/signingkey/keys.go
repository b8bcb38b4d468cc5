package signingkey

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"
)

// Keys of the Secret's data.
const (
	dataCurrent  = "current.key"
	dataPrevious = "previous.key"
	// dataCreated is when the current key was created, in RFC 3339.
	dataCreated = "created"
)

// DefaultLifetime is the time after which a key is replaced.
const DefaultLifetime = 90 * 24 * time.Hour

// MinLifetime leaves the receivers enough time to learn a new key.
const MinLifetime = 10 * time.Minute

// renewed returns what the Secret should contain at the time now, and whether that differs from data. A current key
// that cannot be used is replaced at once, and one that is older than the lifetime becomes the previous one.
func renewed(data map[string][]byte, lifetime time.Duration, now time.Time) (map[string][]byte, bool, error) {
	current, err := parseKey(data[dataCurrent])
	usable := err == nil
	if usable && now.Before(createdAt(data, now).Add(lifetime)) {
		return data, false, nil
	}
	_, next, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, false, fmt.Errorf("generate a key: %w", err)
	}
	text, err := format(next)
	if err != nil {
		return nil, false, err
	}
	fresh := map[string][]byte{dataCurrent: text, dataCreated: []byte(now.UTC().Format(time.RFC3339))}
	if usable {
		if fresh[dataPrevious], err = format(current); err != nil {
			return nil, false, err
		}
	}
	return fresh, true, nil
}

// createdAt returns when the current key was created. A time that cannot be read, or that is yet to come, is taken for
// one that is long ago, so that the key is replaced.
func createdAt(data map[string][]byte, now time.Time) time.Time {
	created, err := time.Parse(time.RFC3339, string(bytes.TrimSpace(data[dataCreated])))
	if err != nil || created.After(now.Add(time.Hour)) {
		return time.Time{}
	}
	return created
}

// Parse returns the keys in the data of the Secret, the newest first. It leaves out what is not a key.
func Parse(data map[string][]byte) []ed25519.PrivateKey {
	var keys []ed25519.PrivateKey
	for _, name := range []string{dataCurrent, dataPrevious} {
		if key, err := parseKey(data[name]); err == nil {
			keys = append(keys, key)
		}
	}
	return keys
}

const pemType = "PRIVATE KEY"

func format(key ed25519.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: der}), nil
}

func parseKey(text []byte) (ed25519.PrivateKey, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != pemType {
		return nil, errors.New("there is no private key in the PEM text")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	private, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, errors.New("the key is not an Ed25519 key")
	}
	return private, nil
}
