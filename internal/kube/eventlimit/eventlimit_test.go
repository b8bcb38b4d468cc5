package eventlimit

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
)

// TestEventsAreBounded: a namespace that causes any number of events loses some, and another one none.
func TestEventsAreBounded(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	limiter := New(clock)
	// record records events of a namespace, and returns the number of those that were not dropped.
	record := func(namespace string, n int) int {
		to := events.NewFakeRecorder(n)
		for i := range n {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprint(i)}}
			limited{to, limiter}.Eventf(pod, nil, "Warning", "Rejected", "Refuse", "number %d", i)
		}
		return len(to.Events)
	}
	if got := record("shop", 3*burst); got != burst {
		t.Errorf("%d events are recorded at once, want %d", got, burst)
	}
	if got := record("else", 10); got != 10 {
		t.Errorf("%d of 10 events of another namespace are recorded", got)
	}
	clock.SetTime(clock.Now().Add(time.Minute))
	if got := record("shop", burst); got != 60*perSecond {
		t.Errorf("%d events are recorded after a minute, want %d", got, 60*perSecond)
	}
	sum := 0
	for i := range 2 * totalBurst / burst {
		sum += record(fmt.Sprint("other-", i), burst)
	}
	if most := totalBurst + 2*totalBurst/burst*reserve; sum > most {
		t.Errorf("%d events of all namespaces are recorded at once, want at most %d", sum, most)
	}
	if got := record("quiet", 2*reserve); got != reserve {
		t.Errorf("%d events of a namespace are recorded when others have recorded too many, want %d", got, reserve)
	}
	clock.SetTime(clock.Now().Add(time.Hour))
	if got := record("new", 1); got != 1 || len(limiter.namespaces) != 1 {
		t.Errorf("%d recorded, %d namespaces are remembered", got, len(limiter.namespaces))
	}
}
