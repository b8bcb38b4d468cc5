package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// ofRuns are the flags that select cases and set how they are run. All other flags describe the
// operator under test.
var ofRuns = []string{"only", "each", "sample", "part", "seed", "parallel", "budget", "silence", "real-sample", "real-parallel"}

// remember keeps the flags that a replay needs: those that were given, except the paths that make
// passes by default.
func (o *options) remember(flags *pflag.FlagSet) {
	flags.Visit(func(f *pflag.Flag) {
		place, ok := map[string]string{"operator": "bin/nginx-operator", "next": "bin/next/nginx-operator", "instance": "bin/nginx-instance"}[f.Name]
		if ok && strings.HasSuffix(f.Value.String(), place) || slices.Contains([]string{"case", "keep", "images"}, f.Name) {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			o.given = append(o.given, given{f.Name, fmt.Sprintf("--%s=%s", f.Name, value)})
		}
	})
}

// given is a flag that was given, with its full text.
type given struct{ name, text string }

// again returns the arguments of make that replay what failed: a single case; all cases of a kind,
// if its operator failed outside of a case; or the whole run, if failed is empty.
func (o *options) again(failed string) string {
	flags := []string{}
	single := strings.Contains(failed, "/")
	if failed != "" && !single {
		flags = append(flags, "--only="+failed+"/")
	}
	for _, g := range o.given {
		if of := slices.Contains(ofRuns, g.name); of && single || g.name == "only" && failed != "" {
			continue
		}
		flags = append(flags, g.text)
	}
	var arguments []string
	if o.images == "" {
		arguments = append(arguments, "NGINX=")
	}
	if single {
		arguments = append(arguments, fmt.Sprintf("CASE='%s'", failed))
	}
	if len(flags) > 0 {
		arguments = append(arguments, fmt.Sprintf("FAULT='%s'", strings.Join(flags, " ")))
	}
	return strings.Join(arguments, " ")
}
