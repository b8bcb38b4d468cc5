package importer

import (
	"strings"

	"example.com/nginx-operator/internal/instance/syntax"
)

const (
	snippetIgnored = "ingress-nginx ignores it, because allow-snippet-annotations is false in its ConfigMap"
	snippetUnknown = `the input does not set allow-snippet-annotations, without which ingress-nginx ignores snippets since 1.9 and applied them before: ` +
		`add the setting ("true" or "false") to the ConfigMap of the controller, and import again`
)

// snippetAnnotations are the annotations that ingress-nginx ignores without allow-snippet-annotations.
var snippetAnnotations = []string{"auth-snippet", "configuration-snippet", "modsecurity-snippet", "server-snippet", "stream-snippet"}

// snippet returns the reader of lines of a configuration.
func snippet(add func(*settings, string), block string) func(*annotationReader, string) (Outcome, string) {
	return func(a *annotationReader, value string) (Outcome, string) {
		switch a.importer.controller.snippets {
		case snippetsIgnored:
			return Carried, snippetIgnored
		case snippetsUnknown:
			return NotCarried, snippetUnknown
		case snippetsApplied:
		}
		if bad := syntax.Check(value); bad != nil {
			return NotCarried, bad.Error()
		}
		add(a.settings, value)
		note := "check it: it is part of the " + block + " block as it is written"
		if missing := unknownInSnippet(value); len(missing) > 0 {
			note += "; only ingress-nginx has " + strings.Join(missing, ", ")
			a.importer.review.step("Replace in the configuration what only ingress-nginx has: %s.", strings.Join(missing, ", "))
		}
		return Carried, note
	}
}

// ingressVariables are variables and directives that snippets use and that nginx without ingress-nginx's modules lacks.
var ingressVariables = []string{
	"$best_http_host", "$pass_access_scheme", "$pass_port", "$pass_server_port", "$proxy_upstream_name", "$service_name", "$service_port", "$ingress_name",
	"$namespace", "$location_path", "$the_real_ip", "$req_id", "$proxy_alternative_upstream_name", "more_set_headers", "more_clear_headers", "more_set_input_headers",
	"more_clear_input_headers", "_by_lua", "modsecurity",
}

func unknownInSnippet(text string) (found []string) {
	for _, name := range ingressVariables {
		if strings.Contains(text, name) {
			found = append(found, name)
		}
	}
	return found
}

// streamSnippet makes a file for the stream context of the lines.
func streamSnippet(a *annotationReader, value string) (Outcome, string) {
	switch a.importer.controller.snippets {
	case snippetsIgnored:
		return Carried, snippetIgnored
	case snippetsUnknown:
		return NotCarried, snippetUnknown
	case snippetsApplied:
	}
	if bad := syntax.Check(value); bad != nil {
		return NotCarried, bad.Error()
	}
	x := a.importer
	x.stream = append(x.stream, value)
	x.review.step("Add the ports on which the servers of ingress.stream.conf listen to spec.ports.")
	return Carried, "check it: it is the file ingress.stream.conf as it is written"
}
