// Package pods sends requests to the instance managers in pods through the API server, with the rights of the user.
package pods

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
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/instanceapi"
)

const (
	// MaxAnswer is the maximum length of any response of a pod in bytes, because pods are not trusted. The longest are the
	// metrics, and a configuration in base64.
	MaxAnswer = instanceapi.MaxConfigAnswer
	// timeout bounds a request for what a pod has at hand.
	timeout = 10 * time.Second
	// busyPause is how long to wait before a pod that is busy is asked again.
	busyPause = time.Second
)

// ErrTooOld means that a pod is of a release that does not know a request.
var ErrTooOld = errors.New("the pod is of an older release of the operator, and gets the new one with its next rollout")

// Client sends requests to pods.
type Client struct {
	config *rest.Config
	rest   rest.Interface
}

// New returns a Client with the rights of config.
func New(config *rest.Config) (*Client, error) {
	config = rest.CopyConfig(config)
	// The number of requests at the same time is bounded where they are sent.
	config.QPS = -1
	config.GroupVersion, config.APIPath = &corev1.SchemeGroupVersion, "/api"
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	connected, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, err
	}
	return &Client{config: config, rest: connected}, nil
}

// Get requests a path of the instance in a pod by the pod proxy of the API server. It needs the right to get pods/proxy. The
// error says so if it is missing.
func (c *Client) Get(ctx context.Context, pod client.ObjectKey, path string, query map[string]string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request := c.rest.Get().Resource("pods").Namespace(pod.Namespace).Name(net.JoinHostPort(pod.Name, strconv.Itoa(instanceapi.Port))).
		SubResource("proxy").Suffix(path)
	for name, value := range query {
		request = request.Param(name, value)
	}
	body, err := request.Stream(ctx)
	if err != nil {
		return nil, explain(pod, err)
	}
	defer func() { _ = body.Close() }()
	return readAll(pod, body)
}

// ServedConfig returns the configuration that a pod serves. It needs the right to create pods/portforward.
func (c *Client) ServedConfig(ctx context.Context, pod client.ObjectKey) (served instanceapi.ServedConfig, err error) {
	return served, c.forward(ctx, pod, http.MethodGet, instanceapi.PathConfig, nil, &served)
}

// TestConfig has a pod test a configuration. It needs the right to create pods/portforward. The error is a RefusedError if
// the files cannot be a configuration.
func (c *Client) TestConfig(ctx context.Context, pod client.ObjectKey, files instanceapi.ConfigFiles) (tested instanceapi.ConfigTest, err error) {
	body, err := json.Marshal(files)
	if err != nil {
		return tested, err
	}
	return tested, c.forward(ctx, pod, http.MethodPost, instanceapi.PathConfigTest, body, &tested)
}

// RefusedError is why an instance refuses what it is sent.
type RefusedError struct{ Message string }

// Error implements error.
func (e *RefusedError) Error() string { return e.Message }

// forward sends a request through a forwarded port until the pod is not busy, and decodes the answer.
func (c *Client) forward(ctx context.Context, pod client.ObjectKey, method, path string, body []byte, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, instanceapi.ConfigTestWait)
	defer cancel()
	transport := newTransport(func(ctx context.Context) (net.Conn, error) { return c.dial(ctx, pod) })
	defer transport.CloseIdleConnections()
	forwarded := &http.Client{Transport: transport}
	for {
		text, code, err := send(ctx, forwarded, pod, method, path, body)
		switch {
		case err != nil:
			return explain(pod, err)
		case code == http.StatusOK:
			return instanceapi.ConfigAnswerLimits.Unmarshal(text, answer)
		case code == http.StatusNotFound:
			return fmt.Errorf("pod %s: %w", pod.Name, ErrTooOld)
		case code == http.StatusUnprocessableEntity:
			return &RefusedError{strings.TrimSpace(string(text))}
		case code != http.StatusServiceUnavailable && code != http.StatusTooManyRequests:
			return fmt.Errorf("pod %s answers %d: %s", pod.Name, code, strings.TrimSpace(string(text)))
		}
		select {
		case <-time.After(busyPause):
		case <-ctx.Done():
			return fmt.Errorf("pod %s: %s", pod.Name, strings.TrimSpace(string(text)))
		}
	}
}

// newTransport returns a transport for a pod. A pod must not send megabytes of headers, or a little that becomes much.
func newTransport(dial func(context.Context) (net.Conn, error)) *http.Transport {
	return &http.Transport{
		DialContext:            func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		MaxResponseHeaderBytes: instanceapi.MaxAnswerHeader, DisableCompression: true,
	}
}

func send(ctx context.Context, forwarded *http.Client, pod client.ObjectKey, method, path string, body []byte) (text []byte, code int, err error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+net.JoinHostPort("localhost", strconv.Itoa(instanceapi.Port))+path, bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	response, err := forwarded.Do(request)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err = readAll(pod, response.Body)
	return text, response.StatusCode, err
}

func readAll(pod client.ObjectKey, body io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(body, MaxAnswer+1))
	if err == nil && len(text) > MaxAnswer {
		err = fmt.Errorf("pod %s answers with more than %d bytes", pod.Name, MaxAnswer)
	}
	return text, err
}

// explain says what a user can do about an error.
func explain(pod client.ObjectKey, err error) error {
	if request := (&url.Error{}); errors.As(err, &request) {
		// Its address is the same for all pods.
		err = request.Err
	}
	switch {
	case apierrors.IsForbidden(err):
		return err
	case apierrors.IsServiceUnavailable(err), apierrors.IsInternalError(err):
		return fmt.Errorf("the API server does not reach pod %s: %w", pod.Name, err)
	}
	return fmt.Errorf("pod %s: %w", pod.Name, err)
}
