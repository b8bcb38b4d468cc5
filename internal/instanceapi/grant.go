package instanceapi

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
)

// MaxWord bounds what is read of a word, in bytes.
const MaxWord = 128

// Grant is what a pod's annotation holds for a word. The word cannot be found from it.
func Grant(word string) string {
	sum := sha256.Sum256([]byte(word))
	return hex.EncodeToString(sum[:])
}

// fingerprintBytes is enough to tell two grants of a pod apart, and says nothing about them.
const fingerprintBytes = 4

// Fingerprint identifies a grant without showing it; empty for no grant.
func Fingerprint(grant string) string {
	if grant == "" {
		return ""
	}
	sum := sha256.Sum256([]byte("fingerprint " + grant))
	return hex.EncodeToString(sum[:fingerprintBytes])
}

// Opens tells whether a word is the one of a grant.
func Opens(word, grant string) bool {
	return grant != "" && subtle.ConstantTimeCompare([]byte(Grant(word)), []byte(grant)) == 1
}

// Words makes words that nobody else can guess. Each is good for one revision in one
// pod. Another process makes other words.
type Words struct{ key []byte }

// NewWords returns Words with a random key.
func NewWords() Words {
	key := make([]byte, sha256.Size)
	if _, err := rand.Read(key); err != nil {
		panic("instanceapi: crypto/rand never fails: " + err.Error())
	}
	return Words{key}
}

// For is the word for a revision in the pod with a UID.
func (w Words) For(podUID, revision string) string {
	mac := hmac.New(sha256.New, w.key)
	mac.Write([]byte(podUID + " " + revision))
	return hex.EncodeToString(mac.Sum(nil))
}
