package view

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/plugin/traffic"
)

// TestSum: pods are added up by application and by server block, and those that cannot be read at the start or at the end are not
// taken for idle.
func TestSum(t *testing.T) {
	pod := func(name, application string) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{v1alpha2.LabelNginxOperator: application}}}
	}
	read := func(requests, failed float64) reading[traffic.Pod] {
		counts := traffic.Counts{Requests: requests, Errors: failed, Latency: map[float64]float64{math.Inf(1): 0}}
		return reading[traffic.Pod]{value: &traffic.Pod{Counts: counts, Servers: map[string]traffic.Counts{"a": counts, "b": {}}, Connections: 3, Memory: 1 << 20}}
	}
	silent := reading[traffic.Pod]{err: errors.New("web-3 or web-4 is away")}
	pods := []corev1.Pod{pod("web-1", "web"), pod("web-2", "web"), pod("web-3", "web"), pod("web-4", "web"), pod("api-1", "api")}
	got := sum(pods, []reading[traffic.Pod]{read(10, 1), read(0, 0), silent, silent, read(0, 0)},
		[]reading[traffic.Pod]{read(30, 3), read(20, 0), silent, read(70, 0), read(100, 0)}, 2)
	want := Top{
		Applications: []Load{
			{Namespace: "shop", Name: "api", Pods: 1, Answering: 1, Rates: traffic.Rates{Requests: 50}, Connections: 3, Memory: 1 << 20},
			{Namespace: "shop", Name: "web", Pods: 4, Answering: 2, Rates: traffic.Rates{Requests: 20, Errors: 1}, Connections: 6, Memory: 2 << 20},
		},
		Pods: []Load{
			{Namespace: "shop", Name: "api-1", Pods: 1, Answering: 1, Rates: traffic.Rates{Requests: 50}, Connections: 3, Memory: 1 << 20},
			{Namespace: "shop", Name: "web-1", Pods: 1, Answering: 1, Rates: traffic.Rates{Requests: 10, Errors: 1}, Connections: 3, Memory: 1 << 20},
			{Namespace: "shop", Name: "web-2", Pods: 1, Answering: 1, Rates: traffic.Rates{Requests: 10}, Connections: 3, Memory: 1 << 20},
			{Namespace: "shop", Name: "web-3", Pods: 1},
			{Namespace: "shop", Name: "web-4", Pods: 1},
		},
		Silent: []string{"web-3 or web-4 is away", "web-3 or web-4 is away"},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Load{}), cmpopts.IgnoreFields(Top{}, "Servers")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(got.Servers) != 4 || got.Servers[0].Name != "a" || got.Servers[0].Requests != 50 {
		t.Errorf("servers: %+v", got.Servers)
	}
}

// interrupting answers once, and then has the user interrupt the command.
type interrupting struct {
	answered  bool
	interrupt func()
}

// Get implements Measurer.
func (i *interrupting) Get(ctx context.Context, _ client.ObjectKey, _ string, _ map[string]string) ([]byte, error) {
	if i.answered {
		i.interrupt()
		return nil, ctx.Err()
	}
	i.answered = true
	return nil, nil
}

// TestReadTopInterrupted: a measurement that the user interrupts is not shown as pods that do not answer.
func TestReadTopInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	if top, err := ReadTop(ctx, &interrupting{interrupt: interrupt}, podsOf("web", "web-1"), time.Nanosecond); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", top, err)
	}
}
