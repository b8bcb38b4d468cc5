package cacheconf

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/internal/nginx/nginxconf"
)

// ReservedPrefix is the prefix of the names of files that only the operator may add, besides those of nginxconf.
const ReservedPrefix = "nginx-cache"

// add adds the files of a user to those of the operator. field is where they are declared.
func (f Files) add(field string, extra *v1alpha1.Config) error {
	if extra == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(extra.Files)) {
		// Those of the other tier and of hand-overs count as well: a name must not become wrong later.
		if templates.Lookup(name+".tmpl") != nil || strings.HasPrefix(name, ReservedPrefix) {
			return fmt.Errorf("%s.files: %s is a name of the operator's own files: rename it", field, name)
		}
		if name == nginxconf.WholeFile {
			return fmt.Errorf("%s.files: %s would replace the configuration of the cache: call it extra.conf, with the content of its http block", field, name)
		}
		f[name] = string(extra.Files[name])
	}
	return nil
}
