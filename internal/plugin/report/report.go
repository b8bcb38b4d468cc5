// Package report collects what support needs to know about applications, without what looks like a secret. It never reads a
// Secret.
package report

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/plugin/encode"
	"example.com/nginx-operator/internal/plugin/explain"
	"example.com/nginx-operator/internal/plugin/redact"
	"example.com/nginx-operator/internal/plugin/screen"
	"example.com/nginx-operator/internal/plugin/view"
)

const (
	// tailLines bounds the log of a container, and maxLog its bytes.
	tailLines = 2000
	maxLog    = 4 << 20
)

// Options say what is reported.
type Options struct {
	// Namespace is the one of the applications; empty: all. Name is one application; empty: all of them.
	Namespace, Name string
	// Operator is the namespace of the operator.
	Operator string
	// Version is that of the plugin.
	Version string
	Now     time.Time
}

// Collector reads what is reported, with the rights of the user.
type Collector struct {
	Client   client.Client
	Raw      rest.Interface
	Measurer view.Measurer
	// Progress is told what is being read.
	Progress func(string)
}

// run is a report that is being written.
type run struct {
	Collector
	options Options
	archive *archive
	// missing says what could not be read, and why.
	missing []string
}

// Write writes a report. What cannot be read is left out, and named in the report and in the result.
func (c Collector) Write(ctx context.Context, w io.Writer, o Options) (missing []string, err error) {
	r := &run{Collector: c, options: o, archive: newArchive(w, "nginx-report-"+o.Now.UTC().Format("060102-150405"), o.Now)}
	for _, part := range []func(context.Context) error{r.cluster, r.operator, r.applications} {
		if err := part(ctx); err != nil {
			return nil, err
		}
	}
	summary := fmt.Sprintf("kubectl nginx %s, %s\n", o.Version, o.Now.UTC().Format(time.RFC3339))
	if len(r.missing) > 0 {
		summary += "\nNot included:\n" + strings.Join(r.missing, "\n") + "\n"
	}
	if err := r.archive.add("README.txt", []byte(summary)); err != nil {
		return nil, err
	}
	return r.missing, r.archive.close()
}

// skip notes what could not be read. It returns the error if the context has ended.
func (r *run) skip(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.missing = append(r.missing, redact.Text(fmt.Sprintf("%s: %v", what, err)))
	return nil
}

// kinds are those of which everything is reported that belongs to an application or to the operator.
var (
	clusterKinds = []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("Node"),
		{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
	}
	operatorKinds = []schema.GroupVersionKind{
		{Group: "apps", Version: "v1", Kind: "Deployment"}, corev1.SchemeGroupVersion.WithKind("Pod"),
		{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}, {Group: "events.k8s.io", Version: "v1", Kind: "Event"},
	}
)

func (r *run) cluster(ctx context.Context) error {
	r.Progress("the cluster")
	version, err := r.Raw.Get().AbsPath("/version").DoRaw(ctx)
	if err != nil {
		if err := r.skip(ctx, "the version of the API server", err); err != nil {
			return err
		}
	} else if err := r.archive.add("cluster/version.json", version); err != nil {
		return err
	}
	for _, kind := range clusterKinds {
		if err := r.list(ctx, "cluster", kind, related); err != nil {
			return err
		}
	}
	return nil
}

// related leaves out the definitions of others, and drops the schemas.
func related(o *unstructured.Unstructured) bool {
	if o.GetKind() != "CustomResourceDefinition" {
		return true
	}
	group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
	versions, _, _ := unstructured.NestedSlice(o.Object, "spec", "versions")
	for _, v := range versions {
		if fields, ok := v.(map[string]any); ok {
			delete(fields, "schema")
		}
	}
	// The object is a copy, and has a list of versions.
	_ = unstructured.SetNestedSlice(o.Object, versions, "spec", "versions")
	return strings.HasSuffix(group, v1alpha2.GroupVersion.Group)
}

func (r *run) operator(ctx context.Context) error {
	r.Progress("the operator")
	for _, kind := range operatorKinds {
		if err := r.list(ctx, "operator", kind, nil, client.InNamespace(r.options.Operator)); err != nil {
			return err
		}
	}
	pods := &corev1.PodList{}
	if err := r.Client.List(ctx, pods, client.InNamespace(r.options.Operator)); err != nil {
		return r.skip(ctx, "the logs of the operator", err)
	}
	return r.logs(ctx, "operator", pods.Items)
}

