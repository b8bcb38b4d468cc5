package cacheconf

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/cache/v1alpha1"
)

// rules is the data of the template of the rules.
type rules struct {
	// Hosts are the hosts that an origin answers; Any reports whether one answers all others.
	Hosts []string
	Any   bool
	Rules []rule
	// TTL applies where no rule sets another.
	TTL string
	// Parameters are the query parameters that rules name.
	Parameters []string
	// Headers are those that rules pass on to the origin, and Credentials the variables with those that are for one client.
	Headers     []header
	Credentials []string
	// Slice is the size of the slices of objects for which no rule says another; 0: they are whole.
	Slice int64
	// FolderPatterns match the first folders of a path: one, two and so on.
	FolderPatterns []string
}

// rule is a rule as its template reads it.
type rule struct {
	Number int
	// Pattern matches "<host>\n<path>".
	Pattern string
	Bypass  bool
	// IgnoreCookies reports whether cookies make no difference to the answer.
	IgnoreCookies bool
	// TTL is empty if the rule sets none.
	TTL string
	// Query is the part of the key that stands for the query string, if HasQuery is set.
	HasQuery bool
	Query    string
	// Slice is the size of the slices of objects, if HasSlice is set; 0: they are whole.
	HasSlice bool
	Slice    int64
}

func newRules(spec v1alpha1.NginxCacheSpec) (rules, error) {
	all := rules{TTL: expires(spec.Defaults.TTL), Slice: byteCount(spec.Defaults.Slice), FolderPatterns: folderPatterns()}
	for _, o := range spec.Origins {
		all.Hosts = append(all.Hosts, o.Hosts...)
		all.Any = all.Any || len(o.Hosts) == 0
	}
	for i, r := range spec.Rules {
		pattern, err := pattern(r.Match)
		if err != nil {
			return rules{}, fmt.Errorf("spec.rules[%d].match: %w", i, err)
		}
		next := rule{Number: i, Pattern: pattern, Bypass: ptr.Deref(r.Bypass, false), IgnoreCookies: ptr.Deref(r.IgnoreCookies, false)}
		next.HasSlice, next.Slice = r.Slice != nil, byteCount(r.Slice)
		if r.TTL != nil {
			next.TTL = expires(*r.TTL)
		}
		if r.Key != nil {
			include := r.Key.QueryParameters.Include
			next.HasQuery, next.Query = true, query(include)
			all.Parameters = append(all.Parameters, include...)
		}
		all.Rules = append(all.Rules, next)
	}
	headers, err := declaredHeaders(spec.Rules)
	if err != nil {
		return rules{}, err
	}
	all.Headers, all.Credentials = headers, credentials(headers)
	slices.Sort(all.Parameters)
	all.Parameters = slices.Compact(all.Parameters)
	return all, nil
}

// pattern returns a regular expression for "<host>\n<path>". With (?m), a ^ of the user is the start of the path, not of
// the text.
func pattern(m v1alpha1.Match) (string, error) {
	host := `[^\n]*`
	if len(m.Hosts) > 0 {
		quoted := make([]string, 0, len(m.Hosts))
		for _, h := range m.Hosts {
			quoted = append(quoted, regexp.QuoteMeta(h))
		}
		host = "(?:" + strings.Join(quoted, "|") + ")"
	}
	head := `(?m)\A` + host + `\n`
	switch {
	case m.PathPrefix != nil:
		if err := printable(*m.PathPrefix); err != nil {
			return "", fmt.Errorf("pathPrefix: %w", err)
		}
		return head + regexp.QuoteMeta(*m.PathPrefix), nil
	case m.PathRegularExpression != nil:
		if err := printable(*m.PathRegularExpression); err != nil {
			return "", fmt.Errorf("pathRegularExpression: %w", err)
		}
		return head + `[\s\S]*?(?:` + *m.PathRegularExpression + `)`, nil
	}
	return head, nil
}

// printable returns an error for text that cannot be in a line of the configuration.
func printable(text string) error {
	for _, r := range text {
		if !strconv.IsPrint(r) {
			return fmt.Errorf("it contains the character %q: only printable characters and spaces are allowed", r)
		}
	}
	return nil
}

// query returns the query parameters of a key, each of which is empty or begins with &.
func query(include []string) string {
	var b strings.Builder
	for _, name := range include {
		b.WriteString("$cache_arg_" + name)
	}
	return b.String()
}

// expires returns the value of nginx's directive of that name for a duration. What is fresh for no time is not stored.
func expires(d v1alpha1.Duration) string {
	if d == "" || d == "0" {
		return "off"
	}
	return string(d)
}

var units = map[byte]int64{'s': 1, 'm': 60, 'h': 3600, 'd': 86400}

// Seconds returns a duration in seconds. The schema allows only digits and a unit.
func Seconds(d v1alpha1.Duration) int64 {
	if len(d) < 2 {
		return 0
	}
	n, err := strconv.ParseInt(string(d[:len(d)-1]), 10, 64)
	if err != nil {
		return 0
	}
	return n * units[d[len(d)-1]]
}

// quote returns text as one token of nginx's configuration in which no variable is expanded.
func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}
