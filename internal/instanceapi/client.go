package instanceapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxStatusBytes bounds what is read from an instance: a pod is not trusted to be
// short.
const maxStatusBytes = 1 << 20

// Client reads the status of instances.
type Client struct {
	http *http.Client
}

// NewClient returns a Client that gives up on an instance after timeout.
func NewClient(timeout time.Duration) *Client {
	transport := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: timeout}).DialContext,
		MaxIdleConnsPerHost: 1,
		IdleConnTimeout:     5 * time.Second,
	}
	return &Client{http: &http.Client{
		Transport: transport,
		Timeout:   timeout,
		// An instance never redirects; a pod must not send the operator elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("an instance does not redirect") },
	}}
}

// Status asks the instance of the pod with the given address.
func (c *Client) Status(ctx context.Context, podIP string) (Status, error) {
	url := "http://" + net.JoinHostPort(podIP, strconv.Itoa(Port)) + PathStatus
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return Status{}, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return Status{}, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return Status{}, fmt.Errorf("%s answered %s", url, response.Status)
	}
	return decode(response.Body)
}

// Load tells the instance of the pod with the given address the word at which it loads
// what it was asked to test.
func (c *Client) Load(ctx context.Context, podIP, word string) error {
	url := "http://" + net.JoinHostPort(podIP, strconv.Itoa(Port)) + PathLoad
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(word))
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusAccepted {
		return fmt.Errorf("%s answered %s", url, response.Status)
	}
	return nil
}

func decode(r io.Reader) (Status, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxStatusBytes+1))
	if err != nil {
		return Status{}, err
	}
	if len(text) > maxStatusBytes {
		return Status{}, fmt.Errorf("the status is longer than %d bytes", maxStatusBytes)
	}
	var status Status
	if err := json.Unmarshal(text, &status); err != nil {
		return Status{}, fmt.Errorf("read the status: %w", err)
	}
	if status.Protocol != Protocol {
		return Status{}, fmt.Errorf("the instance speaks protocol %d, this operator speaks %d", status.Protocol, Protocol)
	}
	return status, nil
}
