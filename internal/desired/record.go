package desired

import (
	"cmp"
	"encoding/json"
	"strings"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/history"
	"example.com/nginx-operator/internal/naming"
	"example.com/nginx-operator/internal/nginxconf"
	"example.com/nginx-operator/internal/observe"
	"example.com/nginx-operator/internal/rollout"
	"example.com/nginx-operator/internal/trouble"
)

// Record is one write to the history.
type Record struct {
	// Revision as it should be; of one that exists, only the metadata changes.
	Revision history.Revision
	// Delete tells that nobody needs it any more.
	Delete bool
	// Vital tells that the Deployment must not get its template before it is written.
	Vital bool
}

// records are the writes that keep the history true. They come before all others: what
// they remember must not be lost when the operator is killed in between.
func (in *input) records() ([]Record, error) {
	if in.course.run.config.Revision == "" {
		return nil, nil
	}
	r, err := in.news()
	if err != nil {
		return nil, err
	}
	var records []Record
	if r.Name != "" {
		records = append(records, Record{Revision: r, Vital: in.state.LiveTemplate() != in.course.run.hash})
	}
	records = append(records, in.forgotten(r.Name)...)
	return append(records, in.stale(r.Name)...), nil
}

// forgotten are the revisions whose rollout or failure is of no concern any more: it was
// of an attempt that nobody makes any longer, or another revision of the same template has
// become good meanwhile.
func (in *input) forgotten(written string) []Record {
	var records []Record
	for _, r := range in.state.History {
		before := r
		if r.Failure.Attempt != in.course.attempt {
			r.Failure = history.Failure{}
		}
		if r.Failures.Attempt != in.course.attempt {
			r.Failures = history.Failures{}
		}
		if r.Template != in.course.run.hash || in.over() {
			r.Stage = ""
		}
		changed := r.Stage != before.Stage || r.Failure != before.Failure || r.Failures != before.Failures
		if changed && r.Name != written && (r.State == history.Good || r.Template == in.course.run.hash) {
			records = append(records, Record{Revision: r})
		}
	}
	return records
}

// over tells whether every pod is of what runs, and serves.
func (in *input) over() bool {
	settled := in.began == nil && !in.course.back() && !in.course.held() && in.complete()
	return in.step.Outcome == rollout.Done || settled
}

// news is what has to be noted about what runs; zero: nothing.
func (in *input) news() (history.Revision, error) {
	switch {
	case in.failed().Reason != "":
		return in.failedRecord()
	case in.over():
		return in.goodRecord()
	case in.began != nil:
		return in.rollingRecord()
	default:
		return history.Revision{}, nil
	}
}

// failed is why what runs must not go on; zero: it may.
func (in *input) failed() trouble.Trouble {
	if in.course.failure != nil || in.state.History.LastGood(in.course.run.name) == nil {
		// It has been told already, or there is nothing to go back to.
		return trouble.Trouble{}
	}
	if in.step.Outcome == rollout.Failing {
		return in.step.Trouble
	}
	if in.decision.CanaryFailure != "" {
		return trouble.Trouble{Reason: v1alpha2.ReasonCanaryFailed, Message: in.decision.CanaryFailure}
	}
	return trouble.Trouble{}
}

func (in *input) failedRecord() (history.Revision, error) {
	t := in.failed()
	r, err := in.runRecord()
	r.Failure = history.Failure{Attempt: in.course.attempt, Reason: t.Reason, Message: trouble.Clip(t.Message), At: in.state.Now}
	r.Failures = history.Failures{Attempt: in.course.attempt, Count: r.Failures.Of(in.course.attempt) + 1}
	r.Stage = ""
	if r.State != history.Good {
		r.State = history.Failed
	}
	return r, err
}

// rollingRecord notes that the rollout has begun, or has come further; zero: it is noted.
func (in *input) rollingRecord() (history.Revision, error) {
	r := *in.began
	if noted := in.state.History.Named(r.Name); noted != nil && noted.Stage == in.step.Stage && noted.Failure == r.Failure {
		return history.Revision{}, nil
	}
	r.Stage = in.step.Stage
	if !r.Exists() {
		return r, in.fill(&r, in.course.run.config.Config)
	}
	if r.Cause != "" {
		return r, nil
	}
	// It is asked for once more, for a reason of its own.
	var err error
	r.Cause, err = in.cause(&r)
	return r, err
}

