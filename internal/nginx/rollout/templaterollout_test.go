package rollout

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/canary"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/poddiagnosis"
)

var start = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

func TestFirstStage(t *testing.T) {
	canary := &Canary{Replicas: 1, Duration: time.Minute}
	tests := map[string]struct {
		oldReady int
		surge    bool
		canary   *Canary
		want     history.Stage
	}{
		"nothing serves yet":          {0, true, canary, history.Rolling},
		"a new pod proves itself":     {1, true, nil, history.Proving},
		"a canary":                    {1, true, canary, history.Canary},
		"no pod may come on top":      {1, false, nil, history.Rolling},
		"canaries come on top anyway": {1, false, canary, history.Canary},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := FirstStage(tt.oldReady, tt.surge, tt.canary); got != tt.want {
				t.Errorf("FirstStage = %s, want %s", got, tt.want)
			}
		})
	}
}

// rollingOut returns a rollout that began some time ago, with its pods.
func rollingOut(stage history.Stage, ago time.Duration, pods ...NewPod) TemplateInput {
	return TemplateInput{Now: start, Stage: stage, StartedAt: start.Add(-ago), Deadline: time.Minute, New: pods, OldReady: 3}
}

func readyFor(d time.Duration) NewPod {
	return NewPod{Name: "new", Ready: true, ReadySince: start.Add(-d)}
}

func withDiagnosis(giveUp time.Time) NewPod {
	return NewPod{Name: "new", Diagnosis: &poddiagnosis.Diagnosis{Reason: v1alpha2.ReasonContainerCrashed, Message: "it crashes", FailAfter: giveUp}}
}

// running returns a pod that was created some time ago and is not ready.
func running(ago time.Duration) NewPod {
	return NewPod{Name: "new", Created: start.Add(-ago), Running: true}
}

// with changes an input.
func (in TemplateInput) with(change func(*TemplateInput)) TemplateInput {
	change(&in)
	return in
}

func canaryOf(n int, bad string) func(*TemplateInput) {
	return func(in *TemplateInput) {
		in.Canary = &Canary{Replicas: n, Duration: 20 * time.Second, Verdict: verdict(bad)}
	}
}

// verdict returns the verdict on canaries that are bad for a reason; empty: they are good.
func verdict(bad string) *canary.Verdict {
	if bad == "" {
		return &canary.Verdict{Outcome: canary.Good, Message: "as good as the others"}
	}
	return &canary.Verdict{Outcome: canary.Bad, Message: bad}
}

func complete(in *TemplateInput) { in.Complete, in.OldReady = true, 0 }

