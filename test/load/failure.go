package load

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// Kind is a kind of failure.
type Kind string

// The kinds of failures.
const (
	// Refused: there is no listener.
	Refused Kind = "connection refused"
	// Connect: the connection failed for another reason.
	Connect Kind = "no connection"
	// Handshake: the TLS handshake failed.
	Handshake Kind = "TLS handshake"
	// Untrusted: the CA has not signed the certificate for this name.
	Untrusted Kind = "certificate not trusted"
	// Reset: the connection was reset.
	Reset Kind = "connection reset"
	// EOF: the connection was closed before the response began. On a reused connection, this means
	// that the server had closed it while it was idle.
	EOF Kind = "closed before the answer"
	// Truncated: the connection was closed in the middle of the response.
	Truncated Kind = "closed in the answer"
	// Malformed: the response is not HTTP.
	Malformed Kind = "not HTTP"
	// WrongStatus, WrongBody: the response is not the expected one.
	WrongStatus Kind = "wrong status"
	WrongBody   Kind = "wrong body"
	// UnknownRevision: the response has a revision that was not submitted.
	UnknownRevision Kind = "unknown revision"
	// Timeout: there was no complete response in time.
	Timeout Kind = "timeout"
)

// Failure describes why one request failed.
type Failure struct {
	Kind Kind   `json:"kind"`
	Text string `json:"text"`
}

// classify converts an error of a connection to a failure. If the connection ended, the failure is
// of kind end, which depends on the progress of the request.
func classify(err error, end Kind) *Failure {
	kind := end
	var untrusted *tls.CertificateVerificationError
	var timeout net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		kind = Refused
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		kind = Reset
	case errors.As(err, &untrusted):
		kind = Untrusted
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		kind = Timeout
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		if end == Malformed {
			kind = Truncated
		}
	}
	return &Failure{Kind: kind, Text: err.Error()}
}
