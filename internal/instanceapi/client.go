package instanceapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// maxAnswerBytes bounds what is read from an instance, because pods are not trusted.
const maxAnswerBytes = 1 << 20

// ErrNotSupported means that an instance does not know the path: its request metrics are off, or
// its release does not have them.
var ErrNotSupported = errors.New("the instance does not support this request")

// Client is a client of the instances' API.
type Client struct {
	http *http.Client
	// orders waits for what an instance has to do first.
	orders *http.Client
}

// NewClient returns a Client whose requests time out after timeout, and orders OrderWait later.
func NewClient(timeout time.Duration) *Client {
	transport := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: timeout}).DialContext,
		MaxIdleConnsPerHost: 1,
		IdleConnTimeout:     5 * time.Second,
	}
	// Instances never redirect, and a pod must not redirect the operator.
	noRedirect := func(*http.Request, []*http.Request) error { return errors.New("an instance does not redirect") }
	return &Client{
		http:   &http.Client{Transport: transport, Timeout: timeout, CheckRedirect: noRedirect},
		orders: &http.Client{Transport: transport, Timeout: timeout + OrderWait, CheckRedirect: noRedirect},
	}
}

// Status gets the status of the instance in the pod with the address.
func (c *Client) Status(ctx context.Context, podIP string) (Status, error) {
	text, err := c.get(ctx, podIP, PathStatus)
	if err != nil {
		return Status{}, err
	}
	return decode(text)
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
	text, err := c.get(ctx, podIP, PathRequests+"?"+query.Encode())
	if err != nil {
		return RequestWindow{}, err
	}
	window, err := DecodeWindow(text)
	if err == nil && revision != "" && window.Revision != "" && window.Revision != revision {
		return RequestWindow{}, fmt.Errorf("%s answered for another revision than the requested one", podIP)
	}
	return window, err
}

// get returns the body of a response.
func (c *Client) get(ctx context.Context, podIP, path string) ([]byte, error) {
	address := "http://" + net.JoinHostPort(podIP, strconv.Itoa(Port)) + path
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return nil, fmt.Errorf("%s: %w", address, ErrNotSupported)
	default:
		return nil, fmt.Errorf("%s answered %s", address, response.Status)
	}
	return readAnswer(response)
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
	text, err := readAnswer(response)
	if err != nil {
		return Status{}, err
	}
	if response.StatusCode != http.StatusOK {
		return Status{}, refusedOrder(address, response, text)
	}
	return decode(text)
}

// RefusedError is why an instance did not accept an order.
type RefusedError struct {
	Address string
	Refusal Refusal
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s did not accept the order: %s", e.Address, e.Refusal)
}

func refusedOrder(address string, response *http.Response, text []byte) error {
	refusal := Refusal(bytes.TrimSpace(text))
	if !slices.Contains(Refusals, refusal) {
		return fmt.Errorf("%s answered %s", address, response.Status)
	}
	return &RefusedError{address, refusal}
}

// readAnswer returns the bounded body of a response.
func readAnswer(response *http.Response) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxAnswerBytes {
		return nil, fmt.Errorf("the answer of %s is longer than %d bytes", response.Request.URL, maxAnswerBytes)
	}
	return text, nil
}

func decode(text []byte) (Status, error) {
	var status Status
	if err := json.Unmarshal(text, &status); err != nil {
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
	if err := json.Unmarshal(text, &window); err != nil {
		return RequestWindow{}, fmt.Errorf("read the requests: %w", err)
	}
	if err := window.check(); err != nil {
		return RequestWindow{}, fmt.Errorf("read the requests: %w", err)
	}
	return window, nil
}
