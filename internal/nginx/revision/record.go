package revision

import (
	"cmp"
	"encoding/json"
	"strings"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/poddiagnosis"
	"example.com/nginx-operator/internal/nginx/podtemplate"
	"example.com/nginx-operator/internal/nginx/rollout"
)

// Record is one write to the history.
type Record struct {
	// Revision as it should be. If it exists, only its metadata changes.
	Revision history.Revision
	// Delete reports whether the revision is no longer needed.
	Delete bool
	// Essential reports whether the Deployment must not get its template before the record is written.
	Essential bool
}

// records returns the writes that keep the history true. They come before all other writes, so that they are not lost
// if the operator is killed in between.
func (p *progress) records() ([]Record, error) {
	if p.selection.Run.Config.Revision == "" {
		return nil, nil
	}
	r, err := p.changedRecord()
	if err != nil {
		return nil, err
	}
	var records []Record
	if r.Name != "" {
		records = append(records, Record{Revision: r, Essential: p.State.LiveTemplate() != p.selection.Run.Hash})
	}
	records = append(records, p.obsoleteRecords(r.Name)...)
	return append(records, p.stale(r.Name)...), nil
}

// obsoleteRecords returns the revisions whose rollout or failure no longer matters: its attempt is no longer
// requested, or another revision of the same template has become good.
func (p *progress) obsoleteRecords(written string) []Record {
	var records []Record
	for _, r := range p.State.History {
		before := r
		if r.Failure.Attempt != p.selection.Attempt {
			r.Failure = history.Failure{}
		}
		if r.Failures.Attempt != p.selection.Attempt {
			r.Failures = history.Failures{}
		}
		if r.Template != p.selection.Run.Hash || p.isComplete() {
			r.Stage = ""
		}
		changed := r.Stage != before.Stage || r.Failure != before.Failure || r.Failures != before.Failures
		if changed && r.Name != written && (r.State == history.StateGood || r.Template == p.selection.Run.Hash) {
			records = append(records, Record{Revision: r})
		}
	}
	return records
}

// isComplete reports whether every pod is of the selected revision, and serves.
func (p *progress) isComplete() bool {
	settled := p.Began == nil && !p.selection.Mode.ReturnsToEarlier() && p.selection.Mode != Held && p.Settled
	return p.Step.Outcome == rollout.Done || settled
}

// changedRecord returns the record that changes for the selected revision; zero if none does.
func (p *progress) changedRecord() (history.Revision, error) {
	switch {
	case p.failed().Reason != "":
		return p.failedRecord()
	case p.isComplete():
		return p.goodRecord()
	case p.Began != nil:
		return p.rollingRecord()
	default:
		return history.Revision{}, nil
	}
}

// failed returns why the selected revision must not continue; zero if it may.
func (p *progress) failed() poddiagnosis.Diagnosis {
	if p.selection.Mode.Failed() || p.State.History.LastGood(p.selection.Run.Name) == nil {
		// It is recorded already, or there is no revision to return to.
		return poddiagnosis.Diagnosis{}
	}
	if p.Step.Outcome == rollout.Failing {
		return p.Step.Diagnosis
	}
	if p.Rollout.CanaryFailure != "" {
		return poddiagnosis.Diagnosis{Reason: v1alpha2.ReasonCanaryFailed, Message: p.Rollout.CanaryFailure}
	}
	return poddiagnosis.Diagnosis{}
}

func (p *progress) failedRecord() (history.Revision, error) {
	t := p.failed()
	r, err := p.runRecord()
	r.Failure = history.Failure{Attempt: p.selection.Attempt, Reason: t.Reason, Message: poddiagnosis.Clip(t.Message), At: p.Now}
	r.Failures = history.Failures{Attempt: p.selection.Attempt, Count: r.Failures.Of(p.selection.Attempt) + 1}
	r.Stage = ""
	if r.State != history.StateGood {
		r.State = history.StateFailed
	}
	return r, err
}

// rollingRecord records that the rollout has begun or advanced; zero if that is recorded.
func (p *progress) rollingRecord() (history.Revision, error) {
	r := *p.Began
	if noted := p.State.History.Named(r.Name); noted != nil && noted.Stage == p.Step.Stage && noted.Paused == r.Paused && noted.Failure == r.Failure && noted.StartedAt.Equal(r.StartedAt) {
		return history.Revision{}, nil
	}
	r.Stage = p.Step.Stage
	if !r.Exists() {
		return r, p.fill(&r, p.selection.Run.Config.Config)
	}
	if r.Cause != "" {
		return r, nil
	}
	// It is requested again, for a reason of its own.
	var err error
	r.Cause, err = p.cause(&r)
	return r, err
}

