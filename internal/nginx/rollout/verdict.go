package rollout

import (
	"slices"

	"example.com/nginx-operator/internal/instanceapi"
)

// combineVerdicts returns the verdict of all pods on the requested configuration; empty while it is open. A refusal
// comes with its problems, even if it does not count yet.
func combineVerdicts(in Input) (instanceapi.Verdict, []instanceapi.Problem) {
	if in.refusedForGood() {
		return instanceapi.Failed, in.Refused
	}
	verdict, problems := deciders(in)
	if verdict == "" && in.Stable == in.Requested && anyServes(in.Pods, in.Requested) {
		// All of them accepted it once. New pods that are starting do not reopen the question.
		return instanceapi.Passed, nil
	}
	return verdict, problems
}

// refusedForGood reports whether the requested configuration has been refused for good. What pods boot with has not:
// there is nothing else to serve.
func (in *Input) refusedForGood() bool { return len(in.Refused) > 0 && in.Requested != in.Stable }

func anyFatal(pods []Pod, revision string) bool {
	return slices.ContainsFunc(pods, func(p Pod) bool { return p.revision(revision).Fatal })
}

func anyReverted(pods []Pod, revision string) bool {
	return slices.ContainsFunc(pods, func(p Pod) bool { return p.revision(revision).TakenBack })
}

func anyOnProbation(pods []Pod) bool {
	return slices.ContainsFunc(pods, func(p Pod) bool { return p.Status != nil && p.Status.OnProbation })
}

// anyComparing reports whether the first pod is still finding out how well a configuration serves.
func anyComparing(pods []Pod, revision string) bool {
	return slices.ContainsFunc(pods, func(p Pod) bool { return p.serves(revision) && p.Status.Comparing })
}

func anyServes(pods []Pod, revision string) bool {
	return slices.ContainsFunc(pods, func(p Pod) bool { return p.serves(revision) })
}

// deciders returns the verdict of the pods that decide.
func deciders(in Input) (instanceapi.Verdict, []instanceapi.Problem) {
	newest, old := byTemplate(in.Pods)
	if anyAnswers(newest) || len(old) == 0 {
		return ofAll(newest, in.Requested)
	}
	// Pods of the newest template are still to come. If even the old ones accept the configuration, it need not wait
	// for them: their image may never be pulled.
	verdict, problems := ofAll(old, in.Requested)
	if verdict == instanceapi.Failed {
		return "", problems
	}
	return verdict, problems
}

func byTemplate(pods []Pod) (newest, old []Pod) {
	for _, p := range pods {
		if p.Newest {
			newest = append(newest, p)
		} else {
			old = append(old, p)
		}
	}
	return newest, old
}

func anyAnswers(pods []Pod) bool {
	return slices.ContainsFunc(pods, func(p Pod) bool { return p.Status != nil })
}

// ofAll returns Failed if one of the pods refuses, and Passed if all that can be expected to answer accept.
func ofAll(pods []Pod, revision string) (instanceapi.Verdict, []instanceapi.Problem) {
	passed, open := 0, false
	for _, p := range pods {
		switch p.verdict(revision) {
		case instanceapi.Failed:
			return instanceapi.Failed, p.revision(revision).Problems
		case instanceapi.Passed:
			passed++
		default:
			// A pod that neither serves nor answers delays nothing: it is starting or lost.
			open = open || p.Ready && p.Status == nil && !p.Unreachable || p.counts(revision)
		}
	}
	if open || passed == 0 {
		return "", nil
	}
	return instanceapi.Passed, nil
}