func TestAdvance(t *testing.T) {
	tests := map[string]struct {
		in      TemplateInput
		outcome Outcome
		stage   history.Stage
		after   time.Duration
	}{
		"no pod yet": {rollingOut(history.Proving, time.Second),
			Going, history.Proving, 0},
		"no pod for long: it may be scaled to zero": {rollingOut(history.Rolling, time.Hour),
			Going, history.Rolling, 0},
		"scaled up after long": {rollingOut(history.Rolling, time.Hour, NewPod{Created: start.Add(-time.Second)}),
			Going, history.Rolling, 59 * time.Second},
		"a pod is refused: until the deadline": {rollingOut(history.Proving, time.Second).with(func(in *TemplateInput) { in.Refused = "quota" }),
			Going, history.Proving, 64 * time.Second},
		"a pod is refused for too long": {rollingOut(history.Rolling, time.Minute).with(func(in *TemplateInput) { in.Refused = "quota" }),
			Failing, history.Rolling, 0},
		"a pod proves itself": {rollingOut(history.Proving, 4*time.Second, readyFor(2*time.Second)),
			Going, history.Proving, 3 * time.Second},
		"a short deadline, and a pod that came in time": {rollingOut(history.Proving, 4*time.Second, readyFor(2*time.Second)).with(func(in *TemplateInput) { in.Deadline = 3 * time.Second }),
			Going, history.Proving, 3 * time.Second},
		"a pod has proven itself": {rollingOut(history.Proving, 9*time.Second, readyFor(5*time.Second)),
			Going, history.Rolling, 0},
		"nothing to be careful about any more": {rollingOut(history.Proving, 9*time.Second, readyFor(0)).with(func(in *TemplateInput) { in.OldReady = 0 }),
			Going, history.Rolling, 0},
		"the last pod is new": {rollingOut(history.Rolling, 9*time.Second, readyFor(5*time.Second)).with(complete),
			Done, history.Rolling, 0},
		"all at once": {rollingOut(history.Proving, 9*time.Second, readyFor(5*time.Second)).with(complete),
			Done, history.Rolling, 0},
		"hopeless": {rollingOut(history.Proving, time.Second, withDiagnosis(start)),
			Failing, history.Proving, 0},
		"not hopeless yet": {rollingOut(history.Proving, time.Second, withDiagnosis(start.Add(10*time.Second))),
			Going, history.Proving, 10 * time.Second},
		"it may heal": {rollingOut(history.Proving, time.Second, withDiagnosis(time.Time{})),
			Going, history.Proving, 64 * time.Second},
		"too late": {rollingOut(history.Proving, 65*time.Second, withDiagnosis(time.Time{})),
			Failing, history.Proving, 0},
		"pods come and go for too long, and have gone": {rollingOut(history.Proving, 65*time.Second, NewPod{}),
			Failing, history.Proving, 0},
		"no pass for a while, and a pod is ready": {rollingOut(history.Proving, time.Hour, readyFor(time.Second)),
			Going, history.Proving, 4 * time.Second},
		"no pass for a while, and a canary serves": {rollingOut(history.Canary, time.Hour, readyFor(time.Minute)).with(canaryOf(1, "")),
			Going, history.Rolling, 0},
		"its instance is about to answer": {rollingOut(history.Proving, 2*time.Second, running(2*time.Second)),
			Going, history.Proving, time.Second},
		"its instance takes its time": {rollingOut(history.Proving, 20*time.Second, running(20*time.Second)),
			Going, history.Proving, 5 * time.Second},
		"its instance may never answer": {rollingOut(history.Proving, time.Hour, running(time.Hour)).with(func(in *TemplateInput) { in.Deadline = 2 * time.Hour }),
			Going, history.Proving, 15 * time.Second},
		"a long rollout that moves": {rollingOut(history.Rolling, time.Hour, readyFor(time.Second)),
			Going, history.Rolling, 0},
		"a long rollout of which nothing came": {rollingOut(history.Rolling, time.Hour, NewPod{}),
			Failing, history.Rolling, 0},
		"the Deployment controller gave up": {rollingOut(history.Rolling, time.Hour, readyFor(time.Minute)).with(func(in *TemplateInput) { in.TimedOut = true }),
			Failing, history.Rolling, 0},
		"a canary comes": {rollingOut(history.Canary, time.Second).with(canaryOf(1, "")),
			Going, history.Canary, 0},
		"one of two canaries": {rollingOut(history.Canary, time.Second, readyFor(time.Second)).with(canaryOf(2, "")),
			Going, history.Canary, 79 * time.Second},
		"a canary serves": {rollingOut(history.Canary, 6*time.Second, readyFor(3*time.Second)).with(canaryOf(1, "")),
			Going, history.Canary, 5 * time.Second},
		"a canary is almost through": {rollingOut(history.Canary, 30*time.Second, readyFor(18*time.Second)).with(canaryOf(1, "")),
			Going, history.Canary, 2 * time.Second},
		"a canary is through": {rollingOut(history.Canary, 30*time.Second, readyFor(20*time.Second)).with(canaryOf(1, "")),
			Going, history.Rolling, 0},
		"a canary is bad": {rollingOut(history.Canary, 30*time.Second, readyFor(10*time.Second)).with(canaryOf(1, "5xx")),
			Failing, history.Canary, 0},
		"a canary that was ready is not any more": {rollingOut(history.Canary, 30*time.Second, NewPod{}).with(canaryOf(1, "")),
			Going, history.Canary, 50 * time.Second},
		"a canary never comes": {rollingOut(history.Canary, 80*time.Second, NewPod{}).with(canaryOf(1, "")),
			Failing, history.Canary, 0},
		"the canary is no longer requested": {rollingOut(history.Canary, 6*time.Second, readyFor(3*time.Second)),
			Going, history.Rolling, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			step := Advance(tt.in)
			if step.Outcome != tt.outcome || step.Stage != tt.stage || step.After != tt.after {
				t.Errorf("Advance = %s at %s, after %s; want %s at %s, %s",
					step.Outcome, step.Stage, step.After, tt.outcome, tt.stage, tt.after)
			}
			if (step.Outcome == Failing) != (step.Diagnosis.Message != "") {
				t.Errorf("outcome %s has the reason %q", step.Outcome, step.Diagnosis.Message)
			}
		})
	}
}

// TestFailureHasAMessage: the message contains what a user needs to know.
func TestFailureHasAMessage(t *testing.T) {
	tests := map[string]struct {
		in    TemplateInput
		words string
	}{
		"the pod's diagnosis": {rollingOut(history.Proving, 65*time.Second, withDiagnosis(time.Time{})),
			"ContainerCrashed: it crashes; no progress for 60 seconds (rollout.progressDeadlineSeconds)"},
		"why it is not ready": {rollingOut(history.Proving, 65*time.Second, NewPod{NotReady: "containers with unready status: [b]"}),
			"ProgressDeadlineExceeded: a new pod is not ready: containers with unready status: [b]; no progress"},
		"why there is no pod": {rollingOut(history.Proving, 65*time.Second).with(func(in *TemplateInput) { in.Refused = "exceeded quota" }),
			"PodsNotCreated: exceeded quota; no progress"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			failure := Advance(tt.in).Diagnosis
			if words := failure.Reason + ": " + failure.Message; !strings.Contains(words, tt.words) {
				t.Errorf("it says %q", words)
			}
		})
	}
}

