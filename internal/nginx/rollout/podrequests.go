package rollout

import "example.com/nginx-operator/internal/instanceapi"

// test requests every pod to test the requested configuration. A pod that does not answer yet may be about to boot
// with it. A ready pod that does not answer serves stable as far as is known: an operator that has just started may
// only not have reached it yet.
func (d *Decision) test(in Input) {
	for _, p := range in.Pods {
		answers := p.Status != nil || p.Ready && in.Stable != in.Requested
		if p.Requested.Test != in.Requested && answers && !p.startsWith(in.Requested) && !p.serves(in.Requested) {
			d.Requested[p.Name] = instanceapi.Requested{Test: in.Requested, TokenHash: p.TokenHash}
		}
	}
}

// startsWith reports whether the pod is about to serve a revision without a request. At first, an instance has not
// yet read what it boots with.
func (p Pod) startsWith(revision string) bool {
	return p.Status != nil && p.Status.Serving == "" && p.Requested.Load == "" &&
		(p.Status.Stable == revision || p.Status.Stable == "")
}

// goBack makes pods that loaded something else load stable again, so that a mix is not served for long. The other
// pods continue to test.
func (d *Decision) goBack(in Input) {
	for _, p := range in.Pods {
		want := p.Requested
		if in.Stable != "" && in.Stable != in.Requested && (p.servesUnrequested(in.Stable) || p.authorizedFor(in.Requested)) {
			want.Load, want.TokenHash = in.Stable, ""
		}
		if p.verdict(in.Requested) == "" && !p.startsWith(in.Requested) {
			want.Test = in.Requested
		}
		if p.Running && want != p.Requested {
			d.Requested[p.Name] = want
		}
	}
}

// servesUnrequested reports whether the pod serves something other than a revision.
func (p Pod) servesUnrequested(revision string) bool {
	return p.Status != nil && p.Status.Serving != "" && p.Status.Serving != revision
}

// authorizedFor reports whether the pod was authorized to load a revision.
func (p Pod) authorizedFor(revision string) bool {
	return p.Requested.Load == revision || p.Status != nil && p.Status.Authorized == revision
}

// load authorizes the canary, or the next wave, to load the requested configuration: by a load token, or by an
// annotation if that does not work. Pods of an old template decide nothing while those of the newest one do. They
// load it when all of them accept it: they are alike, and serve alike.
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
		if p.acceptsToken(in.Requested) && !in.Overdue {
			d.LoadRequests[p.Name] = true
		} else {
			d.Requested[p.Name] = instanceapi.Requested{Test: in.Requested, Load: in.Requested, TokenHash: p.Requested.TokenHash}
		}
		allowed--
	}
}

// acceptsToken reports whether the pod knows the hash of this operator's load token.
func (p Pod) acceptsToken(revision string) bool {
	known := p.Status.Requested.Public()
	return p.TokenHash != "" && known.TokenHashFingerprint == instanceapi.TokenHashFingerprint(p.TokenHash) && p.Requested.TokenHash == p.TokenHash && known.Test == revision
}

// allowed returns how many more pods may be authorized to load the configuration now.
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
		if p.Status != nil && p.authorizedFor(in.Requested) && !p.serves(in.Requested) {
			wave--
		}
	}
	return wave
}

func (p Pod) canLoad(revision string) bool {
	return p.Status != nil && !p.serves(revision) && !p.authorizedFor(revision) &&
		p.verdict(revision) != instanceapi.Failed && !p.startsWith(revision)
}

// allPodsLoaded reports whether every pod serves the requested configuration, and will continue to. Pods that neither serve
// nor answer do not count: they boot from stable.
func (d *Decision) allPodsLoaded(in Input) bool {
	for _, p := range in.Pods {
		if (p.Ready || p.Status != nil) && (!p.serves(in.Requested) || p.mayLoadOther(in.Requested)) {
			return false
		}
	}
	return d.Serving > 0 && len(d.AnalyzeAgain) == 0
}

// mayLoadOther reports whether the pod may be about to load another revision, which was authorized before the
// configuration was changed back.
func (p Pod) mayLoadOther(revision string) bool {
	return p.Status != nil && (isOtherRevision(p.Status.Authorized, revision) || isOtherRevision(p.Status.Requested.Load, revision))
}

func isOtherRevision(requested, revision string) bool {
	return requested != "" && requested != revision
}

// forget withdraws requests about another configuration from pods that serve the requested one.
func (d *Decision) forget(in Input) {
	for _, p := range in.Pods {
		want := p.Requested
		if isOtherRevision(want.Test, in.Requested) {
			want.Test, want.TokenHash = in.Requested, ""
		}
		if want.Load != "" || p.mayLoadOther(in.Requested) {
			want.Load = in.Requested
		}
		if p.serves(in.Requested) && want != p.Requested {
			d.Requested[p.Name] = want
		}
	}
}
