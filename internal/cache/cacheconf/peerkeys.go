package cacheconf

import (
	"cmp"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// PeerKeys are the keys by which the pods of a cache prove that a request to a shard is theirs. Shards refuse others.
type PeerKeys struct {
	// Edge and Shard are the keys that edges and shards send; empty: none.
	Edge, Shard string
	// Accepted are the keys that shards accept; empty: they accept every request.
	Accepted []string
}

// NewPeerKey derives the key of a cache from one of the operator's private keys. It tells nothing of that key, nor of the keys
// of other caches.
func NewPeerKey(operator ed25519.PrivateKey, cache types.UID) string {
	mac := hmac.New(sha256.New, operator.Seed())
	mac.Write([]byte("peers of NginxCache " + string(cache)))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// NextPeerKeys returns the keys of the next configurations. newest is the key to change to; empty: it is not known at the
// moment. edges is what all edges serve; nil if there are none yet.
//
// Shards get a new key first, and edges send it once all shards know it. If shards are to be removed, edges change first, so
// they keep their key. Shards of an earlier version of the operator refuse nothing, and edges of an earlier version send no
// key: shards refuse nothing until all edges send one.
func NextPeerKeys(newest string, edges Files, edgesFirst bool) PeerKeys {
	sent := sentKey(edges)
	newest = cmp.Or(newest, sent)
	keys := PeerKeys{Edge: newest, Shard: cmp.Or(sent, newest)}
	if edgesFirst {
		keys.Edge = keys.Shard
	}
	if newest == "" || edges != nil && sent == "" {
		return keys
	}
	keys.Accepted = []string{newest}
	if !slices.Contains(keys.Accepted, keys.Shard) {
		keys.Accepted = append(keys.Accepted, keys.Shard)
	}
	return keys
}

var sentKeyPattern = regexp.MustCompile(`\$cache_peer_key \{\n    default "([0-9a-f]+)";`)

// sentKey returns the key that a configuration of the edges sends; empty if it sends none.
func sentKey(edges Files) string {
	found := sentKeyPattern.FindStringSubmatch(edges["edge.conf"])
	if found == nil {
		return ""
	}
	return found[1]
}
