package rollout

import "example.com/nginx-operator/internal/instanceapi"

// test asks every pod to test the requested configuration. One that does not answer yet
// may be about to start with it; one that is ready all the same serves what is stable, as
// far as anybody knows: a fresh operator may only not have got through to it yet.
func (d *Decision) test(in Input) {
	for _, p := range in.Pods {
		answers := p.Status != nil || p.Ready && in.Stable != in.Requested
		if p.Asked.Test != in.Requested && answers && !p.startsWith(in.Requested) && !p.serves(in.Requested) {
			d.Ask[p.Name] = instanceapi.Requested{Test: in.Requested, Grant: p.Grant}
		}
	}
}

// startsWith tells whether the pod is about to serve a revision without being asked. At
// first an instance has not looked yet at what it starts with.
func (p Pod) startsWith(revision string) bool {
	return p.Status != nil && p.Status.Serving == "" && p.Asked.Load == "" &&
		(p.Status.Stable == revision || p.Status.Stable == "")
}

// goBack takes the pods that have loaded something else back to stable, so that never
// a mix is served for long, and lets the others go on testing.
func (d *Decision) goBack(in Input) {
	for _, p := range in.Pods {
		want := p.Asked
		if in.Stable != "" && in.Stable != in.Requested && (p.astray(in.Stable) || p.mayLoad(in.Requested)) {
			want.Load, want.Grant = in.Stable, ""
		}
		if p.verdict(in.Requested) == "" && !p.startsWith(in.Requested) {
			want.Test = in.Requested
		}
		if p.Running && want != p.Asked {
			d.Ask[p.Name] = want
		}
	}
}

// astray tells whether the pod serves something else than a revision.
func (p Pod) astray(revision string) bool {
	return p.Status != nil && p.Status.Serving != "" && p.Status.Serving != revision
}

// mayLoad tells whether the pod was let load a revision.
func (p Pod) mayLoad(revision string) bool {
	return p.Asked.Load == revision || p.Status != nil && p.Status.Granted == revision
}

// load lets the canary, or the next wave, serve the requested configuration: by a word,
// or by another annotation where that does not work. Pods of an old template, which decide nothing while
// the newest one's do, load it when all of them accept it: they are alike, and serve alike.
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
		if p.takesWord(in.Requested) && !in.Overdue {
			d.Tell[p.Name] = true
		} else {
			d.Ask[p.Name] = instanceapi.Requested{Test: in.Requested, Load: in.Requested, Grant: p.Asked.Grant}
		}
		allowed--
	}
}

// takesWord tells whether the pod knows the grant that this operator has the word for.
func (p Pod) takesWord(revision string) bool {
	known := p.Status.Requested.Public()
	return p.Grant != "" && known.GrantFingerprint == instanceapi.Fingerprint(p.Grant) && p.Asked.Grant == p.Grant && known.Test == revision
}

// allowed is how many more pods may be asked to load the configuration now.
func (d *Decision) allowed(in Input) int {
	if in.Stable == in.Requested || in.Proven {
		// It has been served by all before: only stragglers are left.
		return len(in.Pods)
	}
	wave := 1
	switch {
	case anyComparing(in.Pods, in.Requested):
		return 0
	case len(d.Judge) > 0:
		wave = in.Canary.Replicas - d.Serving
	case d.Serving > 0:
		wave = max(leastWave, (len(in.Pods)+3)/4)
	}
	for _, p := range in.Pods {
		if p.Status != nil && p.mayLoad(in.Requested) && !p.serves(in.Requested) {
			wave--
		}
	}
	return wave
}

func (p Pod) canLoad(revision string) bool {
	return p.Status != nil && !p.serves(revision) && !p.mayLoad(revision) &&
		p.verdict(revision) != instanceapi.Failed && !p.startsWith(revision)
}

// loaded tells whether every pod serves the requested configuration, and will go on to.
// Pods that neither serve nor answer do not count: they boot from stable.
func (d *Decision) loaded(in Input) bool {
	for _, p := range in.Pods {
		if (p.Ready || p.Status != nil) && (!p.serves(in.Requested) || p.mayLoadOther(in.Requested)) {
			return false
		}
	}
	return d.Serving > 0 && len(d.Judge) == 0
}

// mayLoadOther tells whether the pod may be about to load something else, which it was
// let before the configuration was changed back.
func (p Pod) mayLoadOther(revision string) bool {
	return p.Status != nil && (other(p.Status.Granted, revision) || other(p.Status.Requested.Load, revision))
}

func other(asked, revision string) bool { return asked != "" && asked != revision }

// forget takes back what pods that serve the requested configuration were asked about
// another one.
func (d *Decision) forget(in Input) {
	for _, p := range in.Pods {
		want := p.Asked
		if other(want.Test, in.Requested) {
			want.Test, want.Grant = in.Requested, ""
		}
		if want.Load != "" || p.mayLoadOther(in.Requested) {
			want.Load = in.Requested
		}
		if p.serves(in.Requested) && want != p.Asked {
			d.Ask[p.Name] = want
		}
	}
}
