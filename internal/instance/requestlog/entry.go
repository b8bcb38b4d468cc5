package requestlog

import (
	"bytes"
	"errors"
)

// Entry is a request from nginx's log.
type Entry struct {
	// Status is the status code of the response.
	Status int
	// Method and Server are as nginx logs them. They are slices of the line, so they are only valid
	// until the next one is read.
	Method, Server []byte
	// Seconds is the duration of the request, from the first byte read to the last one sent.
	Seconds float64
	// Sent and Received are in bytes.
	Sent, Received float64
	// UpstreamSeconds is the time that the upstream servers took, in all attempts together.
	UpstreamSeconds float64
	// Upstream reports whether an upstream server was used.
	Upstream bool
	// Inner reports whether the client is in the pod, such as nginx itself.
	Inner bool
	// Revision is the configuration of the worker that answered. It is a slice of the line, too.
	Revision []byte
	// Cache is what a cache says of the request.
	Cache cacheEntry
}

// fields is the number of fields in a line: status, method, seconds, sent, received, server name,
// upstream seconds, address of the client, revision. A cache adds another one.
const fields = 9

var (
	errFields = errors.New("the line has the wrong number of fields")
	errNumber = errors.New("a numeric field of the line is not a number")
)

// parseWithCache parses a line without its line break into e, which may have the field of a cache. It does not allocate.
func parseWithCache(line []byte, e *Entry) error {
	if bytes.Count(line, []byte{'\t'}) != fields {
		return parse(line, e)
	}
	last := bytes.LastIndexByte(line, '\t')
	if err := parse(line[:last], e); err != nil {
		return err
	}
	return parseCache(line[last+1:], &e.Cache)
}

// parse parses a line without its line break into e. It does not allocate.
func parse(line []byte, e *Entry) error {
	message := line
	var field [fields][]byte
	for i := range field {
		last := i == fields-1
		value, rest, found := bytes.Cut(message, []byte{'\t'})
		if found == last {
			return errFields
		}
		field[i], message = value, rest
	}
	status, ok1 := integer(field[0])
	seconds, ok2 := decimal(field[2])
	sent, ok3 := decimal(field[3])
	received, ok4 := decimal(field[4])
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return errNumber
	}
	*e = Entry{Status: status, Method: field[1], Server: field[5], Seconds: seconds, Sent: sent, Received: received, Inner: inner(field[7]), Revision: field[8]}
	e.UpstreamSeconds, e.Upstream = upstream(field[6])
	return nil
}

// inner reports whether an address is a loopback address or a Unix socket, which only the containers of a pod share.
func inner(address []byte) bool {
	return bytes.HasPrefix(address, []byte("127.")) || string(address) == "::1" || string(address) == "unix:"
}

// upstream sums up the times of all attempts, as in "0.010, 0.020 : 0.5". "-" stands for an attempt
// that was not made.
func upstream(text []byte) (seconds float64, any bool) {
	for len(text) > 0 {
		end := bytes.IndexAny(text, ",: ")
		part := text
		if end < 0 {
			text = nil
		} else {
			part, text = text[:end], text[end+1:]
		}
		if value, ok := decimal(part); ok {
			seconds, any = seconds+value, true
		}
	}
	return seconds, any
}

func integer(text []byte) (int, bool) {
	n := 0
	for _, c := range text {
		if c < '0' || c > '9' || n > 1<<40 {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, len(text) > 0
}

// decimal parses a number such as 12.345. nginx writes neither signs nor exponents.
func decimal(text []byte) (float64, bool) {
	whole, fraction, dotted := bytes.Cut(text, []byte{'.'})
	n, ok := integer(whole)
	if !ok {
		return 0, false
	}
	value := float64(n)
	if !dotted {
		return value, true
	}
	parts, ok := integer(fraction)
	if !ok {
		return 0, false
	}
	scale := 1.0
	for range fraction {
		scale *= 10
	}
	return value + float64(parts)/scale, true
}
