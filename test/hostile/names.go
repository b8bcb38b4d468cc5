package hostile

import (
	"fmt"
	"strings"
)

// Limits of names, in characters.
const (
	longestNginx  = 45
	longestBackup = 56
	longestPolicy = 63
)

// names tries names of every length up to the limit, one that is longer, and invalid names.
func names() []Case {
	var all []Case
	for length := 1; length <= longestNginx+1; length++ {
		want := Want{}
		if length > longestNginx {
			want = refused("metadata.name must be at most 45 characters long")
		}
		// The letter "n" is used for all lengths here, and no other case uses it.
		all = append(all, named(Nginx, strings.Repeat("n", length), `{}`, want))
	}
	all = append(all, named(NginxOld, strings.Repeat("o", longestNginx), `{}`, Want{}), named(NginxOld, strings.Repeat("o", longestNginx+1), `{}`, refused("metadata.name must be at most 45 characters long")))
	const backup = `{"target":{"name":"web"},"destination":{"url":"pvc://backups"}}`
	for _, length := range []int{1, longestBackup - 1, longestBackup, longestBackup + 1, 253} {
		want := Want{Reason: "TargetNotFound"}
		if length > longestBackup {
			want = refused("metadata.name must be at most 56 characters long")
		}
		all = append(all, named(Backup, strings.Repeat("b", length), backup, want))
		if want.Refused == "" {
			want.Reason = "BackupNotFound"
		}
		all = append(all, named(Restore, strings.Repeat("r", length), `{"backup":{"name":"none"}}`, want))
	}
	const policy = `{"selector":{},"suspend":true,"triggers":{"change":{}},"destination":{"url":"pvc://backups"}}`
	for _, length := range []int{1, longestPolicy, longestPolicy + 1} {
		want := Want{}
		if length > longestPolicy {
			want = refused("metadata.name must be at most 63 characters long")
		}
		all = append(all, named(Policy, strings.Repeat("p", length), policy, want))
	}
	return append(all, noNames()...)
}

func named(kind Kind, name, text string, want Want) Case {
	return Case{
		Name: fmt.Sprintf("names: %s %s with %d characters", kind.Name, kind.Version, len(name)), Sort: "names",
		Kind: kind, Object: name, Body: body(kind, name, spec(text)), Want: want,
	}
}

// noNames returns names that the API server rejects for every kind, or that the schema's own rules
// reject.
func noNames() []Case {
	var all []Case
	for what, name := range pairs(
		"empty", "", "upper case", "Web", "underscore", "a_b", "space", "a b", "slash", "a/b", "the folder above", "..", "another namespace", "other/web",
		"climbing", "../web", "newline", "a\nb", "NUL", "a\x00b", "quote", `a"b`, "directive", "a;daemon on", "percent", "a%2fb", "umlaut", "wäb",
		"a letter that looks like another", "w\u0435b", "turned direction", "a\u202eb", "combining", "e\u0301", "full width", "\uff57eb", "emoji", "\U0001F600",
		"dash in front", "-a", "dash at the end", "a-", "254 characters", strings.Repeat("z", 254), "wildcard", "*", "variable", "$(A)",
	) {
		all = append(all, noName(what, name, "metadata.name"))
	}
	for what, name := range pairs("digit in front", "1web", "dot", "web.example", "number", "42", "IP address", "10.0.0.1") {
		all = append(all, noName(what, name, "start with a letter and end with a letter or digit"))
	}
	return all
}

func noName(what, name, message string) Case {
	if name == "" {
		message = "name or generateName is required"
	}
	return Case{Name: "names: " + what, Sort: "names", Kind: Nginx, Object: name, Body: body(Nginx, name, map[string]any{}), Want: refused(message)}
}

// pairs iterates over keys and values in order.
func pairs(texts ...string) func(yield func(string, string) bool) {
	return func(yield func(string, string) bool) {
		for i := 0; i+1 < len(texts); i += 2 {
			if !yield(texts[i], texts[i+1]) {
				return
			}
		}
	}
}