// goodRecord notes that every pod is of the revision, and serves; zero: it is noted. A
// configuration that is refused does not keep the template from being good with the one
// that is served.
func (in *input) goodRecord() (history.Revision, error) {
	served := in.course.run.config.Config
	if in.decision.Phase == rollout.Rejected {
		served = in.stable()
	}
	name := naming.Revision(in.nginx.Name, history.NameHash(in.course.run.hash, served.Revision))
	last := in.state.History.LastGood("")
	if last != nil && last.Name == name && last.Stage == "" {
		return in.completed(last), nil
	}
	r := in.newRecord()
	r.Name, r.Config = name, served.Revision
	if known := in.state.History.Named(name); known != nil {
		number, begun := r.Number, known.Stage != ""
		r = *known
		if !in.course.pinned && !begun {
			r.Number = number
		}
	}
	r.State, r.Stage, r.ServedAt = history.Good, "", in.state.Now
	r.Failure, r.Failures = history.Failure{}, history.Failures{}
	if last != nil && !r.ServedAt.After(last.ServedAt) {
		// Another clock was ahead. What served last has to be the last all the same.
		r.ServedAt = last.ServedAt.Add(1)
	}
	r.ImageDigest = in.imageDigest()
	if r.Exists() {
		return r, nil
	}
	return r, in.fill(&r, served)
}

// completed is a good revision of which the spec now says the same in other words, a default
// that is spelt out for example, or whose image the kubelet did not tell when it became good; zero:
// nothing is to be added to it.
func (in *input) completed(r *history.Revision) history.Revision {
	same := *r
	same.Inputs = in.course.run.inputs
	same.ImageDigest = cmp.Or(r.ImageDigest, in.imageDigest())
	if same.Inputs == r.Inputs && same.ImageDigest == r.ImageDigest {
		return history.Revision{}
	}
	return same
}

// runRecord is the record of what runs.
func (in *input) runRecord() (history.Revision, error) {
	if known := in.state.History.Named(in.course.run.name); known != nil {
		return *known, nil
	}
	r := in.newRecord()
	return r, in.fill(&r, in.course.run.config.Config)
}

// newRecord is one of what runs that does not exist yet, without data.
func (in *input) newRecord() history.Revision {
	run := in.course.run
	return history.Revision{
		Name:      run.name,
		Number:    in.state.History.NextNumber(),
		State:     history.Candidate,
		Inputs:    run.inputs,
		Template:  run.hash,
		Config:    run.config.Revision,
		Image:     run.image(),
		StartedAt: in.state.Now,
	}
}

// fill gives a new record its data and its cause.
func (in *input) fill(r *history.Revision, config nginxconf.Config) error {
	run := in.course.run
	template, err := json.Marshal(run.template)
	if err != nil {
		return err
	}
	r.Raw, err = history.Data{
		Spec:     run.spec,
		Template: template,
		Config:   history.Config{Revision: config.Revision, Files: config.Files},
		Protocol: run.protocol,
	}.Encode()
	if err != nil {
		return err
	}
	r.Cause, err = in.cause(r)
	return err
}

func (in *input) cause(r *history.Revision) (string, error) {
	last := in.state.History.LastGood(r.Name)
	if last == nil {
		return history.Cause(nil, "", "", nil, "", ""), nil
	}
	before, err := last.Data()
	if err != nil {
		return "", err
	}
	return history.Cause(&before, last.Image, last.Config, &in.course.run.spec, r.Image, r.Config), nil
}

// image is that of the nginx container.
func (r *revision) image() string {
	for _, c := range r.template.Spec.Containers {
		if c.Name != nil && *c.Name == naming.NginxContainer && c.Image != nil {
			return *c.Image
		}
	}
	return ""
}

// imageDigest is what the kubelet says that the pods run: a name with a digest, or only
// that.
func (in *input) imageDigest() string {
	for i := range in.state.Pods {
		pod := &in.state.Pods[i]
		if !observe.Ready(pod) || observe.TemplateOf(pod) != in.course.run.hash {
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

// stale are the records that nobody needs any more.
func (in *input) stale(written string) []Record {
	used := map[string]bool{in.course.asked.name: true, in.course.run.name: true, written: true}
	live := in.state.LiveTemplate()
	var deletes []Record
	for _, r := range in.state.History.Stale(in.course.attempt, func(r *history.Revision) bool {
		return used[r.Name] || r.Template == live && in.onlyOfTemplate(r)
	}) {
		deletes = append(deletes, Record{Revision: r, Delete: true})
	}
	return deletes
}

// onlyOfTemplate tells whether a revision is the only one that remembers a template, or
// how far its rollout has come.
func (in *input) onlyOfTemplate(r *history.Revision) bool {
	if r.Stage != "" {
		return true
	}
	for i := range in.state.History {
		if other := &in.state.History[i]; other.Name != r.Name && other.Template == r.Template {
			return false
		}
	}
	return true
}
