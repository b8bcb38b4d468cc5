package node

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/test/standin/container"
)

// probePeriod is the interval of readiness probes. It is shorter than the pod declares, because
// waiting longer would reveal nothing.
const probePeriod = 200 * time.Millisecond

// probe runs the pod's readiness probe against the container and reports the results.
func (p *pod) probe(ctx context.Context, c *container.Container, s *status) error {
	seen, err := p.refresh(ctx)
	if seen == nil || err != nil {
		return err
	}
	probe, url := readiness(seen)
	if probe == nil {
		return nil
	}
	client := &http.Client{
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
		ok := answers(ctx, client, url)
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

// becomes reports that the pod has become ready or not ready.
func (p *pod) becomes(ctx context.Context, s *status, ready bool) error {
	if ready == s.nginx().Ready {
		return nil
	}
	s.setReady(ready)
	if !ready {
		// A pod becomes not ready before the report, and ready only after it.
		p.setReady(false)
	}
	if err := p.report(ctx, s); err != nil {
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

// readiness returns the readiness probe of nginx and its URL, or nil if there is none.
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

func answers(ctx context.Context, client *http.Client, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false
	}
	answer, err := client.Do(request)
	if err != nil {
		return false
	}
	return answer.Body.Close() == nil && answer.StatusCode >= 200 && answer.StatusCode < 400
}
