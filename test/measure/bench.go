package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/manager"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/test/load"
	"example.com/nginx-operator/test/load/incluster"
	"example.com/nginx-operator/test/load/site"
)

// bench is a namespace in a running cluster, for applications under load.
type bench struct {
	client    client.WithWatch
	kube      kubernetes.Interface
	namespace string
	// loadImage is the image with test/load/cmd/nginx-load, images are those of nginx, oldest
	// first.
	loadImage string
	images    []string
	patience  time.Duration
	progress  func(format string, values ...any)
}

func setting(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}

// bench creates a namespace that is removed at the end.
func (s *session) bench(ctx context.Context) (*bench, error) {
	kubeconfig := os.Getenv("KUBECONFIG")
	if kubeconfig == "" {
		return nil, errors.New("KUBECONFIG is not set: set it to the kubeconfig of a cluster that runs the operator")
	}
	b, err := s.connect(kubeconfig)
	if err != nil {
		return nil, err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "measure-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	if err := b.client.Create(ctx, namespace); err != nil {
		return nil, err
	}
	b.namespace = namespace.Name
	c := &cluster{client: b.client}
	s.atEnd(func(ctx context.Context) error { return c.remove(ctx, namespace) })
	return b, nil
}

// connect connects to a cluster, without a namespace.
func (s *session) connect(kubeconfig string) (*bench, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("KUBECONFIG: %w", err)
	}
	config.QPS = -1
	scheme, err := manager.Scheme()
	if err != nil {
		return nil, err
	}
	b := &bench{
		loadImage: setting("E2E_LOAD_IMAGE", "localhost/nginx-load:dev"),
		images: strings.Split(setting("E2E_NGINX_IMAGES",
			"localhost/nginx:1.22-debian,localhost/nginx:1.26-debian,localhost/nginx:1.30-debian"), ","),
		patience: s.patience,
		progress: s.progress,
	}
	if b.client, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	b.kube, err = kubernetes.NewForConfig(config)
	return b, err
}

func (b *bench) newest() string { return b.images[len(b.images)-1] }

// spec returns the spec of an application that serves a site.
func spec(replicas int32, image string, files map[string]string) v1alpha2.NginxOperatorSpec {
	return v1alpha2.NginxOperatorSpec{
		Replicas: &replicas, Image: &image, Config: config(files),
		Ports: []v1alpha2.Port{{Name: "http", Port: site.Port}},
	}
}

func config(files map[string]string) *v1alpha2.Config {
	c := &v1alpha2.Config{Files: map[string]v1alpha2.ConfigFile{}}
	for name, text := range files {
		c.Files[name] = v1alpha2.ConfigFile(text)
	}
	return c
}

// create creates an application and waits until it is Ready.
func (b *bench) create(ctx context.Context, name string, spec v1alpha2.NginxOperatorSpec) (*v1alpha2.NginxOperator, error) {
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: name}, Spec: spec}
	if err := b.client.Create(ctx, nginx); err != nil {
		return nil, err
	}
	return nginx, b.ready(ctx, nginx)
}

// change changes an application, and retries on a conflict.
func (b *bench) change(ctx context.Context, nginx *v1alpha2.NginxOperator, change func(*v1alpha2.NginxOperator)) error {
	for {
		if err := b.client.Get(ctx, client.ObjectKeyFromObject(nginx), nginx); err != nil {
			return err
		}
		change(nginx)
		err := b.client.Update(ctx, nginx)
		if !apierrors.IsConflict(err) {
			return err
		}
	}
}

// edit changes the spec of an application.
func (b *bench) edit(ctx context.Context, nginx *v1alpha2.NginxOperator, change func(*v1alpha2.NginxOperatorSpec)) error {
	return b.change(ctx, nginx, func(n *v1alpha2.NginxOperator) { change(&n.Spec) })
}

// ready waits until an application is Ready for its newest spec.
func (b *bench) ready(ctx context.Context, nginx *v1alpha2.NginxOperator) error {
	return b.await(ctx, nginx, "it is Ready", ready)
}

// await watches an application until a condition holds. It keeps the last observed state in nginx.
func (b *bench) await(ctx context.Context, nginx *v1alpha2.NginxOperator, what string, met func(*v1alpha2.NginxOperator) bool) error {
	generation := nginx.Generation
	return await(ctx, b, nginx, &v1alpha2.NginxOperatorList{}, func() error {
		if nginx.Generation >= generation && met(nginx) {
			return nil
		}
		return fmt.Errorf("waiting until %s; its conditions are: %s", what, conditions(nginx))
	})
}

func conditions(nginx *v1alpha2.NginxOperator) string {
	var b strings.Builder
	for _, c := range nginx.Status.Conditions {
		fmt.Fprintf(&b, "%s=%s %s (of generation %d of %d): %s; ", c.Type, c.Status, c.Reason, c.ObservedGeneration, nginx.Generation, c.Message)
	}
	return b.String()
}

// live reports whether the status says that every pod serves the requested configuration.
func live(revision string) func(*v1alpha2.NginxOperator) bool {
	return func(nginx *v1alpha2.NginxOperator) bool {
		s := nginx.Status
		return s.ObservedGeneration == nginx.Generation && s.Config != nil && s.Config.Revision == revision &&
			nginx.Spec.Replicas != nil && s.Config.LoadedReplicas == *nginx.Spec.Replicas
	}
}

// pods returns the pods of an application that are not being deleted.
func (b *bench) pods(ctx context.Context, nginx *v1alpha2.NginxOperator) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	err := b.client.List(ctx, list, client.InNamespace(b.namespace), client.MatchingLabels(naming.SelectorLabels(nginx.Name)))
	var alive []corev1.Pod
	for _, pod := range list.Items {
		if pod.DeletionTimestamp == nil {
			alive = append(alive, pod)
		}
	}
	return alive, err
}

// restarts returns how often containers were restarted, and how many of the earlier pods are gone.
func (b *bench) restarts(ctx context.Context, nginx *v1alpha2.NginxOperator, before []corev1.Pod) (restarted, gone int, err error) {
	now, err := b.pods(ctx, nginx)
	alive := map[string]bool{}
	for _, pod := range now {
		alive[string(pod.UID)] = true
		for _, s := range pod.Status.ContainerStatuses {
			restarted += int(s.RestartCount)
		}
	}
	for _, pod := range before {
		if !alive[string(pod.UID)] {
			gone++
		}
	}
	return restarted, gone, err
}

// address returns the address of a port of the application's Service.
func (b *bench) address(ctx context.Context, nginx *v1alpha2.NginxOperator, port int) (string, error) {
	service := &corev1.Service{}
	err := b.client.Get(ctx, client.ObjectKey{Namespace: b.namespace, Name: naming.Service(nginx.Name)}, service)
	return net.JoinHostPort(service.Spec.ClusterIP, strconv.Itoa(port)), err
}

func (b *bench) load(ctx context.Context, name string, o load.Options) (*incluster.Load, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, b.patience, fmt.Errorf("the load %s is not ready within %s", name, b.patience))
	defer cancel()
	return incluster.Start(ctx, b.kube, b.namespace, name, b.loadImage, o)
}
