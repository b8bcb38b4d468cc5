package rollout

import (
	"slices"

	"example.com/nginx-operator/internal/instanceapi"
)

// judge is the verdict of all pods on the requested configuration; empty while it is
// open. Problems go with a refusal, also with one that does not count yet.
func judge(in Input) (instanceapi.Verdict, []instanceapi.Problem) {
	if in.remembered() {
		return instanceapi.Failed, in.Refused
	}
	verdict, problems := deciders(in)
	if verdict == "" && in.Stable == in.Requested && anyServes(in.Pods, in.Requested) {
		// All of them accepted it once. That more pods are starting opens nothing again.
		return instanceapi.Passed, nil
	}
	return verdict, problems
}

// remembered tells whether the requested configuration has been refused for good. What pods
// start with is not: there is nothing else to serve.
func (in *Input) remembered() bool { return len(in.Refused) > 0 && in.Requested != in.Stable }

func anyFatal(pods []Pod, revision string) bool {
	return slices.ContainsFunc(pods, func(p Pod) bool { return p.revision(revision).Fatal })
}

func anyTakenBack(pods []Pod, revision string) bool {
	return slices.ContainsFunc(pods, func(p Pod) bool { return p.revision(revision).TakenBack })
}

func anyOnProbation(pods []Pod) bool {
	return slices.ContainsFunc(pods, func(p Pod) bool { return p.Status != nil && p.Status.OnProbation })
}

// anyComparing tells whether the first pod is about to find out whether a configuration does any good.
func anyComparing(pods []Pod, revision string) bool {
	return slices.ContainsFunc(pods, func(p Pod) bool { return p.serves(revision) && p.Status.Comparing })
}

func anyServes(pods []Pod, revision string) bool {
	return slices.ContainsFunc(pods, func(p Pod) bool { return p.serves(revision) })
}

// deciders is the verdict of the pods that decide.
func deciders(in Input) (instanceapi.Verdict, []instanceapi.Problem) {
	newest, old := byTemplate(in.Pods)
	if anyAnswers(newest) || len(old) == 0 {
		return ofAll(newest, in.Requested)
	}
	// Pods of the newest template are still to come. If even the old ones accept the
	// configuration, it need not wait for them: their image may never be pulled.
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

// ofAll is Failed when one of the pods refuses and Passed when all that can be
// expected to answer accept.
func ofAll(pods []Pod, revision string) (instanceapi.Verdict, []instanceapi.Problem) {
	passed, open := 0, false
	for _, p := range pods {
		switch p.verdict(revision) {
		case instanceapi.Failed:
			return instanceapi.Failed, p.revision(revision).Problems
		case instanceapi.Passed:
			passed++
		default:
			// A pod that neither serves nor answers holds nothing up: it is starting or lost.
			open = open || p.Ready || p.Status != nil
		}
	}
	if open || passed == 0 {
		return "", nil
	}
	return instanceapi.Passed, nil
}
