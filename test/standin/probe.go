package standin

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/internal/backup/declarations"
)

// probePause is the interval of readiness probes.
const probePause = 10 * time.Millisecond

// probe runs the readiness probe until the pod responds, and then reports the pod as ready.
func (p *pod) probe(ctx context.Context, object *corev1.Pod) error {
	probe := p.job.Spec.Template.Spec.Containers[0].ReadinessProbe
	if probe == nil {
		return nil
	}
	url := "http://" + net.JoinHostPort(p.ip, strconv.Itoa(declarations.Port)) + probe.HTTPGet.Path
	for !answers(ctx, url) {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(probePause):
		}
	}
	return p.status(context.WithoutCancel(ctx), object, corev1.PodStatus{
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
	})
}

var probes = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func answers(ctx context.Context, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false
	}
	answer, err := probes.Do(request)
	if err != nil {
		return false
	}
	return answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
}
