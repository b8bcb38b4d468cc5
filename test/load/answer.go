package load

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// answer has the information from a response, even one that fails.
type answer struct {
	revision string
	// closing reports whether the server closes the connection after this response.
	closing bool
}

// expectation is what a response must be.
type expectation struct {
	status int
	header string
	// If checked is false, any body is accepted. Otherwise the body must be before, the revision if
	// marked is set, and after.
	checked, marked bool
	before, after   string
}

func newExpectation(kind Clients, header string, length int, sum uint32) expectation {
	body := strings.NewReplacer(
		"{method}", kind.Method,
		"{length}", strconv.Itoa(length),
		"{sum}", strconv.FormatUint(uint64(sum), 16),
	).Replace(kind.Expect)
	e := expectation{status: kind.Status, header: header, checked: body != ""}
	e.before, e.after, e.marked = strings.Cut(body, "{revision}")
	return e
}

// read reads a complete response and checks it.
func (e expectation) read(r *bufio.Reader, request *http.Request) (answer, *Failure) {
	var a answer
	response, err := http.ReadResponse(r, request)
	if err != nil {
		return a, classify(err, Malformed)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	_ = response.Body.Close()
	if err != nil {
		return a, classify(err, Malformed)
	}
	a.closing = response.Close
	if response.StatusCode != e.status {
		return a, &Failure{WrongStatus, fmt.Sprintf("%s: %s", response.Status, excerpt(body))}
	}
	inBody, ok := e.match(string(body))
	if !ok {
		return a, &Failure{WrongBody, excerpt(body)}
	}
	inHeader := ""
	if e.header != "" {
		inHeader = response.Header.Get(e.header)
		if inHeader == "" {
			return a, &Failure{WrongBody, "the answer has no header " + e.header}
		}
	}
	// Two revisions in one response come from a mix of configurations.
	if inHeader != "" && e.marked && inHeader != inBody {
		return a, &Failure{WrongBody, fmt.Sprintf("the header has revision %s, but the body %s", inHeader, inBody)}
	}
	a.revision = inBody
	if inHeader != "" {
		a.revision = inHeader
	}
	return a, nil
}

// match compares a body with the expected one and returns its revision.
func (e expectation) match(body string) (revision string, ok bool) {
	if !e.checked {
		return "", true
	}
	if !e.marked {
		return "", body == e.before
	}
	if len(body) <= len(e.before)+len(e.after) || !strings.HasPrefix(body, e.before) || !strings.HasSuffix(body, e.after) {
		return "", false
	}
	revision = body[len(e.before) : len(body)-len(e.after)]
	return revision, len(revision) <= maxRevision && !strings.ContainsAny(revision, " \r\n")
}

const maxExcerpt = 200

func excerpt(body []byte) string {
	if len(body) > maxExcerpt {
		body = body[:maxExcerpt]
	}
	return strconv.Quote(string(body))
}