// pulling returns a pod whose node has been unable to pull its image for long. Without a node name,
// it has no node.
func pulling(node string) NewPod {
	return NewPod{Name: "on-" + node, Node: node, Diagnosis: &poddiagnosis.Diagnosis{
		Reason: v1alpha2.ReasonImagePullFailed, Message: "the image cannot be pulled", FailAfter: start, NodeLocal: true}}
}

func readyOn(node string) NewPod {
	p := readyFor(time.Minute)
	p.Node = node
	return p
}

// TestBadNode: a template that is ready on other nodes does not fail because of one node.
func TestBadNode(t *testing.T) {
	crashed := withDiagnosis(start)
	crashed.Node = "b"
	timedOut := func(in *TemplateInput) { in.TimedOut = true }
	tests := map[string]struct {
		in    TemplateInput
		stuck int
		fails string
	}{
		"ready on one, failing on another":         {rollingOut(history.Rolling, time.Hour, readyOn("a"), pulling("b")), 1, ""},
		"two pods on the bad node":                 {rollingOut(history.Rolling, time.Hour, readyOn("a"), pulling("b"), pulling("b")), 2, ""},
		"for longer than the deadline":             {rollingOut(history.Rolling, time.Hour, readyOn("a"), pulling("b")).with(timedOut), 1, ""},
		"the first pod of all":                     {rollingOut(history.Proving, time.Minute, pulling("b")), 0, "on b: the image cannot be pulled"},
		"on all of several nodes":                  {rollingOut(history.Rolling, time.Minute, pulling("b"), pulling("a")), 0, "on a, b: the image cannot be pulled"},
		"on more nodes than it is ready on":        {rollingOut(history.Rolling, time.Minute, pulling("b"), readyOn("a"), pulling("c")), 0, "ready on a; on b, c: the image cannot be pulled"},
		"on half of the nodes":                     {rollingOut(history.Rolling, time.Minute, pulling("b"), readyOn("a"), pulling("c"), readyOn("d")), 2, ""},
		"ready and failing on the same node":       {rollingOut(history.Rolling, time.Minute, readyOn("a"), pulling("a")), 0, "the image cannot be pulled"},
		"a crash is not the node's":                {rollingOut(history.Rolling, time.Minute, readyOn("a"), crashed), 0, "ready on a; on b: it crashes"},
		"another pod is late for another reason":   {rollingOut(history.Rolling, time.Hour, readyOn("a"), pulling("b"), NewPod{Node: "c"}).with(timedOut), 1, "ready on a; on b: the image cannot be pulled; no progress"},
		"one of two canaries never gets its image": {rollingOut(history.Canary, 80*time.Second, readyOn("a"), pulling("b")).with(canaryOf(2, "")), 1, "ready on a; on b"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			step := Advance(tt.in)
			if (step.Outcome == Failing) != (tt.fails != "") || !strings.Contains(step.Diagnosis.Message, tt.fails) {
				t.Errorf("%s: %q, want %q", step.Outcome, step.Diagnosis.Message, tt.fails)
			}
			if step.Outcome != Failing && step.Stuck != tt.stuck {
				t.Errorf("%d pods are stuck, want %d", step.Stuck, tt.stuck)
			}
		})
	}
}

// TestStagesNeverGoBack: no state of the pods moves a rollout to an earlier stage.
func TestStagesNeverGoBack(t *testing.T) {
	order := map[history.Stage]int{history.Proving: 0, history.Canary: 0, history.Rolling: 1}
	pods := [][]NewPod{nil, {NewPod{}}, {readyFor(0)}, {readyFor(time.Minute)}}
	for _, stage := range []history.Stage{history.Proving, history.Canary, history.Rolling} {
		for i, p := range pods {
			t.Run(fmt.Sprint(stage, i), func(t *testing.T) {
				step := Advance(rollingOut(stage, 0, p...).with(canaryOf(1, "")))
				if order[step.Stage] < order[stage] {
					t.Errorf("from %s to %s", stage, step.Stage)
				}
			})
		}
	}
}

