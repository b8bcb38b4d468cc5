package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/plugin/console/page"
	"example.com/nginx-operator/internal/plugin/edits"
	"example.com/nginx-operator/internal/plugin/encode"
	"example.com/nginx-operator/internal/plugin/watch"
)

const (
	// maxEdit bounds the body of a request for a change.
	maxEdit = 64 << 10
	// readTimeout bounds the wait for it.
	readTimeout = 10 * time.Second
)

// editRequest requests a change of an application.
type editRequest struct {
	Command   string   `json:"command"`
	Arguments []string `json:"arguments"`
	// DryRun has the API server check the change, and makes none.
	DryRun bool `json:"dryRun"`
	// Reviewed is what the user has agreed to, as a dry run has said it; empty: anything.
	Reviewed string `json:"reviewed"`
}

// editAnswer is what a change makes of an application.
type editAnswer struct {
	Done string `json:"done"`
	// Command is the one of kubectl that makes the same change.
	Command string `json:"command"`
	// Lines are the changes of the spec and of the annotations.
	Lines []page.Line `json:"lines"`
}

// edit makes a change, or a dry run of it.
func (c *console) edit(w http.ResponseWriter, r *http.Request, v *Viewer) {
	request, err := readEdit(w, r)
	if err != nil {
		refuse(w, err)
		return
	}
	change, err := find(request)
	if err != nil {
		refuse(w, err)
		return
	}
	key := types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
	made, err := request.make(r, v, change, key)
	if err != nil {
		refuse(w, err)
		return
	}
	answer(w, http.StatusOK, made)
}

// readEdit reads the body of a request.
func readEdit(w http.ResponseWriter, r *http.Request) (*editRequest, error) {
	controller := http.NewResponseController(w)
	if err := controller.SetReadDeadline(time.Now().Add(readTimeout)); err != nil {
		return nil, err
	}
	request := &editRequest{}
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxEdit))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(request); err != nil {
		return nil, invalid{fmt.Errorf("the request is no change of an application: %w", err)}
	}
	// A deadline that stays would end the request while the API server is at work.
	return request, controller.SetReadDeadline(time.Time{})
}

// find returns the change of a request.
func find(request *editRequest) (edits.Edit, error) {
	for _, e := range edits.All() {
		switch {
		case e.Command != request.Command:
		case len(request.Arguments) < e.Required() || len(request.Arguments) > len(e.Arguments):
			return e, invalid{fmt.Errorf("%s needs %s", e.Command, strings.Join(append([]string{"the name"}, e.Arguments...), ", "))}
		default:
			return e, nil
		}
	}
	return edits.Edit{}, invalid{fmt.Errorf("there is no change %q: reload the page", request.Command)}
}

// make sends the change to the API server. Fields that other clients change meanwhile stay.
func (e *editRequest) make(r *http.Request, v *Viewer, change edits.Edit, key types.NamespacedName) (*editAnswer, error) {
	path := pathOf(key.Namespace, applications, v1alpha2.GroupVersion) + "/" + key.Name
	nginx, err := decode(watch.Raw(v.raw.Get().AbsPath(path).Do(r.Context())))
	if err != nil {
		return nil, err
	}
	before, target := nginx.DeepCopy(), edits.Target{NginxOperator: nginx}
	if change.NeedsHistory {
		if target.History, err = v.history(r.Context(), key); err != nil {
			return nil, err
		}
	}
	done, err := change.Change(target, e.Arguments)
	if err != nil {
		return nil, invalid{err}
	}
	if e.Reviewed != "" && e.Reviewed != done {
		return nil, invalid{fmt.Errorf("the application has changed since the review, so that it would be %s: review the change again", done)}
	}
	after, err := v.patch(r.Context(), path, change.Patch(before), nginx, e.DryRun)
	if err != nil {
		return nil, err
	}
	lines, err := difference(before, after)
	return &editAnswer{Done: done, Command: command(change, key, e.Arguments), Lines: lines}, err
}

// patch sends what a change makes of an object, and returns the object of the API server.
func (v *Viewer) patch(ctx context.Context, path string, of client.Patch, after *v1alpha2.NginxOperator, dryRun bool) (*v1alpha2.NginxOperator, error) {
	patch, err := of.Data(after)
	if err != nil {
		return nil, err
	}
	request := v.raw.Patch(types.MergePatchType).AbsPath(path).Param("fieldManager", edits.FieldOwner).Body(patch)
	if dryRun {
		request = request.Param("dryRun", metav1.DryRunAll)
	}
	return decode(watch.Raw(request.Do(ctx)))
}

// history reads the revisions of an application.
func (v *Viewer) history(ctx context.Context, key types.NamespacedName) (history.History, error) {
	found := &appsv1.ControllerRevisionList{}
	err := v.raw.Get().AbsPath(pathOf(key.Namespace, "controllerrevisions", appsv1.SchemeGroupVersion)).
		Param("labelSelector", naming.Selector(key.Name).String()).Do(ctx).Into(found)
	return history.Read(found.Items), err
}

// decode decodes an answer of the API server.
func decode(raw []byte, err error) (*v1alpha2.NginxOperator, error) {
	nginx := &v1alpha2.NginxOperator{}
	if err == nil {
		err = json.Unmarshal(raw, nginx)
	}
	return nginx, err
}

// difference returns the changed lines of the annotations and the spec, with those around them.
func difference(before, after *v1alpha2.NginxOperator) ([]page.Line, error) {
	var texts [2]string
	for i, n := range []*v1alpha2.NginxOperator{before, after} {
		text, err := encode.YAML(map[string]any{"metadata": map[string]any{"annotations": n.Annotations}, "spec": n.Spec})
		if err != nil {
			return nil, err
		}
		texts[i] = string(text)
	}
	return page.Hunks(texts[0], texts[1]), nil
}

// command returns the command that makes a change.
func command(change edits.Edit, key types.NamespacedName, arguments []string) string {
	words := slices.Concat([]string{"kubectl", "nginx"}, strings.Fields(change.Command), []string{key.Name}, arguments, []string{"-n", key.Namespace})
	for i, word := range words {
		words[i] = quote(word)
	}
	return strings.Join(words, " ")
}

var plainWord = regexp.MustCompile(`^[-._:/@%+=a-zA-Z0-9]+$`)

// quote quotes a word for a shell, if needed.
func quote(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
