package view

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/internal/nginx/observe"
)

// Config is a configuration with the user's files.
type Config struct {
	// Name says which one it is: stable, requested, served or local.
	Name     string            `json:"name"`
	Revision string            `json:"revision,omitempty"`
	Files    map[string]string `json:"files"`
	// Pods serve it.
	Pods []string `json:"pods,omitempty"`
}

// ReadStable returns the configuration that new pods start with.
func ReadStable(ctx context.Context, c client.Client, nginx *v1alpha2.NginxOperator) (Config, error) {
	return readConfigMap(ctx, c, nginx, "stable", naming.ConfigMap(nginx.Name))
}

// ReadRequested returns the configuration that the operator was asked for last, whether or not nginx has accepted it.
func ReadRequested(ctx context.Context, c client.Client, nginx *v1alpha2.NginxOperator) (Config, error) {
	if rolloutWaits(nginx) {
		return readDeclared(ctx, c, nginx)
	}
	return readConfigMap(ctx, c, nginx, "requested", naming.ConfigMapNext(nginx.Name))
}

func readConfigMap(ctx context.Context, c client.Client, nginx *v1alpha2.NginxOperator, name, configMap string) (Config, error) {
	found := &corev1.ConfigMap{}
	err := c.Get(ctx, client.ObjectKey{Namespace: nginx.Namespace, Name: configMap}, found)
	if apierrors.IsNotFound(err) {
		return Config{}, fmt.Errorf("%s has no %s configuration yet: %w", nginx.Name, name, err)
	}
	return Config{
		Name: name, Revision: found.Annotations[naming.AnnotationConfig], Files: nginxconf.Files(found.Data).User(),
	}, err
}

// Querier queries pods.
type Querier interface {
	ServedConfig(ctx context.Context, pod client.ObjectKey) (instanceapi.ServedConfig, error)
}

// ReadServed returns the configurations that pods serve, that of the most pods first, and why pods do not answer.
func ReadServed(ctx context.Context, querier Querier, pods []corev1.Pod) (all []Config, failures []error) {
	type answer struct {
		served instanceapi.ServedConfig
		err    error
	}
	// An error of one pod is none of the others.
	answers, _ := each(ctx, pods, func(ctx context.Context, pod *corev1.Pod) (answer, error) {
		served, err := querier.ServedConfig(ctx, client.ObjectKeyFromObject(pod))
		return answer{served, err}, nil
	})
	for i, a := range answers {
		if a.err != nil {
			failures = append(failures, a.err)
			continue
		}
		at := slices.IndexFunc(all, func(c Config) bool { return c.Revision == a.served.Revision })
		if at < 0 {
			at = len(all)
			all = append(all, Config{Name: "served", Revision: a.served.Revision, Files: texts(a.served.Files)})
		}
		all[at].Pods = append(all[at].Pods, pods[i].Name)
	}
	slices.SortStableFunc(all, func(a, b Config) int { return cmp.Compare(len(b.Pods), len(a.Pods)) })
	return all, failures
}

// ReadyPods returns the pods that are ready.
func ReadyPods(pods []corev1.Pod) []corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(p corev1.Pod) bool { return !observe.Ready(&p) })
}

func texts(files instanceapi.ConfigFiles) map[string]string {
	all := make(map[string]string, len(files))
	for name, text := range files {
		all[name] = string(text)
	}
	return all
}

// ReadPods returns the pods of an application that have not ended, by their names.
func ReadPods(ctx context.Context, c client.Client, nginx *v1alpha2.NginxOperator) ([]corev1.Pod, error) {
	found := &corev1.PodList{}
	if err := c.List(ctx, found, client.InNamespace(nginx.Namespace), client.MatchingLabels(naming.SelectorLabels(nginx.Name))); err != nil {
		return nil, err
	}
	sets, err := readReplicaSets(ctx, c, nginx)
	if err != nil {
		return nil, err
	}
	pods := slices.DeleteFunc(found.Items, func(p corev1.Pod) bool {
		return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed || !sets.owns(&p)
	})
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods, nil
}

// OneOfEachTemplate returns a ready pod of each template, because templates may have different images.
func OneOfEachTemplate(pods []corev1.Pod) []corev1.Pod {
	var chosen []corev1.Pod
	for i := range pods {
		template := observe.TemplateOf(&pods[i])
		if observe.Ready(&pods[i]) && !slices.ContainsFunc(chosen, func(p corev1.Pod) bool { return observe.TemplateOf(&p) == template }) {
			chosen = append(chosen, pods[i])
		}
	}
	return chosen
}

// Same reports whether two configurations have the same files.
func Same(a, b Config) bool {
	return len(a.Files) == len(b.Files) && !slices.ContainsFunc(Names(a, b), func(name string) bool {
		return !bytes.Equal([]byte(a.Files[name]), []byte(b.Files[name]))
	})
}

// Names returns the names of the files of two configurations, sorted.
func Names(a, b Config) []string {
	var names []string
	for _, files := range []map[string]string{a.Files, b.Files} {
		for name := range files {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
