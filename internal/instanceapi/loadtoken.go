package instanceapi

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
)

// MaxToken is the maximum length of a load token, in bytes.
const MaxToken = 128

// TokenHash returns the hash of a load token, which a pod's annotation publishes. It does not
// reveal the token.
func TokenHash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// fingerprintBytes is enough to distinguish two token hashes of a pod, and reveals nothing about them.
const fingerprintBytes = 4

// TokenHashFingerprint identifies a token hash without revealing it. It is empty for an empty hash.
func TokenHashFingerprint(tokenHash string) string {
	if tokenHash == "" {
		return ""
	}
	sum := sha256.Sum256([]byte("fingerprint " + tokenHash))
	return hex.EncodeToString(sum[:fingerprintBytes])
}

// VerifyToken reports whether the hash is that of the load token.
func VerifyToken(token, tokenHash string) bool {
	return tokenHash != "" && subtle.ConstantTimeCompare([]byte(TokenHash(token)), []byte(tokenHash)) == 1
}

// TokenIssuer issues load tokens that cannot be guessed. Each is valid for one revision in one pod.
// Tokens of different processes differ.
type TokenIssuer struct{ key []byte }

// NewTokenIssuer returns a TokenIssuer with a random key.
func NewTokenIssuer() TokenIssuer {
	key := make([]byte, sha256.Size)
	if _, err := rand.Read(key); err != nil {
		panic("instanceapi: crypto/rand never fails: " + err.Error())
	}
	return TokenIssuer{key}
}

// Token returns the load token for a revision in the pod with the UID.
func (i TokenIssuer) Token(podUID, revision string) string {
	mac := hmac.New(sha256.New, i.key)
	mac.Write([]byte(podUID + " " + revision))
	return hex.EncodeToString(mac.Sum(nil))
}
