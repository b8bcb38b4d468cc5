package node

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"example.com/nginx-operator/internal/naming"
	"example.com/nginx-operator/test/standin/container"
)

// probePeriod is how often it is asked whether a container is ready: more often than the pod asks
// for, since nobody learns anything by waiting.
const probePeriod = 200 * time.Millisecond

// probe asks whether the container is ready, as its pod says it is to be asked, and tells of it.
func (p *pod) probe(ctx context.Context, c *container.Container, s *status) error {
	seen, err := p.look(ctx)
	if seen == nil || err != nil {
		return err
	}
	probe, url := readiness(seen)
	if probe == nil {
		return nil
	}
	asker := &http.Client{
		Transport: &http.Transport{DialContext: c.Dial, DisableKeepAlives: true},
		Timeout:   time.Duration(max(probe.TimeoutSeconds, 1)) * time.Second,
	}
	ticker := time.NewTicker(probePeriod)
	defer ticker.Stop()
	for failures := int32(0); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		ok := answers(ctx, asker, url)
		if failures++; ok {
			failures = 0
		}
		if ctx.Err() == nil && (ok || failures >= max(probe.FailureThreshold, 1)) {
			if err := p.becomes(ctx, s, ok); err != nil {
				return err
			}
		}
	}
}

// becomes tells that the pod is ready, or is not any more.
func (p *pod) becomes(ctx context.Context, s *status, ready bool) error {
	if ready == s.nginx().Ready {
		return nil
	}
	s.setReady(ready)
	if !ready {
		// Nobody is told that it is before it was told.
		p.setReady(false)
	}
	if err := p.tell(ctx, s); err != nil {
		return err
	}
	p.setReady(ready)
	return nil
}

func (p *pod) setReady(ready bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ready = ready
	p.struck = p.struck && !ready
}

// readiness is the probe of nginx, and what it asks for; nil: there is none.
func readiness(pod *corev1.Pod) (*corev1.Probe, string) {
	for _, c := range pod.Spec.Containers {
		if c.Name != naming.NginxContainer || c.ReadinessProbe == nil || c.ReadinessProbe.HTTPGet == nil {
			continue
		}
		get := c.ReadinessProbe.HTTPGet
		port := get.Port.IntValue()
		for _, named := range c.Ports {
			if get.Port.Type == intstr.String && named.Name == get.Port.StrVal {
				port = int(named.ContainerPort)
			}
		}
		return c.ReadinessProbe, "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) + get.Path
	}
	return nil, ""
}

func answers(ctx context.Context, asker *http.Client, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false
	}
	answer, err := asker.Do(request)
	if err != nil {
		return false
	}
	return answer.Body.Close() == nil && answer.StatusCode >= 200 && answer.StatusCode < 400
}