// goodRecord records that every pod is of the revision, and serves; zero if that is recorded. A refused configuration
// does not keep the template from being good with the one that is served.
func (p *progress) goodRecord() (history.Revision, error) {
	served := p.selection.Run.Config.Config
	if p.Rollout.Phase == rollout.Rejected {
		served = p.stable()
	}
	name := naming.Revision(p.Nginx.Name, history.NameHash(p.selection.Run.Hash, served.Revision))
	last := p.State.History.LastGood("")
	if last != nil && last.Name == name && last.Stage == "" {
		return p.completed(last), nil
	}
	r := p.newRecord()
	r.Name, r.Config = name, served.Revision
	if known := p.State.History.Named(name); known != nil {
		number, begun := r.Number, known.Stage != ""
		r = *known
		if p.selection.PinnedTo == 0 && !begun {
			r.Number = number
		}
	}
	r.State, r.Stage, r.ServedAt = history.StateGood, "", p.Now
	r.Failure, r.Failures = history.Failure{}, history.Failures{}
	if last != nil && !r.ServedAt.After(last.ServedAt) {
		// The clock of another operator was ahead. What served last must still be the last.
		r.ServedAt = last.ServedAt.Add(1)
	}
	r.ImageDigest = p.imageDigest()
	if r.Exists() {
		return r, nil
	}
	return r, p.fill(&r, served)
}

// completed returns a good revision with what was learned later: an equivalent spec, such as one with a default
// spelled out, or the image digest that the kubelet reported late; zero if there is nothing to add.
func (p *progress) completed(r *history.Revision) history.Revision {
	same := *r
	same.Inputs = p.selection.Run.Inputs
	same.ImageDigest = cmp.Or(r.ImageDigest, p.imageDigest())
	if same.Inputs == r.Inputs && same.ImageDigest == r.ImageDigest {
		return history.Revision{}
	}
	return same
}

// runRecord returns the record of the selected revision.
func (p *progress) runRecord() (history.Revision, error) {
	if known := p.State.History.Named(p.selection.Run.Name); known != nil {
		return *known, nil
	}
	r := p.newRecord()
	return r, p.fill(&r, p.selection.Run.Config.Config)
}

// newRecord returns a record for the selected revision, without data.
func (p *progress) newRecord() history.Revision {
	run := p.selection.Run
	return history.Revision{
		Name:      run.Name,
		Number:    p.State.History.NextNumber(),
		State:     history.StateCandidate,
		Inputs:    run.Inputs,
		Template:  run.Hash,
		Config:    run.Config.Revision,
		Image:     podtemplate.Image(run.Template),
		StartedAt: p.Now,
	}
}

// fill gives a new record its data and its cause.
func (p *progress) fill(r *history.Revision, config nginxconf.Config) error {
	run := p.selection.Run
	template, err := json.Marshal(run.Template)
	if err != nil {
		return err
	}
	r.Raw, err = history.Data{
		Spec:     run.Spec,
		Template: template,
		Config:   history.Config{Revision: config.Revision, Files: config.Files},
		Protocol: run.Protocol,
	}.Encode()
	if err != nil {
		return err
	}
	r.Cause, err = p.cause(r)
	return err
}

func (p *progress) cause(r *history.Revision) (string, error) {
	last := p.State.History.LastGood(r.Name)
	if last == nil {
		return history.Cause(nil, "", "", nil, "", ""), nil
	}
	before, err := last.Data()
	if err != nil {
		return "", err
	}
	return history.Cause(&before, last.Image, last.Config, &p.selection.Run.Spec, r.Image, r.Config), nil
}

// imageDigest returns the image that the kubelet reports: a name with a digest, or only the digest.
func (p *progress) imageDigest() string {
	for i := range p.State.Pods {
		pod := &p.State.Pods[i]
		if !observe.Ready(pod) || observe.TemplateOf(pod) != p.selection.Run.Hash {
			continue
		}
		for _, s := range pod.Status.ContainerStatuses {
			if s.Name == naming.NginxContainer {
				return s.ImageID[strings.LastIndex(s.ImageID, "@")+1:]
			}
		}
	}
	return ""
}

// stale returns the deletions of records that are no longer needed.
func (p *progress) stale(written string) []Record {
	used := map[string]bool{p.selection.Requested.Name: true, p.selection.Run.Name: true, written: true}
	live := p.State.LiveTemplate()
	var deletes []Record
	for _, r := range p.State.History.Stale(p.selection.Attempt, func(r *history.Revision) bool {
		return used[r.Name] || r.Template == live && p.onlyOfTemplate(r)
	}) {
		deletes = append(deletes, Record{Revision: r, Delete: true})
	}
	return deletes
}

// onlyOfTemplate reports whether a revision is the only one that records a template, or the progress of its rollout.
func (p *progress) onlyOfTemplate(r *history.Revision) bool {
	if r.Stage != "" {
		return true
	}
	for i := range p.State.History {
		if other := &p.State.History[i]; other.Name != r.Name && other.Template == r.Template {
			return false
		}
	}
	return true
}
