package revision

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/podtemplate"
)

// requestedRevision returns the revision that the spec requests. It keeps a template that any release
// of the operator made of the same spec, if the pods have it or were about to get it.
func (in *Input) requestedRevision(config Configuration, unknown bool) (Revision, error) {
	requested := Revision{Spec: history.Inputs(&in.Nginx.Spec), Config: config}
	var err error
	if requested.Inputs, err = history.Hash(requested.Spec); err != nil {
		return requested, err
	}
	if failed := in.failedWith(requested.Inputs); unknown && failed != nil {
		// While its configuration cannot be had, the attempt is still the one that failed.
		requested.Config = Configuration{Config: nginxconf.Config{Revision: failed.Config}}
	}
	if r := in.recordedTemplate(requested.Inputs); r != nil {
		kept, err := in.recorded(r)
		if err != nil {
			return requested, err
		}
		requested.Template, requested.Protocol = kept.Template, kept.Protocol
	} else {
		if requested.Template, err = in.newTemplate(); err != nil {
			return requested, err
		}
		requested.Protocol = instanceapi.Protocol
	}
	requested.identify(in.Nginx.Name)
	return requested, nil
}

// newTemplate returns the template of this release. If the history is lost, the pods keep theirs.
func (in *Input) newTemplate() (*podtemplate.Template, error) {
	if in.renews() {
		return podtemplate.Build(in.Nginx, in.Options.images())
	}
	return podtemplate.BuildLike(in.State.TemplateOfWorkload(), in.Nginx, in.Options.images())
}

// renews reports whether the pods get the template of this release.
func (in *Input) renews() bool { return in.Renew || in.neverServed() }

// neverServed reports whether no pod of an application has ever served, although the cluster has tried: it may lack what the
// operator was given since, such as a pull secret.
func (in *Input) neverServed() bool {
	if len(in.State.History) == 0 || in.State.History.LastGood("") != nil || slices.ContainsFunc(in.State.Pods, ready) {
		return false
	}
	w := in.State.Workload()
	return len(in.State.Pods) > 0 || w != nil && w.Refused != ""
}

func ready(pod corev1.Pod) bool { return observe.Ready(&pod) }

// failedWith returns the revision of the same spec whose rollout failed; nil if none did.
func (in *Input) failedWith(inputs string) *history.Revision {
	for i := range in.State.History {
		if r := &in.State.History[i]; r.Inputs == inputs && r.Failure.Attempt != "" {
			return r
		}
	}
	return nil
}

// recordedTemplate returns the revision whose template stays, although this release might make another
// one of the same spec; nil if there is none.
func (in *Input) recordedTemplate(inputs string) *history.Revision {
	live := in.State.LiveTemplate()
	var kept *history.Revision
	for i := range in.State.History {
		r := &in.State.History[i]
		if r.Inputs != inputs {
			continue
		}
		if r.Template == live {
			kept = r
			break
		}
		if r.Stage != "" || r.State != history.StateGood {
			kept = r
		}
	}
	if kept == nil || in.renews() {
		return nil
	}
	if data, err := kept.Data(); err == nil && data.Protocol < instanceapi.OldestProtocol {
		return nil
	}
	return kept
}

// recorded reads a revision of the history.
func (in *Input) recorded(r *history.Revision) (Revision, error) {
	data, err := r.Data()
	if err != nil {
		return Revision{}, err
	}
	template := new(podtemplate.Template)
	if err := json.Unmarshal(data.Template, template); err != nil {
		return Revision{}, fmt.Errorf("read the pod template of ControllerRevision %s: %w", r.Name, err)
	}
	return Revision{
		Name:     r.Name,
		Spec:     data.Spec,
		Inputs:   r.Inputs,
		Template: template,
		Hash:     r.Template,
		Protocol: data.Protocol,
		Config:   Configuration{Config: nginxconf.Config{Revision: r.Config, Files: in.State.RecordedFiles[r.Name]}},
	}, nil
}

// identify sets the name and hash that follow from the template and the configuration.
func (r *Revision) identify(application string) {
	r.Hash = podtemplate.Hash(r.Template)
	r.Name = naming.Revision(application, history.NameHash(r.Hash, r.Config.Revision))
}
