package instanceapi

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"example.com/nginx-operator/internal/boundedjson"
)

// PathPurges accepts Purges with POST, and answers once the instance has carried them out, or after OrderWait, with a
// Status as JSON in which only Protocol, Version, Purged and Orders are set. They are signed like an order, whose
// Requested is empty, and need no number of their own: to carry out what has been carried out changes nothing.
const PathPurges = "/v1/purges"

// DirPurges is the mounted ConfigMap with the Purges of a cache, in FilePurges as JSON.
const (
	DirPurges  = "/etc/nginx-operator/purges"
	FilePurges = "purges.json"
)

// EnvCacheDir is the environment variable of the nginx container with the folder of its cache. The instance keeps what
// was purged in DirPurged of it; nginx stores objects in DirObjects. Without the variable, the pod has no cache to purge.
const (
	EnvCacheDir = "NGINX_OPERATOR_CACHE_DIR"
	DirPurged   = "purged"
	DirObjects  = "objects"
)

// MaxPurges bounds the JSON of Purges, in bytes: the ConfigMap holds those of both tiers, and at most 1 MiB.
const MaxPurges = 400 << 10

// MaxPurgedFolders is the greatest number of folders in the path of a Target with Below.
const MaxPurgedFolders = 6

// Purges is what is purged from a cache, from some time on.
type Purges struct {
	// Since is the number of the last purge that is not listed any more. An instance that has carried out less drops its
	// whole cache.
	Since int64 `json:"since,omitempty"`
	// List holds the purges in the order of their numbers.
	List []Purge `json:"purges,omitempty"`
}

// Purge removes objects from a cache.
type Purge struct {
	// Number is the time of the purge in milliseconds, or one more than that of the purge before, whichever is greater.
	Number int64 `json:"number"`
	// Owner is the UID of the object that declares it.
	Owner string `json:"owner,omitempty"`
	// Either All, Targets or Tags is set. All is everything, and Tags are the objects of which the header Cache-Tag has one
	// of them.
	All     bool     `json:"all,omitempty"`
	Targets []Target `json:"targets,omitempty"`
	Tags    []string `json:"tags,omitempty"`
	// Soft makes objects stale, instead of removing them.
	Soft bool `json:"soft,omitempty"`
}

// Scans reports whether the stored objects have to be read to find those that are purged.
func (p *Purge) Scans() bool { return p.Soft || len(p.Tags) > 0 }

// Target is what is purged.
type Target struct {
	// Host is in lower case and without a port.
	Host string `json:"host"`
	// Path is decoded and normalized, as nginx's $uri.
	Path string `json:"path"`
	// Query is empty, or ? and the query string as it is in the cache key.
	Query string `json:"query,omitempty"`
	// Below reports whether everything is purged whose path begins with Path, which ends with a slash.
	Below bool `json:"below,omitempty"`
}

// Purged is what an instance has carried out.
type Purged struct {
	// Number is that of the last purge.
	Number int64 `json:"number"`
	// Error is why the instance cannot carry out purges; empty if it can.
	Error string `json:"error,omitempty" max:"1024"`
}

// Last returns the number of the last purge; 0 if there has been none.
func (p Purges) Last() int64 {
	if n := len(p.List); n > 0 {
		return p.List[n-1].Number
	}
	return p.Since
}

// UpTo returns the purges without those of a greater number.
func (p Purges) UpTo(number int64) Purges {
	for i := range p.List {
		if p.List[i].Number > number {
			p.List = p.List[:i:i]
			break
		}
	}
	return p
}

// Text returns the JSON of the purges. Characters of HTML, which are common in query strings, are as they are.
func (p Purges) Text() ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(p); err != nil {
		return nil, fmt.Errorf("encode the purges: %w", err)
	}
	return text.Bytes(), nil
}

// purgesLimits bounds the JSON of Purges. It admits every list that fits into MaxPurges: a purge takes at least 36 bytes, and a
// tag at least 4.
var purgesLimits = boundedjson.Limits{Bytes: MaxPurges, Depth: 5, Items: 16 << 10, Values: 128 << 10, String: MaxPurges}

