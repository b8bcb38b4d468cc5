package observe

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/naming"
)

// timeout is the time after which a request to an unreachable pod fails.
const timeout = time.Second

var web = &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}

// pods are instances that answer after a delay that depends on the address, or never.
type pods struct {
	observer *Observer
	queued   chan types.NamespacedName

	mu      sync.Mutex
	queries map[string]int
}

func newPods(answers func(podIP string, n int) (time.Duration, bool)) *pods {
	p := &pods{queued: make(chan types.NamespacedName, 1000), queries: map[string]int{}}
	p.observer = New(nil, nil, nil, func(ctx context.Context, podIP string) (instanceapi.Status, error) {
		after, ok := answers(podIP, p.count(podIP))
		select {
		case <-time.After(after):
		case <-ctx.Done():
			return instanceapi.Status{}, ctx.Err()
		}
		if !ok {
			return instanceapi.Status{}, errors.New("timeout")
		}
		return instanceapi.Status{Serving: "r1"}, nil
	}, nil)
	p.observer.OnAnswer(func(key types.NamespacedName) { p.queued <- key })
	return p
}

// count counts a query, and returns how many the instance has received. Instances are queried at the same time.
func (p *pods) count(podIP string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queries[podIP]++
	return p.queries[podIP]
}

// queried returns how many queries an instance has received.
func (p *pods) queried(podIP string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.queries[podIP]
}

// pass reads the statuses of the instances once. It returns how long that took and whether it was
// complete.
func (p *pods) pass(t *testing.T, state *State) (took time.Duration, complete bool) {
	t.Helper()
	begin := time.Now()
	err := p.observer.instances(t.Context(), application.Of(web), state)
	if err != nil && !errors.Is(err, ErrUnanswered) {
		t.Fatal(err)
	}
	return time.Since(begin), err == nil
}

func readyPod(name, ip string) State {
	pod := running(name)
	pod.Status.PodIP = ip
	pod.Status.ContainerStatuses[0].Ready = true
	state := State{}
	state.Pods = append(state.Pods, *pod)
	return state
}

// TestSilentPodsDoNotDelayAPass: the first pass waits for a moment and is repeated once the pod counts
// as silent. Later passes do not wait at all.
func TestSilentPodsDoNotDelayAPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPods(func(string, int) (time.Duration, bool) { return timeout, false })
		state := readyPod("web-1", "10.0.0.1")
		if took, complete := p.pass(t, &state); complete || took > passWait {
			t.Errorf("the first pass took %s, complete: %t", took, complete)
		}
		if took, complete := p.pass(t, &state); complete || took > 0 {
			t.Errorf("a pass meanwhile took %s, complete: %t", took, complete)
		}
		if key := <-p.queued; key.Name != "web" || p.queried("10.0.0.1") != attempts {
			t.Errorf("%s is queued after %d questions", key, p.queried("10.0.0.1"))
		}
		p.minuteOfPasses(t, &state)
		if n := p.queried("10.0.0.1"); n < attempts+4 || n > attempts+8 {
			t.Errorf("it was queried %d times in a minute", n)
		}
		if len(p.queued) > 0 {
			t.Error("the application is queued although nothing is new")
		}
	})
}

// minuteOfPasses checks that no pass within a minute waits for a silent pod.
func (p *pods) minuteOfPasses(t *testing.T, state *State) {
	t.Helper()
	for range 20 {
		if took, complete := p.pass(t, state); !complete || took > 0 || len(state.Instances) > 0 {
			t.Errorf("a pass took %s, complete: %t", took, complete)
		}
		time.Sleep(3 * time.Second)
	}
}

