package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/internal/process"
	"example.com/nginx-operator/test/load"
	"example.com/nginx-operator/test/load/site"
)

const (
	// leakCanary is planted in the Secret, and leakControl in something public: a search that does
	// not find leakControl proves nothing.
	leakCanary  = "canary-7f3a9c15d2e84b60"
	leakControl = "control-5b1e6d0c93a7f248"
	leakSettle  = 3 * time.Second
	// leakMount is where a user's volume mounts the Secret a second time.
	leakMount = "/srv/secret"
)

// leakStage is one way in which the Secret could leak.
type leakStage struct {
	name   string
	secret func(good load.Pair) load.Pair
	files  map[string]string
	// refused is the condition that must become False; empty: all must become True.
	refused string
}

func leakStages() []leakStage {
	const certificates = v1alpha2.ConditionCertificatesValid
	plain := site.Site{TLS: true}.Files(leakControl)
	same := func(p load.Pair) load.Pair { return p }
	stages := []leakStage{
		{"good", same, plain, ""},
		{"the key is not PEM", func(p load.Pair) load.Pair { p.Key = leakCanary + "\n"; return p }, plain, certificates},
		{"the certificate is not PEM", func(p load.Pair) load.Pair { p.Certificate = leakCanary + "\n"; return p }, plain, certificates},
		{"the key is cut off", func(p load.Pair) load.Pair { p.Key = p.Key[:len(p.Key)/2]; return p }, plain, certificates},
		{"good again", same, plain, ""},
	}
	// The author of the configuration must not be able to read the Secret through error messages
	// either: nginx quotes what it cannot parse.
	for _, text := range leakIncludes() {
		files := map[string]string{"site.conf": "# " + leakControl + "\n" + text + "\n"}
		stages = append(stages, leakStage{text, same, files, v1alpha2.ConditionConfigValid})
	}
	return stages
}

// leakIncludes returns directives that make nginx read the Secret as configuration, by many
// different paths.
func leakIncludes() []string {
	const key, extra = "/" + site.Certificate + "/tls.key", "/" + site.Certificate + "/extra"
	return []string{
		"include /etc/nginx/tls" + key + ";",
		"include tls" + key + ";",
		"include ./tls/../tls" + key + ";",
		"include " + instanceapi.DirSecrets + extra + ";",
		"include " + instanceapi.DirSecrets + "/" + site.Certificate + "/..data/extra;",
		"include " + instanceapi.DirSecrets + "/*/*;",
		"include /proc/1/root" + instanceapi.DirSecrets + extra + ";",
		"include /proc/self/cwd/../.." + instanceapi.DirSecrets + extra + ";",
		"include " + leakMount + "/extra;",
		"include " + leakMount + "/..data/extra;",
		"map $uri $a {\n    include " + instanceapi.DirSecrets + extra + ";\n}",
		"geo $a {\n    include " + instanceapi.DirSecrets + extra + ";\n}",
		"types {\n    include " + leakMount + "/extra;\n}",
		"upstream a {\n    include " + leakMount + "/extra;\n}",
		"server {\n    listen 8080;\n    ssl_session_ticket_key " + leakMount + "/extra;\n    ssl_password_file " + leakMount + "/extra;\n    include " + leakMount + "/extra;\n}",
	}
}

// measureLeak plants a string in a Secret, causes all kinds of failures with it, and searches
// everything that a user without access to Secrets can read.
func measureLeak(ctx context.Context, s *session) ([]figure.Figure, error) {
	b, err := s.bench(ctx)
	if err != nil {
		return nil, err
	}
	authority, err := load.NewAuthority()
	if err != nil {
		return nil, err
	}
	pair, err := authority.Issue(site.Host, 90*24*time.Hour)
	if err != nil {
		return nil, err
	}
	nginx, err := b.plant(ctx, &pair)
	if err != nil {
		return nil, err
	}
	token, err := b.startScraper(ctx, s)
	if err != nil {
		return nil, err
	}
	stages := leakStages()
	hits, controls, places := map[string]string{}, 0, map[string]int{}
	for i, stage := range stages {
		s.progress("leak: %s", stage.name)
		if err := b.stage(ctx, nginx, stage, pair, i); err != nil {
			return nil, err
		}
		texts, err := b.public(ctx, nginx, token)
		if err != nil {
			return nil, err
		}
		for place, text := range texts {
			places[place] += len(text)
			controls += strings.Count(text, leakControl)
			if at := strings.Index(text, leakCanary); at >= 0 && hits[place] == "" {
				hits[place] = fmt.Sprintf("%s: %s: …%q…", place, stage.name, text[max(0, at-120):min(len(text), at+60)])
			}
		}
	}
	return leakFigures(hits, controls, places, len(stages)), nil
}

// plant creates an application with a Secret that contains the canary: in comments and in other
// text around the key, which PEM allows.
func (b *bench) plant(ctx context.Context, pair *load.Pair) (*v1alpha2.NginxOperator, error) {
	pair.Key = "# " + leakCanary + "\n" + leakCanary + " before\n" + pair.Key + leakCanary + " after\n"
	if err := b.client.Create(ctx, planted(b.namespace, *pair)); err != nil {
		return nil, err
	}
	declared := spec(2, b.newest(), leakStages()[0].files)
	declared.Ports = append(declared.Ports, v1alpha2.Port{Name: "https", Port: site.SecurePort})
	declared.TLS = []v1alpha2.Certificate{{Name: site.Certificate, SecretName: "planted"}}
	declared.PodTemplate = &v1alpha2.PodTemplate{
		Volumes:      []v1alpha2.Volume{{Name: "secret", Secret: &corev1.SecretVolumeSource{SecretName: "planted"}}},
		VolumeMounts: []v1alpha2.VolumeMount{{Name: "secret", MountPath: leakMount}},
	}
	return b.create(ctx, "web", declared)
}