func (r *run) applications(ctx context.Context) error {
	found := &v1alpha2.NginxOperatorList{}
	if err := r.Client.List(ctx, found, client.InNamespace(r.options.Namespace)); err != nil {
		return err
	}
	for i := range found.Items {
		if n := &found.Items[i]; r.options.Name == "" || r.options.Name == n.Name {
			if err := r.application(ctx, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// application reports one application: its screens, its objects, and what its pods say.
func (r *run) application(ctx context.Context, n *v1alpha2.NginxOperator) error {
	r.Progress(n.Namespace + "/" + n.Name)
	folder := path.Join("applications", n.Namespace, n.Name)
	if err := r.screens(ctx, folder, n); err != nil {
		return err
	}
	own := v1alpha2.GroupVersion.WithKind(v1alpha2.Kind)
	if err := r.list(ctx, folder, own, func(o *unstructured.Unstructured) bool { return o.GetName() == n.Name }, client.InNamespace(n.Namespace)); err != nil {
		return err
	}
	for _, kind := range view.Belonging() {
		if err := r.list(ctx, folder, kind, nil, client.InNamespace(n.Namespace), client.MatchingLabels(naming.SelectorLabels(n.Name))); err != nil {
			return err
		}
	}
	pods, err := view.ReadPods(ctx, r.Client, n)
	if err != nil {
		return r.skip(ctx, folder+"/pods", err)
	}
	if err := r.logs(ctx, folder, pods); err != nil {
		return err
	}
	return r.measured(ctx, folder, pods)
}

// screens adds what the commands show.
func (r *run) screens(ctx context.Context, folder string, n *v1alpha2.NginxOperator) error {
	a, err := view.ReadApplication(ctx, r.Client, n, r.Measurer)
	if err != nil {
		return r.skip(ctx, folder+"/status.txt", err)
	}
	for name, show := range map[string]func(screen.Printer) error{
		"status.txt":  func(p screen.Printer) error { return p.Status(*a) },
		"explain.txt": func(p screen.Printer) error { return p.Explain(explain.Explain(a)) },
		"history.txt": func(p screen.Printer) error { return p.History(a.History, n.Status.Revision) },
	} {
		var out bytes.Buffer
		if err := show(screen.Printer{Out: &out, Now: r.options.Now}); err != nil {
			return err
		}
		if err := r.archive.add(path.Join(folder, name), []byte(redact.Text(out.String()))); err != nil {
			return err
		}
	}
	return nil
}

// list adds the objects of a kind. keep selects them, and may change them; nil: all.
func (r *run) list(ctx context.Context, folder string, kind schema.GroupVersionKind, keep func(*unstructured.Unstructured) bool, options ...client.ListOption) error {
	found := &unstructured.UnstructuredList{}
	found.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	err := r.Client.List(ctx, found, options...)
	switch {
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return r.skip(ctx, path.Join(folder, kind.Kind), err)
	}
	var all []string
	for i := range found.Items {
		object := &found.Items[i]
		if keep != nil && !keep(object) {
			continue
		}
		Sanitize(object)
		text, err := encode.YAML(object.Object)
		if err != nil {
			return err
		}
		all = append(all, string(text))
	}
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	return r.archive.add(path.Join(folder, strings.ToLower(kind.Kind)+".yaml"), []byte(strings.Join(all, "---\n")))
}

// logs adds the last lines of all containers of pods.
func (r *run) logs(ctx context.Context, folder string, pods []corev1.Pod) error {
	for i := range pods {
		for _, c := range pods[i].Status.ContainerStatuses {
			if c.State.Running == nil && c.State.Terminated == nil {
				continue
			}
			name := path.Join(folder, "logs", pods[i].Name+"."+c.Name+".log")
			body, err := r.Raw.Get().AbsPath("/api/v1/namespaces", pods[i].Namespace, "pods", pods[i].Name, "log").
				Param("container", c.Name).Param("timestamps", "true").Param("tailLines", fmt.Sprint(tailLines)).
				Param("limitBytes", fmt.Sprint(maxLog)).DoRaw(ctx)
			if err != nil {
				if err := r.skip(ctx, name, err); err != nil {
					return err
				}
				continue
			}
			if err := r.archive.add(name, []byte(redact.Text(string(body)))); err != nil {
				return err
			}
		}
	}
	return nil
}

// measured adds what the instances in pods report.
func (r *run) measured(ctx context.Context, folder string, pods []corev1.Pod) error {
	for i := range pods {
		for name, of := range map[string]string{"status.json": instanceapi.PathStatus, "metrics.txt": instanceapi.PathMetrics} {
			name = path.Join(folder, "instances", pods[i].Name+"."+name)
			text, err := r.Measurer.Get(ctx, client.ObjectKeyFromObject(&pods[i]), of, nil)
			if err != nil {
				if err := r.skip(ctx, name, err); err != nil {
					return err
				}
				continue
			}
			if err := r.archive.add(name, []byte(redact.Text(string(text)))); err != nil {
				return err
			}
		}
	}
	return nil
}
