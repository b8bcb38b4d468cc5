package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/internal/nginx/naming"
)

const (
	// pace is the interval between a client's requests to a ready pod.
	pace = 25 * time.Millisecond
	// forgetting is how long clients still send requests to a terminating pod, because endpoints
	// are updated a little later. It is much shorter than every drain.
	forgetting = 700 * time.Millisecond
	// answerTimeout bounds the wait for a response. It does not measure speed: on a busy machine,
	// every response may take seconds.
	answerTimeout = 30 * time.Second
)

// traffic records the requests of clients.
type traffic struct {
	mu       sync.Mutex
	requests int
	lost     []error
}

func (t *traffic) note(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requests++
	if err != nil {
		t.lost = append(t.lost, err)
	}
}

// Traffic returns how many requests the clients of a namespace have sent, and an error that
// describes the lost ones. A pod receives requests while it is ready and for a short time after
// that. Requests lost because of Strike are not counted.
func (n *Node) Traffic(namespace string) (requests int, lost error) {
	n.mu.Lock()
	t := &n.space(namespace).traffic
	n.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lost) > 0 {
		lost = fmt.Errorf("%d of %d requests were lost: %w", len(t.lost), t.requests, errors.Join(t.lost[:min(len(t.lost), 3)]...))
	}
	return t.requests, lost
}

// Answers returns the responses of the ready pods of a namespace.
func (n *Node) Answers(ctx context.Context, namespace string) ([]string, error) {
	var all []string
	for _, p := range n.pods(namespace) {
		if !p.isReady() {
			continue
		}
		seen, err := p.refresh(ctx)
		if seen == nil || err != nil {
			return nil, err
		}
		answer, err := get(ctx, p.statusClient(), p.url(seen))
		if err != nil {
			return nil, fmt.Errorf("pod %s: %w", p.key, err)
		}
		all = append(all, answer)
	}
	slices.Sort(all)
	return all, nil
}

// statusClient returns a client that does not retry.
func (p *pod) statusClient() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: p.dial, DisableKeepAlives: true}, Timeout: answerTimeout}
}

// url returns the URL of the first declared port.
func (p *pod) url(seen *corev1.Pod) string {
	for _, c := range seen.Spec.Containers {
		for _, port := range c.Ports {
			if c.Name == naming.NginxContainer && port.Name != "metrics" && port.Protocol != corev1.ProtocolUDP {
				return "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port.ContainerPort))) + "/"
			}
		}
	}
	return ""
}

// sendRequests sends requests for as long as clients would.
func (p *pod) sendRequests(ctx context.Context, seen *corev1.Pod) {
	client, url := p.statusClient(), p.url(seen)
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for url != "" {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if !p.used() {
			continue
		}
		_, err := get(ctx, client, url)
		if ctx.Err() != nil || err != nil && !p.used() {
			continue
		}
		if err != nil {
			err = fmt.Errorf("%s pod %s: %w", time.Now().Format("15:04:05.000"), p.key.Name, err)
		}
		p.space.traffic.note(err)
	}
}

// used reports whether clients send requests to the pod and may rely on a response.
func (p *pod) used() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ready && !p.struck && (p.terminating.IsZero() || time.Since(p.terminating) < forgetting)
}

// get sends one request.
func get(ctx context.Context, client *http.Client, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	answer, err := client.Do(request)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return "", err
	}
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", answer.Status, text)
	}
	return strings.TrimSpace(string(text)), nil
}
