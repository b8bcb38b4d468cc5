// Package purge decides what pods have to purge, what is remembered of it, and how far a purge is. It is pure.
package purge

import (
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/internal/instanceapi"
)

// Wanted returns the purge that a spec declares, without a number. keys are the keys that objects of the cache can have.
// The error says what cannot be read.
func Wanted(keys Keys, spec *v1alpha1.NginxCachePurgeSpec) (instanceapi.Purge, error) {
	wanted := instanceapi.Purge{Tags: spec.Tags, Soft: ptr.Deref(spec.Soft, false)}
	// Which objects a URL can be stored as is not known with too many keys.
	if ptr.Deref(spec.All, false) || len(spec.URLs) > 0 && len(keys) > maxKeys {
		wanted.All = true
		return wanted, nil
	}
	var err error
	wanted.Targets, err = targets(keys, spec)
	return wanted, err
}

// targets returns what the URLs and prefixes of a spec stand for.
func targets(keys Keys, spec *v1alpha1.NginxCachePurgeSpec) ([]instanceapi.Target, error) {
	var all []instanceapi.Target
	for i, text := range spec.URLs {
		u, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("spec.urls[%d]: %w", i, err)
		}
		for _, query := range queries(keys, u.RawQuery) {
			all = append(all, instanceapi.Target{Host: host(u), Path: instanceapi.NormalizePath(u.Path), Query: query})
		}
	}
	for i, text := range spec.Prefixes {
		u, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("spec.prefixes[%d]: %w", i, err)
		}
		all = append(all, instanceapi.Target{Host: host(u), Path: instanceapi.NormalizePath(u.Path), Below: true})
	}
	return all, nil
}

// hostName matches the names of hosts as clients send them.
var hostName = regexp.MustCompile(`^[a-zA-Z0-9_][-a-zA-Z0-9._]*$`)

func parse(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, err
	}
	switch {
	case u.User != nil || strings.ContainsRune(u.Path, 0) || strings.ContainsRune(u.RawQuery, 0):
		return nil, fmt.Errorf("%q is not the URL of an object: it must have no user name and no zero bytes", text)
	case net.ParseIP(u.Hostname()) == nil && !hostName.MatchString(u.Hostname()):
		return nil, fmt.Errorf("%q is not the host of an object: it must be a name of letters, digits, '-', '_' and '.', or an IP address; write other letters as clients send them (xn--…), and purge all for all hosts", u.Hostname())
	case !utf8.ValidString(u.Path):
		return nil, fmt.Errorf("the path of %q is not UTF-8: purge the folder above it", text)
	}
	return u, nil
}

// host returns the host as nginx's $host: in lower case, without a port.
func host(u *url.URL) string {
	name := strings.ToLower(u.Hostname())
	if strings.Contains(name, ":") {
		return "[" + name + "]"
	}
	return strings.TrimSuffix(name, ".")
}

// queries returns the query strings that the key of an object can have: as it is, and with the parameters of each key.
// Which rule applies is for nginx to say, so all of them are purged.
func queries(keys Keys, raw string) []string {
	all := []string{question(raw)}
	for _, parameters := range keys {
		var kept []string
		for _, name := range parameters {
			if value := argument(raw, name); value != "" {
				kept = append(kept, name+"="+value)
			}
		}
		all = append(all, question(strings.Join(kept, "&")))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func question(query string) string {
	if query == "" {
		return ""
	}
	return "?" + query
}

// argument returns the value of a parameter as nginx's $arg_NAME: that of the first one with the name, as it is.
func argument(raw, name string) string {
	for pair := range strings.SplitSeq(raw, "&") {
		if key, value, found := strings.Cut(pair, "="); found && strings.EqualFold(key, name) {
			return value
		}
	}
	return ""
}
