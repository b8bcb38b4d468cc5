package status

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/rollout"
)

// unreachable names the pods whose instance managers do not answer or take no orders, and says what to do and how they
// get the configuration.
func (v *view) unreachable() string {
	pods := map[observe.OrderFailure][]string{}
	for _, name := range v.rollout.Unreachable {
		why := v.in.State.Unreachable[name].Order
		pods[why] = append(pods[why], name)
	}
	var parts []string
	for _, why := range slices.Sorted(maps.Keys(pods)) {
		parts = append(parts, v.orderFailure(why, pods[why]))
	}
	return "T" + strings.TrimPrefix(strings.Join(parts, "; "), "t") + v.following()
}

// orderFailure says why pods get no orders, and what to do.
func (v *view) orderFailure(why observe.OrderFailure, pods []string) string {
	names := podNames(pods)
	managers, verb := "the instance manager of "+names, func(one, _ string) string { return one }
	if len(pods) > 1 {
		managers, verb = "the instance managers of "+names, func(_, many string) string { return many }
	}
	switch why {
	case "":
		return fmt.Sprintf("%s %s not answer on port %d: check whether a NetworkPolicy blocks the operator", managers, verb("does", "do"), instanceapi.Port)
	case observe.OrderUnanswered:
		return fmt.Sprintf("%s %s on port %d, but not to orders: check whether a proxy or a service mesh blocks POST requests",
			managers, verb("answers", "answer"), instanceapi.Port)
	case observe.OrderIgnored:
		return fmt.Sprintf("%s %s orders and %s not carry them out: read the log of %s", managers, verb("accepts", "accept"), verb("does", "do"), names)
	case observe.AnswerTooLarge:
		return fmt.Sprintf("%s %s a larger answer on port %d than the operator accepts: check what listens on the port in %s", managers, verb("sends", "send"), instanceapi.Port, names)
	case observe.AnswersTooLarge:
		return fmt.Sprintf("the operator does not keep the status of %s, because the pods of namespace %s together report more than the namespace's share of memory (%d MiB): run fewer pods in the namespace",
			names, v.in.Nginx.Namespace, observe.MaxAnswersOfNamespace>>20)
	case observe.AnswersOfAllTooLarge:
		return fmt.Sprintf("the operator does not keep the status of %s, because the pods of all namespaces together report more than its memory for them (%d MiB): run one operator for each part of the namespaces (--namespaces)",
			names, observe.MaxAnswers>>20)
	case observe.OrderFailure(instanceapi.UnknownKey), observe.OrderFailure(instanceapi.BadSignature), observe.OrderFailure(instanceapi.Foreign):
		return fmt.Sprintf("%s %s orders (%s) until the kubelet delivers the current ConfigMap %s, which can take two minutes; if it takes longer, delete %s",
			managers, verb("refuses", "refuse"), why, naming.ConfigMapNext(v.in.Nginx.Name), names)
	case observe.OrderFailure(instanceapi.MissingFiles):
		return fmt.Sprintf("%s %s orders, because %s not keep the files that come with them: read the log of %s", managers, verb("refuses", "refuse"), verb("it does", "they do"), names)
	case observe.OrderUnsigned:
		return fmt.Sprintf("%s %s no orders, because the operator has no key to sign them: its log names the Secret", managers, verb("gets", "get"))
	}
	return fmt.Sprintf("%s %s orders (%s): the operator tries again; read the log of %s", managers, verb("refuses", "refuse"), why, names)
}

// following says how pods that get no orders load the configuration; empty if they do not.
func (v *view) following() string {
	d := &v.rollout
	if d.Follow == nil || d.Follow.Revision != v.revision {
		return ""
	}
	failed := ""
	if len(d.FailedFollowers) > 0 {
		failed = fmt.Sprintf("%s restarted or lost readiness after being the first to load the configuration without an order", podNames(d.FailedFollowers))
	}
	switch {
	case d.FirstFollower != "" && failed != "":
		return fmt.Sprintf("; %s, so pod %s is the next: the others load it if this one stays ready for %.0f minutes", failed, d.FirstFollower, rollout.FollowPatience.Minutes())
	case d.FirstFollower != "":
		return fmt.Sprintf("; meanwhile pod %s loads the configuration when the kubelet delivers it, and the others if this one stays ready for %.0f minutes",
			d.FirstFollower, rollout.FollowPatience.Minutes())
	case failed != "":
		return fmt.Sprintf("; %s, so the others do not load it: correct the configuration, or delete %s to let others be the first", failed, podNames(d.FailedFollowers))
	case len(d.Unreachable) > 1:
		return "; meanwhile the pods load the configuration when the kubelet delivers it, which can take two minutes"
	}
	return "; meanwhile the pod loads the configuration when the kubelet delivers it, which can take two minutes"
}
