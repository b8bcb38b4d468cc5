package observe

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/nginxconf"
)

// history reads the history of the application.
func (o *Observer) history(ctx context.Context, app *application.Application, state *State) error {
	list := &appsv1.ControllerRevisionList{}
	err := o.cache.List(ctx, list,
		client.InNamespace(app.Namespace),
		client.MatchingFields{IndexOwner: ownerValue(app.UID, app.Name)},
		client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("list the history: %w", err)
	}
	state.History = history.Read(list.Items)
	return o.recordedFiles(ctx, app, state)
}

// recordedFiles reads the configurations of the revisions that may run again. The cache does not hold them, but
// usually one of the two ConfigMaps does.
func (o *Observer) recordedFiles(ctx context.Context, app *application.Application, state *State) error {
	state.RecordedFiles = map[string]nginxconf.Files{}
	for _, r := range SelectableRevisions(app, state.History) {
		files, err := o.revisionFiles(ctx, app, state, r)
		if err != nil {
			return err
		}
		state.RecordedFiles[r.Name] = files
	}
	return nil
}

// SelectableRevisions returns the revisions of the history that the next decision may select.
func SelectableRevisions(app *application.Application, h history.History) []*history.Revision {
	var wanted []*history.Revision
	if last := h.LastGood(""); last != nil {
		wanted = append(wanted, last)
	}
	if rollout := app.Spec.Rollout; rollout != nil && rollout.ToRevision != nil {
		if r := h.Numbered(*rollout.ToRevision); r != nil {
			wanted = append(wanted, r)
		}
	}
	waits := mayWait(app)
	for i := range h {
		if waits && h[i].Stage != "" {
			// It stays, or continues, while another rollout waits.
			wanted = append(wanted, &h[i])
		}
		if h[i].Failure.Attempt == "" {
			continue
		}
		if r := h.LastGood(h[i].Name); r != nil {
			wanted = append(wanted, r)
		}
	}
	return wanted
}

// mayWait reports whether a rollout may have to wait before it begins.
func mayWait(app *application.Application) bool {
	rollout := ptr.Deref(app.Spec.Rollout, v1alpha2.Rollout{})
	return app.Waits != "" || len(rollout.Gates) > 0 || ptr.Deref(rollout.Paused, false)
}

func (o *Observer) revisionFiles(ctx context.Context, app *application.Application, state *State, r *history.Revision) (nginxconf.Files, error) {
	if files, known := state.RecordedFiles[r.Name]; known {
		return files, nil
	}
	for _, name := range []string{naming.ConfigMap(app.Name), naming.ConfigMapNext(app.Name)} {
		if cm := state.Config(name); Rendered(cm) && cm.Annotations[naming.AnnotationConfig] == r.Config {
			return cm.Data, nil
		}
	}
	live := &appsv1.ControllerRevision{}
	err := o.live.Get(ctx, types.NamespacedName{Namespace: app.Namespace, Name: r.Name}, live)
	if apierrors.IsNotFound(err) {
		// The cache still shows it, but garbage collection is removing the application.
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read ControllerRevision %s: %w", r.Name, err)
	}
	whole := history.Revision{Name: live.Name, Raw: live.Data.Raw}
	data, err := whole.Data()
	return data.Config.Files, err
}