// TestSilentPodAnswersAgain: the application is enqueued, and the pass uses the answer.
func TestSilentPodAnswersAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPods(func(_ string, n int) (time.Duration, bool) { return timeout, n > attempts })
		state := readyPod("web-1", "10.0.0.1")
		p.pass(t, &state)
		<-p.queued
		p.pass(t, &state)
		time.Sleep(silentRetryFirst + time.Second)
		// A new request to the pod meanwhile does not make it less silent.
		state.Pods[0].Annotations = map[string]string{naming.AnnotationConfigTest: "r2"}
		if took, complete := p.pass(t, &state); !complete || took > 0 || len(state.Instances) > 0 {
			t.Errorf("the pass that asks again took %s, complete: %t", took, complete)
		}
		<-p.queued
		if _, complete := p.pass(t, &state); !complete || state.Instances["web-1"] == nil {
			t.Errorf("complete: %t, instances: %v", complete, state.Instances)
		}
		if n := p.queried("10.0.0.1"); n != attempts+1 {
			t.Errorf("it was queried %d times", n)
		}
	})
}

// TestSlowPodsAreReported: an answer that is always too late for its own pass is used by the next
// one, and pods that serve never count as silent.
func TestSlowPodsAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPods(func(podIP string, _ int) (time.Duration, bool) {
			return map[string]time.Duration{"10.0.0.1": 2 * passWait, "10.0.0.2": 0, "10.0.0.3": 4 * passWait}[podIP], true
		})
		state := readyPod("web-1", "10.0.0.1")
		state.Pods = append(state.Pods, readyPod("web-2", "10.0.0.2").Pods[0], readyPod("web-3", "10.0.0.3").Pods[0])
		complete := false
		for passes := 0; !complete; passes++ {
			if _, complete = p.pass(t, &state); !complete {
				<-p.queued
			}
			if passes > 3 {
				t.Fatal("the application is never reconciled")
			}
		}
		if len(state.Instances) != 3 {
			t.Errorf("instances: %v", state.Instances)
		}
	})
}

// TestDeletedApplicationsAreNotPolled: pending requests end.
func TestDeletedApplicationsAreNotPolled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPods(func(string, int) (time.Duration, bool) { return time.Hour, false })
		state := readyPod("web-1", "10.0.0.1")
		p.pass(t, &state)
		p.observer.Forget(types.NamespacedName{Namespace: "shop", Name: "web"})
		synctest.Wait()
		if len(p.queued) > 0 || p.observer.answers.requests.InUse() > 0 {
			t.Error("it is queried still, or queued")
		}
	})
}

