package nginx

import (
	"cmp"
	"path"
	"regexp"
	"strings"
)

// Build is what the output of `nginx -V` says of the binary.
type Build struct {
	// Product is the name and version that a fork gives itself, such as Angie/1.10.3.
	Product string
	// Version is that of nginx, on which the fork is based.
	Version Version
	// Prefix, ConfPath and Modules are the paths for which it was compiled.
	Prefix, ConfPath, Modules string
}

var productLine = regexp.MustCompile(`(?m)^\S+ version: (\S+/\S+)`)

// ParseBuild parses the output of `nginx -V`.
func ParseBuild(text string) (Build, error) {
	version, err := ParseVersion(text)
	if err != nil {
		return Build{}, err
	}
	b := Build{Version: version}
	if found := productLine.FindStringSubmatch(text); found != nil {
		b.Product = found[1]
	}
	// These are the defaults of nginx's `configure`. A relative path is relative to the prefix.
	b.Prefix = cmp.Or(argument(text, "prefix"), "/usr/local/nginx")
	b.ConfPath = below(b.Prefix, cmp.Or(argument(text, "conf-path"), "conf/nginx.conf"))
	b.Modules = below(b.Prefix, cmp.Or(argument(text, "modules-path"), "modules"))
	return b, nil
}

// argument returns the last value of an argument of `configure`.
func argument(text, name string) string {
	value := ""
	for field := range strings.FieldsSeq(text) {
		if v, found := strings.CutPrefix(strings.Trim(field, `'"`), "--"+name+"="); found {
			value = strings.Trim(v, `'"`)
		}
	}
	return value
}

func below(prefix, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(prefix, name)
}
