package status

import (
	"errors"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"example.com/nginx-operator/internal/kube/messages"
)

// mostAPIMessage is the maximum length of an API server's message in a condition, in bytes.
const mostAPIMessage = 300

// varying matches what may differ from attempt to attempt in a message about the same failure: times, identifiers,
// addresses and counters. A message that changes would cause a write of the status in each pass.
var varying = regexp.MustCompile(strings.Join([]string{
	`\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*`,                 // times
	`\b[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b`, // UIDs
	`\b\d{1,3}(\.\d{1,3}){3}(:\d+)?\b`,                       // IPv4 addresses
	`\[[0-9a-fA-F:.]*:[0-9a-fA-F:.]*\](:\d+)?`,               // IPv6 addresses
	`=\d+\b`, `\b\d{4,}\b`, // counters, versions
}, "|"))

// apiMessage returns the first line of the API server's answer in an error; empty if the error is not an answer of
// the API server, because errors of connections differ from attempt to attempt.
func apiMessage(err error) string {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return ""
	}
	line, _, _ := strings.Cut(strings.TrimSpace(answer.Status().Message), "\n")
	return messages.Shorten(varying.ReplaceAllString(line, "…"), mostAPIMessage)
}