func leakFigures(hits map[string]string, controls int, places map[string]int, stages int) []figure.Figure {
	var searched []string
	for _, place := range slices.Sorted(maps.Keys(places)) {
		searched = append(searched, fmt.Sprintf("%s: %d bytes", place, places[place]))
	}
	return []figure.Figure{
		figure.Info("stages", float64(stages), "stages"),
		figure.Info("places searched", float64(len(places)), "places", searched...),
		figure.HasGoal("places with the planted string", float64(len(hits)), "places", figure.AtMost(0), slices.Sorted(maps.Values(hits))...),
		figure.HasGoal("matches of a public string, as a control of the search", float64(controls), "matches", figure.AtLeast(1)),
	}
}

// planted returns a Secret with the canary in its key and in an additional entry.
func planted(namespace string, pair load.Pair) *corev1.Secret {
	s := secret(namespace, "planted", pair)
	s.StringData["extra"] = leakCanary + " on;\n"
	return s
}

// stage changes the Secret and the configuration, and waits until the operator has reported its
// verdict.
func (b *bench) stage(ctx context.Context, nginx *v1alpha2.NginxOperator, stage leakStage, good load.Pair, i int) error {
	if err := b.client.Update(ctx, planted(b.namespace, stage.secret(good))); err != nil {
		return err
	}
	err := b.change(ctx, nginx, func(n *v1alpha2.NginxOperator) {
		metav1.SetMetaDataAnnotation(&n.ObjectMeta, naming.AnnotationSync, fmt.Sprint(i))
		n.Spec.Config = config(stage.files)
	})
	if err != nil {
		return err
	}
	if stage.refused == "" {
		err = b.ready(ctx, nginx)
	} else {
		err = b.await(ctx, nginx, stage.refused+" is False", func(n *v1alpha2.NginxOperator) bool {
			c := meta.FindStatusCondition(n.Status.Conditions, stage.refused)
			return c != nil && c.Status == metav1.ConditionFalse && c.ObservedGeneration == n.Generation
		})
	}
	b.progress("leak: %s", conditions(nginx))
	// Logs and events arrive later.
	return errors.Join(err, pause(ctx, leakSettle))
}

// public returns everything that can be read without access to Secrets.
func (b *bench) public(ctx context.Context, nginx *v1alpha2.NginxOperator, token string) (map[string]string, error) {
	texts := map[string]string{}
	var errs []error
	for _, kind := range []string{"nginxoperators.operator.example.com", "events", "events.events.k8s.io", "configmaps", "pods", "services",
		"deployments.apps", "replicasets.apps", "controllerrevisions.apps", "endpointslices.discovery.k8s.io"} {
		text, err := b.objects(ctx, kind)
		errs = append(errs, err)
		texts[kind] = text
	}
	pods, err := b.pods(ctx, nginx)
	errs = append(errs, err)
	for _, pod := range pods {
		errs = append(errs, b.addPod(ctx, texts, &pod))
	}
	operators := &corev1.PodList{}
	errs = append(errs, b.client.List(ctx, operators, client.InNamespace(process.Account.Namespace)))
	for _, pod := range operators.Items {
		errs = append(errs, b.addLogs(ctx, texts, "log of the operator", &pod))
	}
	text, err := b.operatorMetrics(ctx, token)
	texts["metrics of the operator"] = text
	return texts, errors.Join(append(errs, err)...)
}

// objects returns all objects of a kind in the namespace, as the API server returns them.
func (b *bench) objects(ctx context.Context, kind string) (string, error) {
	paths := map[string]string{
		"nginxoperators.operator.example.com": "/apis/operator.example.com/v1alpha2", "events": "/api/v1", "events.events.k8s.io": "/apis/events.k8s.io/v1",
		"configmaps": "/api/v1", "pods": "/api/v1", "services": "/api/v1", "deployments.apps": "/apis/apps/v1", "replicasets.apps": "/apis/apps/v1",
		"controllerrevisions.apps": "/apis/apps/v1", "endpointslices.discovery.k8s.io": "/apis/discovery.k8s.io/v1",
	}
	resource, _, _ := strings.Cut(kind, ".")
	text, err := b.kube.CoreV1().RESTClient().Get().AbsPath(paths[kind], "namespaces", b.namespace, resource).DoRaw(ctx)
	return string(text), err
}

// addPod adds what a pod of the application serves and logs.
func (b *bench) addPod(ctx context.Context, texts map[string]string, pod *corev1.Pod) error {
	var errs []error
	for _, path := range []string{instanceapi.PathStatus, instanceapi.PathMetrics, instanceapi.PathReady, instanceapi.PathLive} {
		text, err := b.instance(ctx, pod, path)
		if path == instanceapi.PathStatus {
			errs = append(errs, err)
			if !json.Valid(text) {
				errs = append(errs, fmt.Errorf("the status of pod %s is not JSON", pod.Name))
			}
		}
		texts["instance, "+path] += string(text)
	}
	return errors.Join(append(errs, b.addLogs(ctx, texts, "log of the pods", pod))...)
}

func (b *bench) addLogs(ctx context.Context, texts map[string]string, place string, pod *corev1.Pod) error {
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		text, err := b.kube.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Container: c.Name}).DoRaw(ctx)
		if err != nil {
			return err
		}
		texts[place] += string(text)
	}
	return nil
}
