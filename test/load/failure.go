package load

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// Kind is a way in which a request can fail.
type Kind string

// The kinds of failures.
const (
	// Refused: nobody listens.
	Refused Kind = "connection refused"
	// Connect: the connection could not be made for another reason.
	Connect Kind = "no connection"
	// Handshake: TLS could not be agreed upon.
	Handshake Kind = "TLS handshake"
	// Untrusted: the certificate is not one that the CA has signed for this name.
	Untrusted Kind = "certificate not trusted"
	// Reset: the connection was reset.
	Reset Kind = "connection reset"
	// EOF: the connection was closed before the answer began. Of a request in a
	// connection that is used again, it means that the server had closed it while it was idle.
	EOF Kind = "closed before the answer"
	// Truncated: the connection was closed in the middle of the answer.
	Truncated Kind = "closed in the answer"
	// Malformed: the answer is not HTTP.
	Malformed Kind = "not HTTP"
	// WrongStatus, WrongBody: the answer is not the one expected.
	WrongStatus Kind = "wrong status"
	WrongBody   Kind = "wrong body"
	// UnknownRevision: the answer is of a revision that nobody had submitted.
	UnknownRevision Kind = "unknown revision"
	// Timeout: there was no complete answer in time.
	Timeout Kind = "timeout"
)

// Failure is why one request failed.
type Failure struct {
	Kind Kind   `json:"kind"`
	Text string `json:"text"`
}

// classify tells what an error of a connection means. An end of the connection is of
// the given kind, which depends on how far the request had come.
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
