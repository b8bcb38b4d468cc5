package status

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// TestAPIMessage: the status quotes the API server, on one line that is the same for the same failure.
func TestAPIMessage(t *testing.T) {
	answer := func(text string) error {
		return fmt.Errorf("update Service web: %w", apierrors.NewInternalError(errors.New(text)))
	}
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"no error":                 {nil, ""},
		"an error of a connection": {errors.New("read tcp 10.0.0.1:43210->10.96.0.1:443: connection reset by peer"), ""},
		"one of several": {errors.Join(errors.New("a timeout"), apierrors.NewConflict(corev1.Resource("services"), "web", errors.New("modified"))),
			`Operation cannot be fulfilled on services "web": modified`},
		"only the first line": {answer("leader changed\nat etcd"), "Internal error occurred: leader changed"},
		"addresses": {answer(`Post "https://hook.ops.svc:443/check": dial tcp 10.244.1.5:9443: connect: connection refused`),
			`Internal error occurred: Post "https://hook.ops.svc:443/check": dial tcp …: connect: connection refused`},
		"IPv6 addresses":    {answer("dial tcp [fd00::1]:9443: i/o timeout"), "Internal error occurred: dial tcp …: i/o timeout"},
		"resource versions": {answer("ResourceVersion: 123456, latest 123457"), "Internal error occurred: ResourceVersion: …, latest …"},
		"times": {answer(`failed calling webhook "a.b": x509: certificate has expired: current time 2026-11-25T02:39:57Z is after 2026-11-24T00:00:00Z`),
			`Internal error occurred: failed calling webhook "a.b": x509: certificate has expired: current time … is after …`},
		"counters": {answer("http2: server sent GOAWAY and closed the connection; LastStreamID=19, ErrCode=NO_ERROR"),
			"Internal error occurred: http2: server sent GOAWAY and closed the connection; LastStreamID…, ErrCode=NO_ERROR"},
		"identifiers":        {answer("UID 0f9e8d7c-1234-abcd-0123-0123456789ab is gone"), "Internal error occurred: UID … is gone"},
		"list indexes":       {answer("spec.ports[0].nodePort: 30 is taken"), "Internal error occurred: spec.ports[0].nodePort: 30 is taken"},
		"control characters": {answer("a\x1b[31mb"), "Internal error occurred: a\ufffd[31mb"},
	} {
		if got := apiMessage(tt.err); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	if got := apiMessage(answer(strings.Repeat("long ", 500))); len(got) > mostAPIMessage || len(got) < mostAPIMessage-4 {
		t.Errorf("a long answer has %d bytes", len(got))
	}
}
