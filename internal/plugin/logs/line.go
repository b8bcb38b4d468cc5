// Package logs merges the logs of the pods of an application.
package logs

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Line is a line of a log.
type Line struct {
	Time time.Time
	Pod  string
	Text string
}

// parse reads a line that the API server has given a time. Without one, it has that of the line before.
func parse(pod, text string, before time.Time) Line {
	stamp, rest, _ := strings.Cut(text, " ")
	at, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil {
		return Line{before, pod, text}
	}
	return Line{at, pod, rest}
}

// Filter selects lines. The zero value selects all.
type Filter struct {
	// Status is a status code or a class, such as 404 or 5xx; empty: any.
	Status string
	// Path is what the path of a request begins with; empty: any.
	Path string
}

// statusPattern is the form of Filter.Status.
var statusPattern = regexp.MustCompile(`^[1-5](?:[0-9]{2}|xx)$`)

// ValidStatus reports whether a text can be Filter.Status.
func ValidStatus(text string) bool { return statusPattern.MatchString(text) }

// request is a request in the log formats of nginx and Apache.
var request = regexp.MustCompile(`"[A-Z]+ (\S+)(?: HTTP/[0-9.]+)?" ([1-5][0-9]{2})\b`)

// Matches reports whether a line is that of a request which the filter selects. known is false if the line is not that of a
// request in a format that is understood.
func (f Filter) Matches(text string) (matches, known bool) {
	if f == (Filter{}) {
		return true, true
	}
	path, status, ok := requestOf(text)
	if !ok {
		return false, false
	}
	return f.matchesStatus(status) && strings.HasPrefix(path, f.Path), true
}

func (f Filter) matchesStatus(status string) bool {
	class, isClass := strings.CutSuffix(f.Status, "xx")
	return f.Status == "" || f.Status == status || isClass && strings.HasPrefix(status, class)
}

// requestOf returns the path and the status of a request in the usual format, or in JSON with nginx's own names.
func requestOf(text string) (path, status string, ok bool) {
	if found := request.FindStringSubmatch(text); found != nil {
		return found[1], found[2], true
	}
	if !strings.HasPrefix(text, "{") {
		return "", "", false
	}
	var fields map[string]any
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		return "", "", false
	}
	status = first(fields, "status", "code")
	path = first(fields, "request_uri", "uri", "path")
	if words := strings.Fields(first(fields, "request")); path == "" && len(words) > 1 {
		path = words[1]
	}
	return path, status, status != ""
}

// first returns the first of the fields that is there.
func first(fields map[string]any, names ...string) string {
	for _, name := range names {
		switch value := fields[name].(type) {
		case string:
			return value
		case float64:
			return strconv.FormatFloat(value, 'f', -1, 64)
		}
	}
	return ""
}
