package pages

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
)

const (
	// Most is the number of objects in a page of small objects.
	Most = 500
	// fewest is the number of objects in a page whose bytes have no bound of ours. An object has 1.5 MiB, and can take 25 times as
	// much when it is decoded: an empty rule of a NetworkPolicy has two bytes.
	fewest = 1
	// maxBytes bounds the response with a page of more objects than fewest.
	maxBytes = 4 << 20
	// usualBytes is the size to expect of the next page. It leaves room for larger objects.
	usualBytes = maxBytes / 2
)

// Size is the number of objects to request in the next page of a list.
//
// The size of the previous page is only an estimate: whoever creates the objects also chooses their names, and so can place
// large ones after small ones. The transport therefore aborts a response that is too large.
type Size struct{ fewest, most, next int64 }

// NewSize returns the size of the first page: the largest one, so that most lists take a single request.
func NewSize(most int64) *Size { return &Size{min(fewest, most), most, most} }

// Read calls read to request up to limit objects. If the response is too large, it calls read again with a smaller limit.
// read returns the number of objects that it received.
func (s *Size) Read(ctx context.Context, read func(ctx context.Context, limit int64) (int, error)) error {
	for {
		page := &response{maxBytes: maxBytes}
		if s.next == s.fewest {
			page.maxBytes = math.MaxInt64
		}
		n, err := read(context.WithValue(ctx, responseKey{}, page), s.next)
		if page.tooLarge {
			s.next = max(s.next/4, s.fewest)
			continue
		}
		if err == nil {
			s.next = s.after(int64(n), page.bytes)
		}
		return err
	}
}

// after returns the size of the page that follows one of n objects. If the transport did not measure that page, it cannot abort
// the next one either, so the next one is small. Pages grow gradually: behind a few small objects, there may be more large ones.
func (s *Size) after(n, bytes int64) int64 {
	if bytes == 0 {
		return s.fewest
	}
	return min(max(n*usualBytes/bytes, s.fewest), s.most, 4*s.next)
}

// response is the response with a page.
type response struct {
	bytes, maxBytes int64
	tooLarge        bool
}

// responseKey is the key of a *response in the context of its request.
type responseKey struct{}

var errTooLarge = errors.New("the page is too large: a smaller one is requested")

// NewTransport returns a transport that measures the responses to Size.Read, and aborts those that are too large.
func NewTransport(next http.RoundTripper) http.RoundTripper { return transport{next} }

type transport struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.next.RoundTrip(r)
	if page, ok := r.Context().Value(responseKey{}).(*response); ok && err == nil {
		page.bytes, page.tooLarge = 0, false
		answer.Body = &measuredBody{answer.Body, page}
	}
	return answer, err
}

// measuredBody is the body of a response, decompressed.
type measuredBody struct {
	io.ReadCloser
	response *response
}

// Read implements io.Reader.
func (b *measuredBody) Read(into []byte) (int, error) {
	if rest := b.response.maxBytes - b.response.bytes; rest < int64(len(into)) {
		into = into[:rest+1]
	}
	n, err := b.ReadCloser.Read(into)
	if b.response.bytes += int64(n); b.response.bytes > b.response.maxBytes {
		b.response.tooLarge = true
		return n, errTooLarge
	}
	return n, err
}
