package instanceapi

import (
	"strings"
	"testing"
)

func TestLoadTokens(t *testing.T) {
	issuer, others := NewTokenIssuer(), NewTokenIssuer()
	token := issuer.Token("pod-1", "r1")
	for name, other := range map[string]string{
		"another pod":      issuer.Token("pod-2", "r1"),
		"another revision": issuer.Token("pod-1", "r2"),
		"another process":  others.Token("pod-1", "r1"),
		"nothing":          "",
		"the hash itself":  TokenHash(token),
	} {
		if VerifyToken(other, TokenHash(token)) {
			t.Errorf("the token of %s is valid", name)
		}
	}
	if again := issuer.Token("pod-1", "r1"); !VerifyToken(again, TokenHash(token)) || len(token) > MaxToken {
		t.Errorf("the token %q is not valid", again)
	}
	if VerifyToken("", "") {
		t.Error("without a hash, no token is valid")
	}
}

// TestPublic: the public form of a request distinguishes it from others, and does not reveal the token hash.
func TestPublic(t *testing.T) {
	issuer := NewTokenIssuer()
	hash := TokenHash(issuer.Token("pod", "r1"))
	private := Requested{Test: "r1", Load: "r0", TokenHash: hash}
	public := private.Public()
	if public.TokenHash != "" || len(public.TokenHashFingerprint) != 2*fingerprintBytes || strings.Contains(hash, public.TokenHashFingerprint) {
		t.Errorf("the public form is %+v of hash %s", public, hash)
	}
	other := TokenHash(issuer.Token("pod", "r2"))
	for what, tt := range map[string]struct {
		a, b Requested
		want bool
	}{
		"itself":                   {private, private, true},
		"its public form":          {private, public, true},
		"the other way round":      {public, private, true},
		"twice public":             {public, public.Public(), true},
		"another token":            {public, Requested{Test: "r1", Load: "r0", TokenHash: other}, false},
		"another token, as before": {private, Requested{Test: "r1", Load: "r0", TokenHash: other}, false},
		"no token":                 {public, Requested{Test: "r1", Load: "r0"}, false},
		"another test":             {public, Requested{Test: "r2", Load: "r0", TokenHash: hash}, false},
		"another load":             {public, Requested{Test: "r1", Load: "r1", TokenHash: hash}, false},
		"nothing":                  {Requested{}, Requested{}, true},
	} {
		if got := tt.a.Matches(tt.b); got != tt.want {
			t.Errorf("%s: %t, want %t", what, got, tt.want)
		}
	}
}
