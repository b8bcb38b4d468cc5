package cacheconf

import (
	"crypto/ed25519"
	"slices"
	"strings"
	"testing"
)

func privateKey(seed byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(seed), ed25519.SeedSize)))
}

func TestPeerKeysDiffer(t *testing.T) {
	keys := []string{NewPeerKey(privateKey(1), "a"), NewPeerKey(privateKey(1), "b"), NewPeerKey(privateKey(2), "a")}
	for i, key := range keys {
		if len(key) != 32 || slices.Contains(keys[:i], key) {
			t.Errorf("keys %q", keys)
		}
	}
}

// TestNextPeerKeys: at each step of a change of the key, what edges send is accepted by every shard, whether it has the step's
// configuration or that of the step before.
func TestNextPeerKeys(t *testing.T) {
	const a, b = "aaaa", "bbbb"
	serving := func(key string) Files {
		in := full()
		in.Keys.Edge = key
		files, err := Edge(in)
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	old := serving(a)
	old["edge.conf"] = strings.ReplaceAll(old["edge.conf"], "cache_peer_key", "other")
	for name, test := range map[string]struct {
		newest     string
		edges      Files
		edgesFirst bool
		want       PeerKeys
	}{
		"new cache":                      {newest: a, want: PeerKeys{Edge: a, Shard: a, Accepted: []string{a}}},
		"operator without keys":          {want: PeerKeys{}},
		"upgrade":                        {newest: a, edges: old, want: PeerKeys{Edge: a, Shard: a}},
		"upgrade without keys":           {edges: old, want: PeerKeys{}},
		"at rest":                        {newest: a, edges: serving(a), want: PeerKeys{Edge: a, Shard: a, Accepted: []string{a}}},
		"operator started a moment ago":  {edges: serving(a), want: PeerKeys{Edge: a, Shard: a, Accepted: []string{a}}},
		"new key":                        {newest: b, edges: serving(a), want: PeerKeys{Edge: b, Shard: a, Accepted: []string{b, a}}},
		"new key, fewer shards":          {newest: b, edges: serving(a), edgesFirst: true, want: PeerKeys{Edge: a, Shard: a, Accepted: []string{b, a}}},
		"cache created with few shards":  {newest: a, edgesFirst: true, want: PeerKeys{Edge: a, Shard: a, Accepted: []string{a}}},
		"upgrade that removes shards":    {newest: a, edges: old, edgesFirst: true, want: PeerKeys{Edge: a, Shard: a}},
		"edges that send an empty value": {newest: a, edges: serving(""), want: PeerKeys{Edge: a, Shard: a}},
	} {
		t.Run(name, func(t *testing.T) {
			got := NextPeerKeys(test.newest, test.edges, test.edgesFirst)
			if got.Edge != test.want.Edge || got.Shard != test.want.Shard || !slices.Equal(got.Accepted, test.want.Accepted) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}
