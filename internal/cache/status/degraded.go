package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/internal/nginx/naming"
)

// A shard is compared with those that began more than sameStart before it: those of a new cache begin at the same time. It
// counts as filled again when it has three quarters of what they have on average, because the ring does not give all shards
// the same part. Without others to compare it with, it has lost something if the cache was not new. After maxRefill, what
// is missing is not requested.
const (
	sameStart       = 10 * time.Second
	isNew           = 10 * time.Minute
	maxRefill       = 24 * time.Hour
	refilledPercent = 75
)

// loss is a part of the cache that is lost or away.
type loss struct{ reason, message string }

// degraded returns the condition Degraded.
func (in *Input) degraded() metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionDegraded, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonNothingLost, Message: "All shards answer with what they have stored"}
	if in.Ring == 0 {
		c.Message = "There are no edges yet"
	}
	var messages []string
	for _, find := range []func() *loss{in.away, in.notStoring, in.refilling} {
		if found := find(); found != nil {
			if c.Status = metav1.ConditionTrue; len(messages) == 0 {
				c.Reason = found.reason
			}
			messages = append(messages, found.message)
		}
	}
	if len(messages) > 0 {
		c.Message = strings.Join(messages, "; ")
	}
	return c
}

// away returns the shards that do not answer.
func (in *Input) away() *loss {
	var names []string
	for n := range in.Ring {
		if pod := in.shard(n); pod == nil || !pod.Ready {
			names = append(names, in.shardName(n))
		}
	}
	switch len(names) {
	case 0:
		return nil
	case in.Ring:
		return &loss{v1alpha1.ReasonShardsAway, "No shard answers: what the edges do not have in memory is requested from the origins"}
	}
	return &loss{v1alpha1.ReasonShardsAway, fmt.Sprintf("%s away: %s requested from the next shard in the ring, or from the origins", are(names), in.part(len(names)))}
}

// notStoring returns the shards whose volumes take no objects.
func (in *Input) notStoring() *loss {
	byProblem := map[string][]string{}
	var problems []string
	for n := range in.Ring {
		if pod := in.shard(n); pod != nil && pod.Ready && pod.Cache != nil && pod.Cache.Problem != "" {
			if problem := pod.Cache.Problem; !slices.Contains(problems, problem) {
				problems = append(problems, problem)
			}
			byProblem[pod.Cache.Problem] = append(byProblem[pod.Cache.Problem], pod.Name)
		}
	}
	if len(problems) == 0 {
		return nil
	}
	var texts []string
	for _, problem := range problems {
		names := byProblem[problem]
		texts = append(texts, fmt.Sprintf("the volume of %s takes no objects, because %s: %s requested from the origins each time, unless they are stored already",
			strings.Join(names, " and that of "), problem, in.part(len(names))))
	}
	return &loss{v1alpha1.ReasonNotStoring, strings.Join(texts, "; ")}
}

// refilling returns the shards that began with an empty volume, and do not have their part of the objects yet.
func (in *Input) refilling() *loss {
	var names []string
	for n := range in.Ring {
		pod := in.shard(n)
		if in.added(n) || pod == nil || !pod.Ready || pod.Cache == nil || pod.Cache.Since == nil || in.refilled(pod) {
			continue
		}
		began := ""
		if len(names) == 0 {
			began = " began with an empty volume"
		}
		names = append(names, fmt.Sprintf("%s%s at %s", pod.Name, began, pod.Cache.Since.UTC().Format(time.RFC3339)))
	}
	if len(names) == 0 {
		return nil
	}
	return &loss{v1alpha1.ReasonShardsRefilling, fmt.Sprintf("%s: %s being stored again", strings.Join(names, ", "), in.part(len(names)))}
}

// added reports whether a shard is new, and is given its objects by the others.
func (in *Input) added(n int) bool {
	return in.HandOver.State != nil && n >= int(in.HandOver.State.From)
}

// refilled reports whether a shard has its part of the objects.
func (in *Input) refilled(pod *Pod) bool {
	since := *pod.Cache.Since
	if in.Now.After(since.Add(maxRefill)) {
		return true
	}
	var sum, others int64
	for n := range in.Ring {
		if other := in.shard(n); other != nil && other.Cache != nil && (other.Cache.Since == nil || other.Cache.Since.Before(since.Add(-sameStart))) {
			sum, others = sum+other.Cache.Objects, others+1
		}
	}
	if others == 0 {
		return since.Before(in.Cache.CreationTimestamp.Add(isNew))
	}
	return pod.Cache.Objects*others*100 >= sum*refilledPercent
}

func (in *Input) shardName(n int) string { return naming.Pod(v1alpha1.ShardsName(in.Cache.Name), n) }

// shard returns a shard; nil if it has no pod.
func (in *Input) shard(n int) *Pod {
	name := in.shardName(n)
	if i := slices.IndexFunc(in.Shards.Pods, func(p Pod) bool { return p.Name == name }); i >= 0 {
		return &in.Shards.Pods[i]
	}
	return nil
}

// part says which part of the objects a number of shards has.
func (in *Input) part(shards int) string {
	if shards == in.Ring {
		return "all objects are"
	}
	return fmt.Sprintf("about %d %% of the objects are", (100*shards+in.Ring/2)/in.Ring)
}

func are(names []string) string {
	if len(names) == 1 {
		return names[0] + " is"
	}
	return strings.Join(names, ", ") + " are"
}