func TestCanaryOfAConfiguration(t *testing.T) {
	served := func(seconds int64) func(*Pod) {
		return func(p *Pod) { serving("new")(p); p.Status.ServingSeconds = &seconds }
	}
	passed := tested("Passed")
	others := []Pod{pod("b", requested("new", ""), passed), pod("c", requested("new", ""), passed)}
	tests := map[string]struct {
		first    Pod
		bad      string
		analyzed int
		requests int
	}{
		"the first one loads it":   {pod("a", requested("new", ""), passed), "", 0, 1},
		"the others wait":          {pod("a", requested("new", "new"), served(5)), "", 1, 0},
		"it was good":              {pod("a", requested("new", "new"), served(20)), "", 0, 2},
		"it was bad":               {pod("a", requested("new", "new"), served(20)), "5xx", 1, 0},
		"serving time is unknown":  {pod("a", requested("new", "new"), serving("new")), "", 0, 2},
		"bad after a short while":  {pod("a", requested("new", "new"), served(6)), "5xx", 1, 0},
		"it has just been started": {pod("a", requested("new", "new"), served(0)), "", 1, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := Decide(Input{Requested: "new", Stable: "old", Pods: append([]Pod{tt.first}, others...),
				Canary: &Canary{Replicas: 1, Duration: 20 * time.Second, Verdict: verdict(tt.bad)}})
			if len(d.AnalyzeAgain) != tt.analyzed || len(d.Orders) != tt.requests {
				t.Errorf("analyzes %v and requests %v; want %d and %d", d.AnalyzeAgain, d.Orders, tt.analyzed, tt.requests)
			}
			if polls := d.After > 0 && d.After <= analysisInterval; polls != (tt.analyzed > 0) {
				t.Errorf("polls again after %s", d.After)
			}
		})
	}
}

// TestASingleCanary: a single pod, which no others can be compared with, has to pass the canary's
// duration as well.
func TestASingleCanary(t *testing.T) {
	seconds := int64(3)
	one := pod("a", requested("new", "new"), serving("new"))
	one.Status.ServingSeconds = &seconds
	in := Input{Requested: "new", Stable: "old", Pods: []Pod{one}, Canary: &Canary{Replicas: 1, Duration: 20 * time.Second, Verdict: verdict("")}}
	if d := Decide(in); d.Phase == Settled || d.Stable {
		t.Errorf("it is stable before its time: %+v", d)
	}
	seconds = 20
	if d := Decide(in); d.Phase != Settled || !d.Stable {
		t.Errorf("it is not stable after its time: %+v", d)
	}
}

func TestOldPodsAreLeftAlone(t *testing.T) {
	pods := []Pod{
		pod("old", ofOldTemplate, requested("", "")),
		pod("new", requested("new", "new"), serving("new")),
	}
	d := Decide(Input{Requested: "new", Stable: "old", HoldOld: true, Pods: pods})
	if len(d.Orders) > 0 || d.Stable {
		t.Errorf("old pods get requests %v, stable %t", d.Orders, d.Stable)
	}
	if d := Decide(Input{Requested: "new", Stable: "old", Pods: pods}); len(d.Orders) == 0 {
		t.Error("later they get no request either")
	}
}

// TestOldPodsReportProblems: a configuration that old pods serve stays valid while new pods start.
func TestOldPodsReportProblems(t *testing.T) {
	d := Decide(Input{Requested: "old", Stable: "old", HoldOld: true, Pods: []Pod{
		pod("a", ofOldTemplate, serving("old")), pod("b", notRunning),
	}})
	if d.Phase != Settled {
		t.Errorf("phase %s", d.Phase)
	}
}

func TestGoingBackIsStableAtOnce(t *testing.T) {
	d := Decide(Input{Requested: "old", Stable: "new", Proven: true, Pods: []Pod{pod("a", requested("new", "new"), serving("new"))}})
	if !d.Stable {
		t.Error("pods that start meanwhile would boot with what has failed")
	}
}

// TestClocksOfOthers: an operator whose clock is an hour late, or early, waits no longer for pods than one with the right clock.
func TestClocksOfOthers(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for ahead, want := range map[time.Duration]time.Time{
		0: now.Add(-time.Minute), time.Hour: now.Add(-2 * time.Minute), -time.Hour: now.Add(-2 * time.Minute),
	} {
		in := TemplateInput{Now: now, StartedAt: now.Add(-2 * time.Minute), New: []NewPod{{Created: now.Add(ahead - time.Minute)}}}
		if since, waiting := in.waiting(); !waiting || !since.Equal(want) {
			t.Errorf("pods %s ahead: waiting %t, since %s, want %s", ahead, waiting, since, want)
		}
		in.New[0].Diagnosis = &poddiagnosis.Diagnosis{Message: "it crashes", FailAfter: in.New[0].Created.Add(30 * time.Second)}
		if in.unrecoverable(nil) == nil {
			t.Errorf("pods %s ahead: a pod that has crashed for long enough is waited for", ahead)
		}
	}
}
