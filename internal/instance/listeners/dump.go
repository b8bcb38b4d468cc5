package listeners

import (
	"regexp"
	"strings"
)

var header = regexp.MustCompile(`(?m)^# configuration file (/.*):\n`)

// SplitDump takes apart what `nginx -T` writes. The lengths of known files are given,
// as their content may look like a header itself: people paste such output.
func SplitDump(dump string, known map[string]string) map[string]string {
	files := map[string]string{}
	for {
		found := header.FindStringSubmatchIndex(dump)
		if found == nil {
			return files
		}
		name := dump[found[2]:found[3]]
		dump = dump[found[1]:]
		if content, ok := known[name]; ok && strings.HasPrefix(dump, content) {
			files[name] = content
			dump = dump[len(content):]
			continue
		}
		files[name] = dump
		if next := header.FindStringIndex(dump); next != nil {
			files[name] = dump[:next[0]]
		}
	}
}
