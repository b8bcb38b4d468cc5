package httpserver

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"strconv"

	"example.com/nginx-operator/internal/boundedjson"
)

// BodyLimits bound the requests with a body.
type BodyLimits struct {
	// JSON bounds one body.
	JSON boundedjson.Limits
	// Buffered bounds the bytes of all bodies and answers in memory together. Beyond it, the largest client loses a
	// request.
	Buffered int64
	// Answer bounds one answer, in bytes.
	Answer int
	// Handled bounds the memory that the bodies which are handled at a time may take, in bytes: their own, and ValueMemory for
	// each of their values. A body that may take more is handled alone.
	Handled int64
	// ValueMemory is the most memory, in bytes, that next uses for an item or a field of a body, or of JSON in its strings.
	ValueMemory int64
	// Requests bounds the requests. Beyond it, the largest client loses one.
	Requests int
}

// pieceSize is the size of the pieces, in bytes, in which bodies are buffered: memory is used for what was received, and
// not for what was announced.
const pieceSize = 32 << 10

// Bodies returns a handler that reads a whole body before it calls next, and has the whole answer before it sends it. So a
// slow client delays nobody, and as few bodies as BodyLimits allow are decoded at a time, those of clients that had less
// before those of clients that had more.
func Bodies(next http.Handler, l BodyLimits) http.Handler {
	return newShares(l).bodies(next)
}

func (s *shares) bodies(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		claim := s.enter(Peer(r), http.NewResponseController(w))
		defer claim.leave()
		body, err := claim.read(r, w, s.limits.JSON)
		if err == nil {
			err = claim.wait(r.Context(), body.length+s.limits.ValueMemory*body.values)
		}
		if err != nil {
			refuse(w, err)
			return
		}
		r.Body, r.ContentLength = body, body.length
		answer := &answer{header: w.Header(), code: http.StatusOK, limit: s.limits.Answer}
		next.ServeHTTP(answer, r)
		body.pieces = nil
		claim.handled(int64(answer.body.Len()))
		if answer.exceeded {
			http.Error(w, errLargeAnswer.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(answer.body.Len()))
		w.WriteHeader(answer.code)
		_, _ = w.Write(answer.body.Bytes()) // An error means that the client has left, or was made to.
	})
}

// refuse answers a request whose body was not accepted.
func refuse(w http.ResponseWriter, err error) {
	code := http.StatusBadRequest
	var tooLong *http.MaxBytesError
	var tooLarge *boundedjson.LimitError
	switch {
	case errors.As(err, &tooLong), errors.As(err, &tooLarge):
		code = http.StatusRequestEntityTooLarge
	case errors.Is(err, errCrowded):
		w.Header().Set("Retry-After", "1")
		code = http.StatusServiceUnavailable
	}
	// The rest of the body is not read.
	w.Header().Set("Connection", "close")
	http.Error(w, err.Error(), code)
}

// read buffers the body of a request within its bounds. Each piece is charged before the client fills it.
func (c *claim) read(r *http.Request, w http.ResponseWriter, l boundedjson.Limits) (*buffered, error) {
	if r.ContentLength > int64(l.Bytes) {
		return nil, &boundedjson.LimitError{What: "bytes", Limit: l.Bytes}
	}
	in, body := l.Reader(http.MaxBytesReader(w, r.Body, int64(l.Bytes))), &buffered{}
	for body.length != r.ContentLength {
		size := int64(pieceSize)
		if r.ContentLength > 0 {
			size = min(size, r.ContentLength-body.length)
		}
		if err := c.charge(size); err != nil {
			return nil, err
		}
		piece := make([]byte, size)
		n, err := io.ReadFull(in, piece)
		body.pieces, body.length, body.values = append(body.pieces, piece[:n]), body.length+int64(n), int64(in.Values()+in.Embedded())
		switch {
		case err == nil:
		case c.isEvicted():
			return nil, errCrowded
		case r.ContentLength < 0 && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)):
			return body, nil
		default:
			return nil, err
		}
	}
	return body, nil
}

// buffered is a body in memory.
type buffered struct {
	pieces [][]byte
	// length and values are its bytes, and its items and fields, including those of JSON in its strings.
	length, values int64
}

// Read implements io.Reader. It frees the pieces that were read.
func (b *buffered) Read(p []byte) (int, error) {
	if len(b.pieces) == 0 {
		return 0, io.EOF
	}
	n := copy(p, b.pieces[0])
	if b.pieces[0] = b.pieces[0][n:]; len(b.pieces[0]) == 0 {
		b.pieces[0], b.pieces = nil, b.pieces[1:]
	}
	return n, nil
}

// Close implements io.Closer.
func (*buffered) Close() error { return nil }

// answer is a response in memory.
type answer struct {
	header http.Header
	code   int
	body   bytes.Buffer
	// limit bounds the body, in bytes; exceeded reports that it did not fit.
	limit    int
	exceeded bool
}

var errLargeAnswer = errors.New("the answer is too large")

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(code int) { a.code = code }

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	if a.exceeded || a.body.Len()+len(p) > a.limit {
		a.exceeded, a.body = true, bytes.Buffer{}
		return 0, errLargeAnswer
	}
	return a.body.Write(p)
}

// Peer returns the address of the client, without its port.
func Peer(r *http.Request) netip.Addr {
	address, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return address.Addr().Unmap()
}