// TestUnanswered: an instance is unreachable from the first order without an answer until it answers one, its status shows
// that only the answer was lost, it is silent, or it is another process. Only a row of failures counts.
func TestUnanswered(t *testing.T) {
	key, uid := types.NamespacedName{Namespace: web.Namespace, Name: web.Name}, types.UID("uid-a")
	now := time.Unix(1000, 0)
	status := instanceapi.Status{Serving: "r1", Orders: &instanceapi.Orders{Number: 7}}
	silent := false
	o := New(nil, nil, nil, func(context.Context, string) (instanceapi.Status, error) {
		if silent {
			return instanceapi.Status{}, errors.New("timeout")
		}
		return status, nil
	}, nil)
	i := o.answers
	i.now, i.wait = func() time.Time { return now }, time.Minute
	pods := []corev1.Pod{*running("a")}
	pass := func() Failures {
		t.Helper()
		i.await(t.Context(), i.begin(t.Context(), key, pods))
		_, unreachable, ok := i.read(key, pods)
		if !ok {
			t.Fatal("it was not read")
		}
		return unreachable["a"]
	}
	missed := func(number int64) func() { return func() { i.miss(key, uid, number, OrderUnanswered) } }
	silence := func(first, last int64) Failures {
		return Failures{First: time.Unix(first, 0), Last: time.Unix(last, 0)}
	}
	row := func(first, last int64) Failures {
		failures := silence(first, last)
		failures.Order = OrderUnanswered
		return failures
	}
	refusal := func(at int64) Failures {
		failures := silence(at, at)
		failures.Order = OrderFailure(instanceapi.MissingFiles)
		return failures
	}
	for _, step := range []struct {
		at   int64
		what string
		do   func()
		want Failures
	}{
		{1000, "it answers", func() {}, Failures{}},
		{1001, "it does not answer an order", missed(9), row(1001, 1001)},
		{1031, "it does so again", missed(9), row(1001, 1031)},
		{1033, "nothing is tried", func() {}, row(1001, 1031)},
		{1040, "only the answer was lost", func() { status.Orders = &instanceapi.Orders{Number: 9}; i.miss(key, uid, 9, OrderUnanswered) }, Failures{}},
		{1040, "it refuses an order", func() { i.miss(key, uid, 9, OrderFailure(instanceapi.MissingFiles)) }, refusal(1040)},
		{1040, "which a query does not change", func() {}, refusal(1040)},
		{1040, "it takes one", func() { i.take(key, uid, &status) }, Failures{}},
		{1041, "an order cannot be sent", missed(0), row(1041, 1041)},
		{5000, "much later it does not answer one", missed(10), row(5000, 5000)},
		{5001, "it answers one", func() { i.take(key, uid, &status) }, Failures{}},
		{5002, "it does not answer one", missed(11), row(5002, 5002)},
		{5010, "it is silent", func() { silent = true; i.miss(key, uid, 11, OrderUnanswered) }, silence(5010, 5010)},
		{5011, "it answers again", func() { silent = false }, silence(5010, 5010)},
		{5060, "which a query shows, that no pass waits for", func() {
			i.begin(t.Context(), key, pods)
			finishCalls(o, web)
		}, Failures{}},
	} {
		now = time.Unix(step.at, 0)
		step.do()
		if got := pass(); got != step.want {
			t.Errorf("%s: unreachable %v, want %v", step.what, got, step.want)
		}
	}
	i.miss(key, uid, 12, OrderUnanswered)
	pods[0].Status.ContainerStatuses[0].ContainerID = "other"
	if got := pass(); got != (Failures{}) {
		t.Errorf("it has restarted: unreachable %v", got)
	}
}

// TestUptimeAfterARefusal: the age of an instance is estimated until an order fails. The next one is made from the age
// that the instance then reports.
func TestUptimeAfterARefusal(t *testing.T) {
	key, uid := types.NamespacedName{Namespace: web.Namespace, Name: web.Name}, types.UID("uid-a")
	now, uptime := time.Unix(1000, 0), int64(60_000)
	o := New(nil, nil, nil, func(context.Context, string) (instanceapi.Status, error) {
		return instanceapi.Status{Serving: "r1", Orders: &instanceapi.Orders{Uptime: uptime}}, nil
	}, nil)
	i := o.answers
	i.now, i.wait = func() time.Time { return now }, time.Minute
	pods := []corev1.Pod{*running("a")}
	pass := func() int64 {
		t.Helper()
		i.await(t.Context(), i.begin(t.Context(), key, pods))
		known, _, ok := i.read(key, pods)
		if !ok {
			t.Fatal("it was not read")
		}
		return known["a"].Orders.Uptime
	}
	pass()
	now = now.Add(time.Minute)
	uptime = 120_000
	pass()
	// Its node is suspended for most of this time.
	now, uptime = now.Add(settledFor-time.Second), 121_000
	if got, want := pass(), int64(120_000+49_000); got != want {
		t.Errorf("the estimate is %d ms, want %d", got, want)
	}
	i.miss(key, uid, 9, OrderUnanswered)
	if got := pass(); got != uptime {
		t.Errorf("after an order that it refused, the age is %d ms, want %d", got, uptime)
	}
}

