// Package redact hides what looks like a secret in texts that leave the cluster. It is pure.
//
// It cannot know every secret. What it hides is wide rather than narrow: a support archive with a hidden path is still
// useful, one with a token is a leak.
package redact

import (
	"math"
	"regexp"
	"strings"

	"example.com/nginx-operator/internal/userinfo"
)

// Mask takes the place of what is hidden.
const Mask = "[hidden]"

// names are parts of the names of headers, parameters, variables and fields whose values are secrets.
const names = `(?:pass(?:word|wd|phrase)?|pwd|secret|token|api[-_.]?key|access[-_.]?key|private[-_.]?key|credentials?|auth(?:orization|entication)?|` +
	`session(?:[-_.]?id)?|jwt|signature|cookie|client[-_.]?secret|x-amz-[a-z-]+)`

// harmless are such names whose values are none: Kubernetes has them.
var harmless = map[string]bool{
	"secretname": true, "secretref": true, "secretkeyref": true, "imagepullsecrets": true,
	"automountserviceaccounttoken": true, "serviceaccounttoken": true,
	"sessionaffinity": true,
}

// rules are replaced in their order.
var rules = []struct {
	pattern *regexp.Regexp
	by      string
}{
	// Keys and certificates in PEM.
	{regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|$)`), Mask},
	// Tokens of three parts, as JSON Web Tokens.
	{regexp.MustCompile(`\beyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?`), Mask},
	// The user and password of a URL.
	{regexp.MustCompile(`\b([a-zA-Z][a-zA-Z0-9+.-]*://)[^\s@"']+@`), "${1}" + Mask + "@"},
	// The same in a URL that is a parameter of another one.
	{regexp.MustCompile(`(?i)(%3A%2F%2F)[^\s"'&]+?%40`), "${1}" + Mask + "%40"},
	// Headers with credentials.
	{regexp.MustCompile(`(?i)\b((?:proxy-)?authorization["']?\s*[:=]?\s*["']?(?:(?:basic|bearer|digest|negotiate|token|aws4-hmac-sha256)\s+)?)[^\s"',;}:=][^\s"',;}]*`), "${1}" + Mask},
	{regexp.MustCompile(`(?i)\b((?:set-)?cookie["']?\s*[:=]\s*["']?)[^"'\r\n]+`), "${1}" + Mask},
	{regexp.MustCompile(`(?i)\b((?:basic|bearer)\s+)[A-Za-z0-9+/=._~-]{8,}`), "${1}" + Mask},
	// Directives of nginx that set such a header or variable.
	{regexp.MustCompile(`(?i)(\b(?:proxy_set_header|add_header|more_set_headers|fastcgi_param|uwsgi_param|scgi_param|grpc_set_header|set)\s+["']?\$?[\w-]*` + names + `[\w-]*["']?\s+)(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^;\n]+)`), "${1}" + Mask},
	// Comparisons of nginx with what a client sends.
	{regexp.MustCompile(`(?i)(\bif\s*\(\s*\$(?:http|arg|cookie)_\w+\s*(?:=|!=|!?~\*?)\s*)[^)\n]+`), "${1}" + Mask},
	{regexp.MustCompile(`(?is)(\bmap\s+["']?\$(?:http|arg|cookie)_\w+["']?\s+\$\w+\s*\{)[^}]*\}`), "${1} " + Mask + " }"},
	// JSON within a line of JSON, or of nginx's log.
	{regexp.MustCompile(`(?i)((?:\\x22|\\")[\w.-]*` + names + `[\w.-]*(?:\\x22|\\")\s*:\s*(?:\\x22|\\")).*?(\\x22|\\"|$)`), "${1}" + Mask + "${2}"},
	// Texts of several lines in YAML, and flags of commands.
	{regexp.MustCompile(`(?i)([\w.-]*` + names + `[\w.-]*:[ \t]*[|>][-+0-9]*[ \t]*\n)(?:[ \t]+[^\n]*(?:\n|$))+`), "${1}  " + Mask + "\n"},
	{regexp.MustCompile(`(?i)(\s--?[\w-]*` + names + `[\w-]*[ =]+)[^\s"',]+`), "${1}" + Mask},
	{regexp.MustCompile(`(?i)(\b(?:secure_link_md5|auth_jwt_key|secure_link_secret|proxy_ssl_password_file|userid_mark)\s+)[^;\n]+`), "${1}" + Mask},
	// Parameters of a URL that are secrets nowhere else.
	{regexp.MustCompile(`(?i)([?&](?:code|state|sid|sig|pin|otp|nonce|key)=)[^\s&"']+`), "${1}" + Mask},
	// Keys of well-known services.
	{regexp.MustCompile(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`), Mask},
	{regexp.MustCompile(`\b(?:gh[opsur]|github_pat|glpat|xox[abposr]|sk|pk|rk|npm|dop_v1|hf)[_-][A-Za-z0-9_-]{16,}`), Mask},
	{regexp.MustCompile(`\bAIza[\w-]{30,}`), Mask},
	// Hashes of passwords.
	{regexp.MustCompile(`\$(?:apr1|1|2[aby]|5|6|y|argon2\w*)\$[^\s:"']+`), Mask},
	{regexp.MustCompile(`\{(?:SHA|SSHA|PLAIN)\}[^\s:"']+`), Mask},
}

// pairs are names with values: parameters of a URL, variables, fields of JSON and YAML. Their groups are what stays, and the
// name in it.
var pairs = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`(?i)(["']?([\w.-]*` + names + `[\w.-]*)["']?\s*(?:=|:|%3D)\s*)"(?:[^"\\]|\\.)+"`), `"` + Mask + `"`},
	{regexp.MustCompile(`(?i)(["']?([\w.-]*` + names + `[\w.-]*)["']?\s*(?:=|:|%3D)\s*)'[^']+'`), `'` + Mask + `'`},
	{regexp.MustCompile(`(?i)(([\w.-]*` + names + `[\w.-]*)(?: ?= ?|%3D))[^\s&"',;}\[\]]+`), Mask},
	{regexp.MustCompile(`(?i)(([\w.-]*` + names + `[\w.-]*): ?)[^\s&"',;}\[\]|>][^&"',;}\[\]\r\n]*`), Mask},
}

// words may be keys: long, and of many different characters.
var words = regexp.MustCompile(`[A-Za-z0-9+/_=-]{20,}`)

// digest precedes a hash that is none.
var digest = regexp.MustCompile(`(?:sha256|sha512|sha1|md5)[:=-]$`)

// Text returns a text without what looks like a secret.
func Text(text string) string {
	for _, r := range rules {
		text = r.pattern.ReplaceAllString(text, r.by)
	}
	for _, p := range pairs {
		text = p.pattern.ReplaceAllStringFunc(text, func(found string) string {
			groups := p.pattern.FindStringSubmatch(found)
			if harmless[strings.ToLower(groups[2])] {
				return found
			}
			return groups[1] + p.by
		})
	}
	return hideWords(userinfo.Hide(text, Mask))
}

// hideWords hides words that are as random as keys.
func hideWords(text string) string {
	var b strings.Builder
	last := 0
	for _, at := range words.FindAllStringIndex(text, -1) {
		if !random(text[at[0]:at[1]]) || digest.MatchString(text[max(0, at[0]-8):at[0]]) {
			continue
		}
		b.WriteString(text[last:at[0]])
		b.WriteString(Mask)
		last = at[1]
	}
	b.WriteString(text[last:])
	return b.String()
}

const (
	// leastRandom is the entropy from which a word may be a key, in bits for each character: words of a language are below.
	leastRandom = 3.5
	// leastHex is the length of a key in hexadecimal digits. Revisions and parts of pods' names are shorter.
	leastHex = 32
)

var (
	hexadecimal = regexp.MustCompile(`^[0-9a-fA-F]+$`)
	// identifier is a UUID, such as the UID of an object.
	identifier = regexp.MustCompile(`(?i)^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	// ordinary are words that people and Kubernetes write: parts of lower case letters and digits, none of which is long.
	ordinary = regexp.MustCompile(`^[A-Za-z]?[a-z0-9]{0,19}(?:[-_/=+][A-Za-z]?[a-z0-9]{0,19})*$`)
	// camel are the names of fields, conditions and annotations.
	camel = regexp.MustCompile(`^[A-Za-z]?[a-z]+(?:[-_/]?[A-Z]?[a-z]+)*[A-Z]{0,5}[0-9]{0,2}$`)
)

// random reports whether a word is as random as a key.
func random(word string) bool {
	switch {
	case identifier.MatchString(word), camel.MatchString(word), ordinary.MatchString(word):
		return false
	case hexadecimal.MatchString(word):
		return len(word) >= leastHex
	}
	return entropy(word) >= leastRandom
}

// entropy returns the bits of information in each character of a word (Shannon).
func entropy(word string) float64 {
	counts := map[rune]float64{}
	for _, r := range word {
		counts[r]++
	}
	sum := 0.0
	for _, n := range counts {
		p := n / float64(len(word))
		sum -= p * math.Log2(p)
	}
	return sum
}
