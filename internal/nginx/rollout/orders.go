package rollout

import "example.com/nginx-operator/internal/instanceapi"

// test orders every pod to test the requested configuration.
func (d *Decision) test(in Input) {
	for _, p := range in.Pods {
		if p.Status != nil && p.ordered().Test != in.Requested && !p.startsWith(in.Requested) && !p.serves(in.Requested) {
			d.Orders[p.Name] = instanceapi.Requested{Test: in.Requested}
		}
	}
}

// startsWith reports whether the pod is about to serve a revision without an order. At first, an instance has not
// yet read what it boots with.
func (p Pod) startsWith(revision string) bool {
	return p.Status != nil && p.Status.Serving == "" && p.requested().Load == "" &&
		(p.Status.Stable == revision || p.Status.Stable == "")
}

// goBack makes pods that loaded something else load stable again, so that a mix is not served for long. The other
// pods continue to test.
func (d *Decision) goBack(in Input) {
	for _, p := range in.Pods {
		want := p.ordered()
		if in.Stable != "" && in.Stable != in.Requested && (p.servesUnrequested(in.Stable) || p.orderedToLoad(in.Requested)) {
			want.Load = in.Stable
		}
		if p.verdict(in.Requested) == "" && !p.startsWith(in.Requested) {
			want.Test = in.Requested
		}
		d.order(p, p.ordered(), want)
	}
}

// order orders a pod what it was not ordered yet.
func (d *Decision) order(p Pod, before, want instanceapi.Requested) {
	if p.Status != nil && want != before {
		d.Orders[p.Name] = want
	}
}

// servesUnrequested reports whether the pod serves something other than a revision.
func (p Pod) servesUnrequested(revision string) bool {
	return p.Status != nil && p.Status.Serving != "" && p.Status.Serving != revision
}

// orderedToLoad reports whether the pod was ordered to load a revision, and has its files.
func (p Pod) orderedToLoad(revision string) bool { return p.ordered().Load == revision }

// ordered returns what the pod was ordered last and can carry out. The order of a revision whose files it does not have is
// repeated with the files: it would wait for them, and all others with it.
func (p Pod) ordered() instanceapi.Requested {
	requested := p.requested()
	if !p.hasFiles(requested.Test) {
		requested.Test = ""
	}
	if !p.hasFiles(requested.Load) {
		requested.Load = ""
	}
	return requested
}

// hasFiles reports whether the pod has the files of a revision. Pods of releases before 0.5 wait for the kubelet to deliver
// them.
func (p Pod) hasFiles(revision string) bool {
	return p.Status == nil || p.Status.Orders == nil || p.Status.HasFiles(revision)
}

// load orders the canary, or the next wave, to load the requested configuration. Pods of an old template decide nothing
// while those of the newest one do. They load it when all of them accept it: they are alike, and serve alike.
func (d *Decision) load(in Input) {
	allowed := d.allowed(in)
	_, old := byTemplate(in.Pods)
	alike, _ := ofAll(old, in.Requested)
	if alike == "" {
		d.test(Input{Requested: in.Requested, Stable: in.Stable, Pods: old})
	}
	for _, p := range in.Pods {
		if allowed <= 0 || !p.canLoad(in.Requested) || !p.Newest && alike != instanceapi.Passed {
			continue
		}
		d.Orders[p.Name] = instanceapi.Requested{Test: in.Requested, Load: in.Requested}
		if p.counts(in.Requested) {
			allowed--
		}
	}
}

// allowed returns how many more pods may be ordered to load the configuration now.
func (d *Decision) allowed(in Input) int {
	if in.Stable == in.Requested || in.Proven {
		// All pods have served it before: only stragglers are left.
		return len(in.Pods)
	}
	wave := 1
	switch {
	case anyComparing(in.Pods, in.Requested):
		return 0
	case len(d.AnalyzeAgain) > 0:
		wave = in.Canary.Replicas - d.Serving
	case d.Serving > 0:
		wave = max(leastWave, (len(in.Pods)+3)/4)
	}
	for _, p := range in.Pods {
		if p.counts(in.Requested) && p.orderedToLoad(in.Requested) && !p.serves(in.Requested) {
			wave--
		}
	}
	return wave
}

func (p Pod) canLoad(revision string) bool {
	return p.Status != nil && !p.serves(revision) && !p.orderedToLoad(revision) && !p.overdue(revision) &&
		p.verdict(revision) != instanceapi.Failed && !p.startsWith(revision)
}

// allPodsLoaded reports whether every pod serves the requested configuration, and will continue to. Pods that neither serve
// nor answer do not count: they boot from stable, or follow it.
func (d *Decision) allPodsLoaded(in Input) bool {
	for _, p := range in.Pods {
		if (p.Ready || p.Status != nil) && !p.Unreachable && (!p.serves(in.Requested) || p.mayLoadOther(in.Requested)) {
			return false
		}
	}
	return d.Serving > 0 && len(d.AnalyzeAgain) == 0
}

// mayLoadOther reports whether the pod may be about to load another revision, which it was ordered before the
// configuration was changed back.
func (p Pod) mayLoadOther(revision string) bool { return isOtherRevision(p.requested().Load, revision) }

func isOtherRevision(requested, revision string) bool {
	return requested != "" && requested != revision
}

// forget withdraws orders about another configuration from pods that serve the requested one.
func (d *Decision) forget(in Input) {
	for _, p := range in.Pods {
		want := p.requested()
		if isOtherRevision(want.Test, in.Requested) {
			want.Test = in.Requested
		}
		if want.Load != "" {
			want.Load = in.Requested
		}
		if p.serves(in.Requested) {
			d.order(p, p.requested(), want)
		}
	}
}
