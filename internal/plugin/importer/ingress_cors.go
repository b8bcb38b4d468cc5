package importer

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
)

// Values of ingress-nginx for annotations that are not set.
const (
	corsMethods = "GET, PUT, POST, DELETE, PATCH, OPTIONS"
	corsHeaders = "DNT,Keep-Alive,User-Agent,X-Requested-With,If-Modified-Since,Cache-Control,Content-Type,Range,Authorization"
	corsMaxAge  = "1728000"
)

var corsValue = regexp.MustCompile(`^[-A-Za-z0-9,.*:/_ ]+$`)

// enableCORS answers preflight requests, and adds the headers to all responses for an allowed origin.
func enableCORS(a *annotationReader, value string) (Outcome, string) {
	if !isTrue(value) {
		return Carried, ""
	}
	s := a.settings
	get := func(name, otherwise string) string { return cmp.Or(s.values[name], otherwise) }
	headers := [][2]string{
		{"Access-Control-Allow-Methods", get("cors-allow-methods", corsMethods)},
		{"Access-Control-Allow-Headers", get("cors-allow-headers", corsHeaders)},
		{"Access-Control-Max-Age", get("cors-max-age", corsMaxAge)},
	}
	if get("cors-allow-credentials", "true") == "true" {
		headers = append(headers, [2]string{"Access-Control-Allow-Credentials", "true"})
	}
	if exposed := s.values["cors-expose-headers"]; exposed != "" {
		headers = append(headers, [2]string{"Access-Control-Expose-Headers", exposed})
	}
	for _, h := range headers {
		if !corsValue.MatchString(h[1]) {
			return NotCarried, "a value of cors-* is not a list of names: " + h[1]
		}
	}
	origin, ok := a.corsOrigin(get("cors-allow-origin", "*"))
	if !ok {
		return NotCarried, "cors-allow-origin is not a list of origins"
	}
	s.location = append(s.location, corsLines(s.id, origin, headers)...)
	a.importer.http = append(a.importer.http,
		fmt.Sprintf("map \"$request_method:$%s\" $cors_preflight_%s { default 0; \"~^OPTIONS:.\" 1; }", originVariable(s.id), s.id))
	return Changed, "add_header Access-Control-…, and status 204 for OPTIONS"
}

func originVariable(id string) string { return "cors_origin_" + id }

// corsOrigin declares the variable with the allowed origin of a request, and returns the value of the header.
func (a *annotationReader) corsOrigin(value string) (string, bool) {
	name := originVariable(a.settings.id)
	if value == "*" {
		a.importer.http = append(a.importer.http, fmt.Sprintf("map $request_method $%s { default \"*\"; }", name))
		return "$" + name, true
	}
	var patterns []string
	for origin := range strings.SplitSeq(value, ",") {
		origin = strings.TrimSpace(origin)
		if !corsValue.MatchString(origin) || strings.Contains(origin, " ") {
			return "", false
		}
		patterns = append(patterns, strings.ReplaceAll(regexp.QuoteMeta(origin), `\*`, `[A-Za-z0-9-]+`))
	}
	a.importer.http = append(a.importer.http, fmt.Sprintf("map $http_origin $%s { default \"\"; \"~*^(%s)$\" $http_origin; }", name, strings.Join(patterns, "|")))
	return "$" + name, true
}

// corsLines returns the lines of a location. nginx sends no header without a value.
func corsLines(id, origin string, headers [][2]string) []string {
	lines := []string{fmt.Sprintf("add_header Access-Control-Allow-Origin %s always;", origin)}
	preflight := []string{"if ($cors_preflight_" + id + ") {", fmt.Sprintf("    add_header Access-Control-Allow-Origin %s always;", origin)}
	for _, h := range headers {
		line := fmt.Sprintf("add_header %s %s always;", h[0], quoted(h[1]))
		lines, preflight = append(lines, line), append(preflight, "    "+line)
	}
	return append(lines, append(preflight, "    return 204;", "}")...)
}
