package revision

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/internal/nginx/observe"
)

// stable returns the configuration that pods boot from: the requested one when every pod has served it,
// and otherwise what the operator wrote. If another client deleted that, it is the last good one. If
// another client changed it and its files are not known any more, it is what is there. It has no files if
// there is none.
func (p *progress) stable() nginxconf.Config {
	live := p.State.Config(naming.ConfigMap(p.Nginx.Name))
	if p.Rollout.Stable {
		return p.selection.Run.Config.Config
	}
	if live == nil {
		return p.lastGood()
	}
	written := live.Annotations[naming.AnnotationConfig]
	if files := p.written(live); files != nil {
		return nginxconf.Config{Files: files, Revision: written}
	}
	return nginxconf.Config{Files: maps.Clone(nginxconf.Files(live.Data)), Revision: written}
}

// stableRevision returns the revision of what pods boot from; empty if there is none, or if another client
// changed it and it cannot be restored.
func (p *progress) stableRevision() string {
	live := p.State.Config(naming.ConfigMap(p.Nginx.Name))
	if live == nil {
		return p.lastGood().Revision
	}
	if p.written(live) == nil {
		return ""
	}
	return live.Annotations[naming.AnnotationConfig]
}

// lastGood returns the configuration of the last good revision; it has no files if there is none.
func (p *progress) lastGood() nginxconf.Config {
	last := p.State.History.LastGood("")
	if last == nil || p.State.RecordedFiles[last.Name] == nil {
		return nginxconf.Config{}
	}
	return nginxconf.Config{Files: p.State.RecordedFiles[last.Name], Revision: last.Config}
}

// written returns the files that the operator wrote to a ConfigMap, even if another client changed them;
// nil if they are not known any more.
func (p *progress) written(live *corev1.ConfigMap) nginxconf.Files {
	revision := live.Annotations[naming.AnnotationConfig]
	switch {
	case revision == p.selection.Run.Config.Revision:
		return p.selection.Run.Config.Files
	case observe.Rendered(live):
		return live.Data
	}
	for i := range p.State.History {
		// Another client may have changed the history as well.
		if files := p.State.RecordedFiles[p.State.History[i].Name]; files != nil && nginxconf.Revision(files) == revision {
			return files
		}
	}
	return nil
}

// candidate returns the candidate: the requested configuration, or the stable one if there is none.
func (p *progress) candidate() Configuration {
	if p.selection.Run.Config.Revision != "" {
		return p.selection.Run.Config
	}
	return Configuration{Config: p.stable()}
}
