package nginx

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
)

// Version is the version of the nginx binary.
type Version struct {
	Major, Minor, Patch int
}

// These are the first versions of nginx with the features that the instance uses.
var (
	// keepaliveMinTimeout keeps connections open for a while during a graceful exit
	// (https://nginx.org/en/docs/http/ngx_http_core_module.html#keepalive_min_timeout).
	keepaliveMinTimeout = Version{1, 27, 4}
	// keepaliveTime bounds the age of connections
	// (https://nginx.org/en/docs/http/ngx_http_core_module.html#keepalive_time).
	keepaliveTime = Version{1, 19, 10}
	// errorLogFlag is -e (https://nginx.org/en/docs/switches.html).
	errorLogFlag = Version{1, 19, 5}
)

// versionLine matches the version of nginx, also in the output of forks. OpenResty appends a number to it, Angie and
// Tengine print it on a second line, and old versions of Tengine print it in parentheses.
var versionLine = regexp.MustCompile(`(?:nginx version: \S+/|\(nginx/)(\d+)\.(\d+)\.(\d+)`)

// ParseVersion parses the output of `nginx -V`.
func ParseVersion(text string) (Version, error) {
	found := versionLine.FindStringSubmatch(text)
	if found == nil {
		return Version{}, fmt.Errorf("%.100q does not contain the version of nginx", text)
	}
	var numbers [3]int
	for i := range numbers {
		number, err := strconv.Atoi(found[i+1])
		if err != nil {
			return Version{}, fmt.Errorf("the version of nginx: %w", err)
		}
		numbers[i] = number
	}
	return Version{numbers[0], numbers[1], numbers[2]}, nil
}

func (v Version) String() string {
	if v == (Version{}) {
		return ""
	}
	return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch)
}

// HasKeepaliveTime reports whether nginx can close connections of a certain age after a response.
func (v Version) HasKeepaliveTime() bool { return v.atLeast(keepaliveTime) }

func (v Version) hasErrorLogFlag() bool { return v.atLeast(errorLogFlag) }

func (v Version) atLeast(other Version) bool {
	return cmp.Or(cmp.Compare(v.Major, other.Major), cmp.Compare(v.Minor, other.Minor), cmp.Compare(v.Patch, other.Patch)) >= 0
}
