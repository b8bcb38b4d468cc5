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

	"example.com/nginx-operator/internal/naming"
)

const (
	// pace is how often a client asks a pod that is ready.
	pace = 25 * time.Millisecond
	// forgetting is for how long clients come to a pod that is about to end: endpoints forget it
	// a little later. It is well within every drain.
	forgetting = 700 * time.Millisecond
	// answerTimeout is how long an answer may take. It is no measure of speed: a busy machine may
	// let everybody wait for seconds.
	answerTimeout = 30 * time.Second
)

// traffic is what clients have seen.
type traffic struct {
	mu    sync.Mutex
	asked int
	lost  []error
}

func (t *traffic) note(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked++
	if err != nil {
		t.lost = append(t.lost, err)
	}
}

// Traffic tells how often the clients of a namespace have asked, and what became of those requests
// that were lost. A pod is asked while it is ready, and a little longer; what is lost while somebody
// has struck it is not counted.
func (n *Node) Traffic(namespace string) (asked int, lost error) {
	n.mu.Lock()
	t := &n.space(namespace).traffic
	n.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lost) > 0 {
		lost = fmt.Errorf("%d of %d requests were lost: %w", len(t.lost), t.asked, errors.Join(t.lost[:min(len(t.lost), 3)]...))
	}
	return t.asked, lost
}

// Answers are what the pods of a namespace answer that are ready.
func (n *Node) Answers(ctx context.Context, namespace string) ([]string, error) {
	var all []string
	for _, p := range n.pods(namespace) {
		if !p.isReady() {
			continue
		}
		seen, err := p.look(ctx)
		if seen == nil || err != nil {
			return nil, err
		}
		answer, err := get(ctx, p.asker(), p.url(seen))
		if err != nil {
			return nil, fmt.Errorf("pod %s: %w", p.key, err)
		}
		all = append(all, answer)
	}
	slices.Sort(all)
	return all, nil
}

// asker is a client that does not try again.
func (p *pod) asker() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: p.dial, DisableKeepAlives: true}, Timeout: answerTimeout}
}

// url is that of the first port that is declared.
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

// ask asks all the while that clients would.
func (p *pod) ask(ctx context.Context, seen *corev1.Pod) {
	asker, url := p.asker(), p.url(seen)
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
		_, err := get(ctx, asker, url)
		if ctx.Err() != nil || err != nil && !p.used() {
			continue
		}
		if err != nil {
			err = fmt.Errorf("%s pod %s: %w", time.Now().Format("15:04:05.000"), p.key.Name, err)
		}
		p.space.traffic.note(err)
	}
}

// used tells whether clients come, who may count on an answer.
func (p *pod) used() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ready && !p.struck && (p.leaving.IsZero() || time.Since(p.leaving) < forgetting)
}

// get asks once.
func get(ctx context.Context, asker *http.Client, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	answer, err := asker.Do(request)
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