// ParsePurges parses the JSON. It returns an error if the JSON exceeds its limits, or unless the numbers are times and grow.
func ParsePurges(text []byte) (Purges, error) {
	if err := purgesLimits.Check(text); err != nil {
		return Purges{}, fmt.Errorf("parse the purges: %w", err)
	}
	var p Purges
	decoder := json.NewDecoder(bytes.NewReader(text))
	// What a later release can purge and this one does not know must not count as carried out.
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&p); err != nil {
		return Purges{}, fmt.Errorf("parse the purges: %w", err)
	}
	last := p.Since
	for _, purge := range p.List {
		if purge.Number <= last || purge.Number > maxNumber {
			return Purges{}, fmt.Errorf("purge %d comes after %d: the numbers must be times, and grow", purge.Number, last)
		}
		last = purge.Number
		if err := purge.check(); err != nil {
			return Purges{}, fmt.Errorf("purge %d: %w", purge.Number, err)
		}
	}
	if p.Since < 0 || p.Since > maxNumber {
		return Purges{}, fmt.Errorf("the number %d is not a time", p.Since)
	}
	return p, nil
}

// check returns why a purge cannot be carried out; nil if it can.
func (p *Purge) check() error {
	kinds := 0
	for _, is := range []bool{p.All, len(p.Targets) > 0, len(p.Tags) > 0} {
		if is {
			kinds++
		}
	}
	if kinds != 1 {
		return errors.New("it must have either all, targets or tags")
	}
	for _, tag := range p.Tags {
		if tag == "" || strings.ContainsAny(tag, ", \t\r\n\x00") {
			return fmt.Errorf("the tag %q is empty, or contains a comma or a space", tag)
		}
	}
	for _, target := range p.Targets {
		if err := target.check(); err != nil {
			return err
		}
	}
	return nil
}

func (t Target) check() error {
	switch {
	case t.Host == "" || strings.ContainsAny(t.Host, "/\x00"):
		return fmt.Errorf("the host %q is not a name", t.Host)
	case !strings.HasPrefix(t.Path, "/"), strings.ContainsRune(t.Path, 0):
		return fmt.Errorf("the path %q does not begin with a slash, or contains a zero", t.Path)
	case t.Query != "" && (!strings.HasPrefix(t.Query, "?") || strings.ContainsRune(t.Query, 0)):
		return fmt.Errorf("the query string %q does not begin with ?, or contains a zero", t.Query)
	case t.Below && (t.Query != "" || !strings.HasSuffix(t.Path, "/")):
		return fmt.Errorf("a path of which everything below is purged must end with a slash and have no query string: %q", t.Path+t.Query)
	}
	return nil
}

// NormalizePath returns a decoded path as nginx's $uri: without empty folders and those of the names . and ..
func NormalizePath(decoded string) string {
	clean := path.Clean("/" + decoded)
	if last := decoded[strings.LastIndex(decoded, "/")+1:]; clean != "/" && (last == "" || last == "." || last == "..") {
		return clean + "/"
	}
	return clean
}

// SignPurges signs purges for an instance. They are valid until OrderValidity after its Uptime.
func SignPurges(key ed25519.PrivateKey, receiver Orders, p Purges, now time.Time) (SignedOrder, error) {
	body, err := p.Text()
	if err != nil {
		return SignedOrder{}, err
	}
	return signFor(purposePurges, key, receiver.Next(Requested{}, now), body)
}

// VerifyPurges returns the order in two headers, or why the instance must not accept it. The body has not been read yet.
func (o Orders) VerifyPurges(trust Trust, header, signature string) (Order, Refusal) {
	// An order that was sent twice does no harm.
	o.Number = -1
	order, refusal := o.verify(purposePurges, trust, header, signature)
	if refusal == "" && (order.Body == nil || order.Body.Size > MaxPurges) {
		refusal = Oversized
	}
	return order, refusal
}
