package instanceapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"example.com/nginx-operator/internal/boundedjson"
)

// Bounds of the responses of instances, because pods are not trusted. The fields of a response have bounds as well.
const (
	// MaxAnswer is the maximum length of a status, a window and the response to an order, in bytes. The instances of this
	// release stay below it.
	MaxAnswer = 64 << 10
	// MaxOldAnswer is the maximum length in bytes of the status of releases before 0.5, which lists all names of all
	// certificates. The operator reads MaxOldAnswers of them at the same time.
	MaxOldAnswer  = 1 << 20
	MaxOldAnswers = 8
	// MaxDecoding is the number of responses that are decoded at the same time: a decoded response can take about 1 MiB.
	MaxDecoding = 8
	// MaxRefusal is the maximum length of any other response, in bytes.
	MaxRefusal = 1 << 10
	// MaxAnswerHeader is the maximum length of the headers of a response, in bytes.
	MaxAnswerHeader = 16 << 10
)

// AnswerLimits bounds the JSON of a status or a window. Fields of later releases count as well.
var AnswerLimits = boundedjson.Limits{Bytes: MaxOldAnswer, Depth: 16, Items: 2048, Values: 16 << 10, String: 32 << 10}

// ErrNotSupported means that an instance does not know the path: its request metrics are off, or
// its release does not have them.
var ErrNotSupported = errors.New("the instance does not support this request")

// Client is a client of the instances' API.
type Client struct {
	http *http.Client
	// orders waits for what an instance has to do first.
	orders *http.Client
	// old and decoding hold a value for each response that is longer than MaxAnswer, or being decoded.
	old, decoding chan struct{}
}

// NewClient returns a Client whose requests time out after timeout, and orders OrderWait later.
func NewClient(timeout time.Duration) *Client {
	transport := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: timeout}).DialContext,
		MaxIdleConnsPerHost: 1,
		IdleConnTimeout:     5 * time.Second,
		// Instances do not compress, and a pod must not send a little that becomes much.
		DisableCompression:     true,
		MaxResponseHeaderBytes: MaxAnswerHeader,
	}
	// Instances never redirect, and a pod must not redirect the operator.
	noRedirect := func(*http.Request, []*http.Request) error { return errors.New("an instance does not redirect") }
	return &Client{
		http:   &http.Client{Transport: transport, Timeout: timeout, CheckRedirect: noRedirect},
		orders: &http.Client{Transport: transport, Timeout: timeout + OrderWait, CheckRedirect: noRedirect},
		old:    make(chan struct{}, MaxOldAnswers), decoding: make(chan struct{}, MaxDecoding),
	}
}

// Status gets the status of the instance in the pod with the address.
func (c *Client) Status(ctx context.Context, podIP string) (Status, error) {
	return fetch(ctx, c, podIP, PathStatus, DecodeStatus)
}

// Requests gets the requests of the last seconds that workers of a revision have answered, from the
// instance in the pod with the address. An empty revision stands for the served one. The error is
// ErrNotSupported if requests are not measured. Releases that do not distinguish revisions return a
// window without one.
func (c *Client) Requests(ctx context.Context, podIP, revision string, seconds int) (RequestWindow, error) {
	query := url.Values{ParameterSeconds: {strconv.Itoa(seconds)}}
	if revision != "" {
		query.Set(ParameterRevision, revision)
	}
	window, err := fetch(ctx, c, podIP, PathRequests+"?"+query.Encode(), DecodeWindow)
	if err == nil && revision != "" && window.Revision != "" && window.Revision != revision {
		return RequestWindow{}, fmt.Errorf("%s answered for another revision than the requested one", podIP)
	}
	return window, err
}

// fetch gets and decodes a response.
func fetch[T any](ctx context.Context, c *Client, podIP, path string, decode func([]byte) (T, error)) (answer T, err error) {
	address := "http://" + net.JoinHostPort(podIP, strconv.Itoa(Port)) + path
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return answer, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return answer, err
	}
	defer func() { _ = response.Body.Close() }()
	switch response.StatusCode {
	case http.StatusOK:
		return read(ctx, c, response, decode)
	case http.StatusNotFound:
		return answer, fmt.Errorf("%s: %w", address, ErrNotSupported)
	default:
		return answer, fmt.Errorf("%s answered %s", address, response.Status)
	}
}

// Order sends an order to the instance in the pod with the address, and returns its status when it has carried the
// order out, or after OrderWait. The error is a RefusedError if the instance does not accept the order.
func (c *Client) Order(ctx context.Context, podIP string, order SignedOrder) (Status, error) {
	return c.send(ctx, podIP, PathOrders, order)
}

