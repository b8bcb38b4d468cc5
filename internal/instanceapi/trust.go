package instanceapi

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/nginx-operator/internal/boundedjson"
)

// FileTrust is the file in DirNext with the Trust of the pods, as JSON. It is in the binaryData of
// the candidate's ConfigMap, and no part of the configuration.
const FileTrust = "nginx-operator-trust.json"

// Trust is what an instance needs to know to recognize the operator's orders.
type Trust struct {
	Application Application `json:"application"`
	// Keys are the public keys of the operator, the newest first.
	Keys []PublicKey `json:"keys"`
	// Follow lets pods that the operator cannot reach load a revision without an order; nil: none.
	Follow *Follow `json:"follow,omitempty"`
}

// Follow is a revision that pods may load without an order, once they have tested it.
type Follow struct {
	Revision string `json:"revision"`
	// Number is compared with the numbers of orders: the latest counts.
	Number int64 `json:"number"`
	// Pods are the UIDs of the pods that may; empty: all of them.
	Pods []string `json:"pods,omitempty"`
}

// Permits reports whether a pod whose last order has a number may load the revision.
func (f *Follow) Permits(podUID string, number int64) bool {
	return f != nil && f.Number > number && (len(f.Pods) == 0 || slices.Contains(f.Pods, podUID))
}

// PublicKey is a public key of the operator.
type PublicKey struct {
	// ID is that of KeyID.
	ID string `json:"id"`
	// Key is the Ed25519 public key.
	Key []byte `json:"key"`
}

// NewPublicKey returns a public key with its ID.
func NewPublicKey(key ed25519.PublicKey) PublicKey { return PublicKey{ID: KeyID(key), Key: key} }

// KeyID returns the ID of a public key: 16 hexadecimal digits of its hash.
func KeyID(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:8])
}

// maxKeys bounds the keys of a Trust, and maxNumber, in the year 2200, the numbers of orders.
const (
	maxKeys   = 8
	maxNumber = 7258118400000
)

// trustLimits bounds the JSON of a Trust. The longest list contains the UIDs of all pods of an application.
var trustLimits = boundedjson.Limits{Bytes: 256 << 10, Depth: 4, Items: 4096, Values: 8192, String: 1 << 10}

// ParseTrust parses the file. It returns an error if the file exceeds its limits or if a key does not match its ID.
func ParseTrust(text string) (Trust, error) {
	var t Trust
	if err := trustLimits.Check([]byte(text)); err != nil {
		return Trust{}, fmt.Errorf("parse %s: %w", FileTrust, err)
	}
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return Trust{}, fmt.Errorf("parse %s: %w", FileTrust, err)
	}
	if len(t.Keys) > maxKeys {
		return Trust{}, fmt.Errorf("%s has %d keys: at most %d are allowed", FileTrust, len(t.Keys), maxKeys)
	}
	if t.Follow != nil && (t.Follow.Number < 0 || t.Follow.Number > maxNumber) {
		return Trust{}, fmt.Errorf("%s: the number %d is not a time", FileTrust, t.Follow.Number)
	}
	for _, k := range t.Keys {
		if len(k.Key) != ed25519.PublicKeySize || k.ID != KeyID(k.Key) {
			return Trust{}, fmt.Errorf("%s: key %q is not an Ed25519 key with this ID", FileTrust, k.ID)
		}
	}
	return t, nil
}

// Text returns the content of the file.
func (t Trust) Text() (string, error) {
	text, err := json.Marshal(t)
	return string(text), err
}

// IDs returns the IDs of the keys.
func (t Trust) IDs() []string {
	var ids []string
	for _, k := range t.Keys {
		ids = append(ids, k.ID)
	}
	return ids
}

// purpose keeps a signature from being valid for anything else.
type purpose string

const (
	purposeOrder  purpose = "nginx-operator order\n"
	purposePurges purpose = "nginx-operator purges\n"
)

// signed returns what a signature covers.
func (p purpose) signed(header string) []byte { return []byte(string(p) + header) }

// Signer returns the newest of the operator's keys that the instance knows; nil if it knows none. The newest comes first.
func (o Orders) Signer(keys []ed25519.PrivateKey) ed25519.PrivateKey {
	for _, key := range keys {
		if public, ok := key.Public().(ed25519.PublicKey); ok && slices.Contains(o.Keys, KeyID(public)) {
			return key
		}
	}
	return nil
}

// SignedOrder is an order as it is sent: its two headers and its body.
type SignedOrder struct {
	Order, Signature string
	Body             []byte
}

// Sign signs an order. body is the result of EncodeContents; nil: there is none.
func Sign(key ed25519.PrivateKey, o Order, body []byte) (SignedOrder, error) {
	return signFor(purposeOrder, key, o, body)
}

func signFor(p purpose, key ed25519.PrivateKey, o Order, body []byte) (SignedOrder, error) {
	if body != nil {
		o.Body = NewBody(body)
	}
	header, err := o.encode()
	if err != nil {
		return SignedOrder{}, err
	}
	public, ok := key.Public().(ed25519.PublicKey)
	if !ok {
		return SignedOrder{}, errors.New("sign an order: not an Ed25519 key")
	}
	signature := hex.EncodeToString(ed25519.Sign(key, p.signed(header)))
	return SignedOrder{Order: header, Signature: KeyID(public) + "." + signature, Body: body}, nil
}

// verify reports whether the signature of the header is of a key that is trusted, and whether the
// key is known at all.
func (t Trust) verify(p purpose, header, signature string) (known, valid bool) {
	id, digits, _ := strings.Cut(signature, ".")
	i := slices.IndexFunc(t.Keys, func(k PublicKey) bool { return k.ID == id })
	if i < 0 {
		return false, false
	}
	sum, err := hex.DecodeString(digits)
	return true, err == nil && len(sum) == ed25519.SignatureSize && ed25519.Verify(t.Keys[i].Key, p.signed(header), sum)
}
