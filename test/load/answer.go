package load

import (
	"bufio"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// answer has the information from a response, even one that fails.
type answer struct {
	revision string
	cached   cached
	// closing reports whether the server closes the connection after this response.
	closing bool
}

// expectation is what a response must be.
type expectation struct {
	status int
	header string
	// sum is that of the body, in hexadecimal digits. Empty: any.
	sum string
	// If checked is false, any body is accepted. Otherwise the body must be before, the revision if
	// marked is set, and after.
	checked, marked bool
	before, after   text
}

func newExpectation(kind Clients, header string, length int, sum uint32) expectation {
	body := strings.NewReplacer(
		"{method}", kind.Method,
		"{length}", strconv.Itoa(length),
		"{sum}", strconv.FormatUint(uint64(sum), 16),
	).Replace(kind.Expect)
	e := expectation{status: kind.Status, header: header, sum: kind.ExpectSum, checked: body != ""}
	before, after, marked := strings.Cut(body, "{revision}")
	e.before, e.after, e.marked = strings.Split(before, placeholder), strings.Split(after, placeholder), marked
	return e
}

// read reads a complete response and checks whether it is that for an object.
func (e expectation) read(r *bufio.Reader, request *http.Request, object int) (answer, *Failure) {
	var a answer
	response, err := http.ReadResponse(r, request)
	if err != nil {
		return a, classify(err, Malformed)
	}
	body, sum, err := e.readBody(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return a, classify(err, Malformed)
	}
	a.closing, a.cached = response.Close, parseCacheStatus(response.Header)
	if response.StatusCode != e.status {
		return a, &Failure{WrongStatus, fmt.Sprintf("%s: %s", response.Status, excerpt(body))}
	}
	if sum != e.sum {
		return a, &Failure{WrongBody, "the sum of the body is " + sum}
	}
	inBody, ok := e.match(string(body), object)
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

// readBody returns a body. Of one whose sum is expected, which may be large, it returns the beginning and the sum.
func (e expectation) readBody(r io.Reader) (body []byte, sum string, err error) {
	if e.sum == "" {
		body, err = io.ReadAll(io.LimitReader(r, maxBody+1))
		return body, "", err
	}
	crc := crc32.NewIEEE()
	r = io.TeeReader(r, crc)
	if body, err = io.ReadAll(io.LimitReader(r, maxExcerpt)); err != nil {
		return body, "", err
	}
	_, err = io.Copy(io.Discard, r)
	return body, strconv.FormatUint(uint64(crc.Sum32()), 16), err
}

// match compares a body with the one expected for an object and returns its revision.
func (e expectation) match(body string, object int) (revision string, ok bool) {
	if !e.checked {
		return "", true
	}
	before := string(e.before.append(nil, object))
	if !e.marked {
		return "", body == before
	}
	after := string(e.after.append(nil, object))
	if len(body) <= len(before)+len(after) || !strings.HasPrefix(body, before) || !strings.HasSuffix(body, after) {
		return "", false
	}
	revision = body[len(before) : len(body)-len(after)]
	return revision, len(revision) <= maxRevision && !strings.ContainsAny(revision, " \r\n")
}

const maxExcerpt = 200

func excerpt(body []byte) string {
	if len(body) > maxExcerpt {
		body = body[:maxExcerpt]
	}
	return strconv.Quote(string(body))
}