// Purge sends purges to the instance in the pod with the address, and returns its status when it has carried them out.
// The error is a RefusedError if the instance does not accept them.
func (c *Client) Purge(ctx context.Context, podIP string, purges SignedOrder) (Status, error) {
	return c.send(ctx, podIP, PathPurges, purges)
}

func (c *Client) send(ctx context.Context, podIP, path string, order SignedOrder) (Status, error) {
	address := "http://" + net.JoinHostPort(podIP, strconv.Itoa(Port)) + path
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(order.Body))
	if err != nil {
		return Status{}, err
	}
	request.Header.Set(HeaderOrder, order.Order)
	request.Header.Set(HeaderSignature, order.Signature)
	response, err := c.orders.Do(request)
	if err != nil {
		return Status{}, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return Status{}, refusedOrder(address, response)
	}
	return read(ctx, c, response, DecodeStatus)
}

// RefusedError is why an instance did not accept an order.
type RefusedError struct {
	Address string
	Refusal Refusal
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s did not accept the order: %s", e.Address, e.Refusal)
}

func refusedOrder(address string, response *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(response.Body, MaxRefusal))
	if err != nil {
		return fmt.Errorf("%s answered %s: %w", address, response.Status, err)
	}
	refusal := Refusal(bytes.TrimSpace(text))
	if !slices.Contains(Refusals, refusal) {
		return fmt.Errorf("%s answered %s", address, response.Status)
	}
	return &RefusedError{address, refusal}
}

// read reads the body of a response and decodes it.
func read[T any](ctx context.Context, c *Client, response *http.Response, decode func([]byte) (T, error)) (answer T, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.http.Timeout)
	defer cancel()
	body := &answerReader{body: response.Body, left: MaxAnswer, long: func() error { return enter(ctx, c.old) }}
	defer body.release(c.old)
	text, err := AnswerLimits.Read(body)
	if err != nil {
		return answer, fmt.Errorf("%s: %w", response.Request.URL, err)
	}
	if err := enter(ctx, c.decoding); err != nil {
		return answer, err
	}
	defer func() { <-c.decoding }()
	return decode(text)
}

func enter(ctx context.Context, places chan struct{}) error {
	select {
	case places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// answerReader reads the body of a response. Before it reads more than MaxAnswer, it waits for a place among the long ones.
type answerReader struct {
	body io.Reader
	// left is how much of MaxAnswer is left. long waits for the place; nil: the response has it.
	left int
	long func() error
}

// Read implements io.Reader.
func (r *answerReader) Read(p []byte) (int, error) {
	if r.left == 0 && r.long != nil {
		if err := r.long(); err != nil {
			return 0, err
		}
		r.long = nil
	}
	if r.long != nil {
		p = p[:min(len(p), r.left)]
	}
	n, err := r.body.Read(p)
	r.left = max(0, r.left-n)
	return n, err
}

// release gives back the place.
func (r *answerReader) release(places chan struct{}) {
	if r.long == nil {
		<-places
	}
}

// DecodeStatus decodes a status. The error is a boundedjson.LimitError if it exceeds AnswerLimits. Lists and strings are cut to
// the bounds of their fields.
func DecodeStatus(text []byte) (Status, error) {
	var status Status
	if err := AnswerLimits.Unmarshal(text, &status); err != nil {
		return Status{}, fmt.Errorf("read the status: %w", err)
	}
	if status.Protocol < OldestProtocol || status.Protocol > Protocol {
		return Status{}, fmt.Errorf("the instance speaks protocol %d, this operator speaks %s", status.Protocol, spoken(OldestProtocol, Protocol))
	}
	return status, nil
}

// spoken formats a range of protocol versions.
func spoken(oldest, newest int) string {
	if oldest == newest {
		return strconv.Itoa(newest)
	}
	return fmt.Sprintf("%d to %d", oldest, newest)
}

// DecodeWindow reads the answer of PathRequests. It returns an error for counts that no instance can have.
func DecodeWindow(text []byte) (RequestWindow, error) {
	var window RequestWindow
	if err := AnswerLimits.Unmarshal(text, &window); err != nil {
		return RequestWindow{}, fmt.Errorf("read the requests: %w", err)
	}
	if err := window.check(); err != nil {
		return RequestWindow{}, fmt.Errorf("read the requests: %w", err)
	}
	return window, nil
}
