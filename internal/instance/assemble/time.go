package assemble

import (
	"regexp"
	"strconv"
	"time"
)

var timePart = regexp.MustCompile(`^(\d{1,9})(ms|s|m|h|d)? *`)

var timeUnits = map[string]time.Duration{
	"": time.Second, "ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
}

// parseTime parses a time such as 1m30s (https://nginx.org/en/docs/syntax.html). It does not support weeks, months and
// years.
func parseTime(text string) (time.Duration, bool) {
	if text == "" {
		return 0, false
	}
	var total time.Duration
	for text != "" {
		part := timePart.FindStringSubmatch(text)
		if part == nil {
			return 0, false
		}
		number, err := strconv.Atoi(part[1])
		if err != nil {
			return 0, false
		}
		total += time.Duration(number) * timeUnits[part[2]]
		text = text[len(part[0]):]
	}
	return total, true
}