// TestFollowingPod: a pod that answers, and takes no orders, changes by itself when the kubelet delivers what it follows.
// Each pass queries it.
func TestFollowingPod(t *testing.T) {
	key, uid := types.NamespacedName{Namespace: web.Namespace, Name: web.Name}, types.UID("uid-a")
	now, serving := time.Unix(1000, 0), "r1"
	o := New(nil, nil, nil, func(context.Context, string) (instanceapi.Status, error) {
		return instanceapi.Status{Serving: serving, Orders: &instanceapi.Orders{}}, nil
	}, nil)
	i := o.answers
	i.now, i.wait = func() time.Time { return now }, time.Minute
	pods := []corev1.Pod{*running("a")}
	pass := func() string {
		t.Helper()
		i.await(t.Context(), i.begin(t.Context(), key, pods))
		known, _, ok := i.read(key, pods)
		if !ok {
			t.Fatal("it was not read")
		}
		return known["a"].Serving
	}
	for range 3 {
		pass()
		i.miss(key, uid, 9, OrderUnanswered)
		now = now.Add(freshFor)
	}
	pass()
	now, serving = now.Add(time.Second), "r2"
	if got := pass(); got != "r2" {
		t.Errorf("it counts as serving %s", got)
	}
	i.take(key, uid, &instanceapi.Status{Serving: "r2", Orders: &instanceapi.Orders{}})
	pass()
	now = now.Add(time.Second)
	pass()
	now, serving = now.Add(time.Second), "r3"
	if got := pass(); got != "r2" {
		t.Errorf("it is queried although it takes orders")
	}
}

// TestAnsweredOrder: for a moment, the answer to an order is as good as that to a query: the passes of a change do not query
// all pods again each time.
func TestAnsweredOrder(t *testing.T) {
	key, uid := types.NamespacedName{Namespace: web.Namespace, Name: web.Name}, types.UID("uid-a")
	now := time.Unix(1000, 0)
	queries := 0
	o := New(nil, nil, nil, func(context.Context, string) (instanceapi.Status, error) {
		queries++
		return instanceapi.Status{Serving: "old", Requested: instanceapi.Requested{Test: "new"}}, nil
	}, nil)
	i := o.answers
	i.now, i.wait = func() time.Time { return now }, time.Minute
	pods := []corev1.Pod{*running("a")}
	pass := func(want int) {
		t.Helper()
		i.await(t.Context(), i.begin(t.Context(), key, pods))
		if _, _, ok := i.read(key, pods); !ok || queries != want {
			t.Errorf("after %s there were %d queries, want %d", now.Sub(time.Unix(1000, 0)), queries, want)
		}
	}
	pass(1)
	pass(2)
	o.Answered(key, uid, &instanceapi.Status{Serving: "new"})
	pass(2)
	now = now.Add(orderedFor - 1)
	pass(2)
	now = now.Add(1)
	pass(3)
}

// TestAnswerInPlaceOfAQuery: a pass that ended without the answer to a query is repeated when the answer to an order takes
// its place.
func TestAnswerInPlaceOfAQuery(t *testing.T) {
	key, uid := types.NamespacedName{Namespace: web.Namespace, Name: web.Name}, types.UID("uid-a")
	o := New(nil, nil, nil, func(ctx context.Context, _ string) (instanceapi.Status, error) {
		<-ctx.Done()
		return instanceapi.Status{}, ctx.Err()
	}, nil)
	queued := 0
	o.OnAnswer(func(types.NamespacedName) { queued++ })
	i := o.answers
	i.wait = time.Millisecond
	pods := []corev1.Pod{*running("a")}
	i.await(t.Context(), i.begin(t.Context(), key, pods))
	if _, _, ok := i.read(key, pods); ok {
		t.Fatal("the query was answered")
	}
	o.Answered(key, uid, &instanceapi.Status{Serving: "new"})
	if queued != 1 {
		t.Errorf("the application was queued %d times, want 1", queued)
	}
	if _, _, ok := i.read(key, pods); !ok {
		t.Error("the answer to the order was not read")
	}
}
