//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
)

// request returns a GET request for a path of a Service, through the API server's proxy.
func request(namespace, service, port, path string) *rest.Request {
	return clientset.CoreV1().RESTClient().Get().
		Namespace(namespace).
		Resource("services").
		Name("http:" + service + ":" + port).
		SubResource("proxy").
		Suffix(path)
}

// fetch gets the root page of an application at the port http.
func fetch(ctx context.Context, nginx *v1alpha2.NginxOperator) (string, error) {
	body, err := request(nginx.Namespace, naming.Service(nginx.Name), "http", "/").DoRaw(ctx)
	return string(body), err
}

// waitAnswer waits until the application responds with a text that contains want. Right after a
// rollout, endpoints may still contain the last of the old pods.
func waitAnswer(t *testing.T, nginx *v1alpha2.NginxOperator, want string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s answers %q", nginx.Name, want), func() error {
		body, err := fetch(t.Context(), nginx)
		if err != nil {
			return err
		}
		if !strings.Contains(body, want) {
			return fmt.Errorf("it answers %q", body)
		}
		return nil
	})
}

// traffic is a client that sends requests continuously.
type traffic struct {
	cancel   context.CancelFunc
	done     chan struct{}
	requests int
	failures []string
}

// startTraffic sends requests to an application until stop, and expects responses that contain
// want.
func startTraffic(t *testing.T, nginx *v1alpha2.NginxOperator, want string) *traffic {
	t.Helper()
	waitAnswer(t, nginx, want)
	ctx, cancel := context.WithCancel(t.Context())
	client := &traffic{cancel: cancel, done: make(chan struct{})}
	go client.run(ctx, nginx.DeepCopy(), want)
	return client
}

func (c *traffic) run(ctx context.Context, nginx *v1alpha2.NginxOperator, want string) {
	defer close(c.done)
	for ctx.Err() == nil {
		// Finish a request in progress: a cancelled one would look like a failure.
		body, err := fetch(context.WithoutCancel(ctx), nginx)
		c.requests++
		if err != nil {
			c.failures = append(c.failures, fmt.Sprintf("%s: %v", time.Now().Format(time.TimeOnly), err))
		} else if !strings.Contains(body, want) {
			c.failures = append(c.failures, fmt.Sprintf("%s: %q", time.Now().Format(time.TimeOnly), body))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// stop fails the test if a single request has failed.
func (c *traffic) stop(t *testing.T) {
	t.Helper()
	c.cancel()
	<-c.done
	if len(c.failures) > 0 {
		t.Errorf("%d of %d requests failed, the first: %s", len(c.failures), c.requests, c.failures[0])
	}
}
