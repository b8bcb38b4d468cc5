package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/manager"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/internal/process"
)

// lifecycleRun is the life of one Helm release in a cluster.
type lifecycleRun struct {
	*packagesRun
	*bench
	nginx *v1alpha2.NginxOperator
	// settings are the arguments for the installed image.
	settings []string
	figures  []figure.Figure
}

// lifecycle installs over the existing operator, upgrades in both of Helm's ways, uninstalls, and
// installs again. All the time, an application serves requests, and both versions of the API are
// read.
func (r *packagesRun) lifecycle(ctx context.Context) ([]figure.Figure, error) {
	b, err := r.bench(ctx)
	if err != nil {
		return nil, err
	}
	l := &lifecycleRun{packagesRun: r, bench: b}
	if err := l.readImages(ctx); err != nil {
		return nil, err
	}
	if l.nginx, err = b.create(ctx, "web", spec(2, b.newest(), map[string]string{"site.conf": "server { listen 8080; return 200; }"})); err != nil {
		return nil, err
	}
	before, err := b.pods(ctx, l.nginx)
	if err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context) error{l.installAndUpgrade, l.uninstall, l.installAgain} {
		if err := step(ctx); err != nil {
			return l.figures, err
		}
	}
	restarted, gone, err := b.restarts(ctx, l.nginx, before)
	l.add(figure.HasGoal("helm: nginx pods replaced or restarted by all of this", float64(restarted+gone), "pods", figure.AtMost(0)))
	return l.figures, err
}

func (l *lifecycleRun) add(f ...figure.Figure) { l.figures = append(l.figures, f...) }

// readImages reads the images of the installed operator.
func (l *lifecycleRun) readImages(ctx context.Context) error {
	d := &appsv1.Deployment{}
	if err := l.client.Get(ctx, process.Account, d); err != nil {
		return err
	}
	container := d.Spec.Template.Spec.Containers[0]
	colon := strings.LastIndex(container.Image, ":")
	l.settings = []string{"--set", "image.repository=" + container.Image[:colon], "--set", "image.tag=" + container.Image[colon+1:]}
	for _, variable := range container.Env {
		if variable.Name == "RELATED_IMAGE_NGINX" {
			l.settings = append(l.settings, "--set", "nginxImage="+variable.Value)
		}
	}
	return nil
}

// upgrade runs helm upgrade --install, and measures the time until the operator is ready.
func (l *lifecycleRun) upgrade(ctx context.Context, what, change string, arguments ...string) error {
	start := time.Now()
	arguments = append([]string{"upgrade", "--install", process.Account.Name, chartDir, "--namespace", process.Account.Namespace,
		"--wait", "--timeout", "5m", "--set-string", "podAnnotations.change=" + change}, arguments...)
	_, details, err := l.command(ctx, nil, l.helm, append(arguments, l.settings...)...)
	l.add(figure.Info(what, time.Since(start).Seconds(), "s", details...))
	return err
}

// published returns what upgrades must not change: the CA in the CRD, the certificate, the CA's key,
// and the key that signs orders.
func (l *lifecycleRun) published(ctx context.Context) ([]byte, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := l.client.Get(ctx, client.ObjectKey{Name: manager.CRDName}, crd); err != nil {
		return nil, err
	}
	certificate, err := l.secret(ctx, "-webhook-cert")
	if err != nil {
		return nil, err
	}
	orderKey, err := l.secret(ctx, "-order-key")
	if err != nil {
		return nil, err
	}
	bundle := crd.Spec.Conversion.Webhook.ClientConfig.CABundle
	if len(bundle) == 0 || len(certificate["tls.crt"]) == 0 || len(orderKey["current.key"]) == 0 {
		return nil, errors.New("there is no CA, no certificate or no key that signs orders")
	}
	return bytes.Join([][]byte{bundle, certificate["tls.crt"], certificate["ca.key"], orderKey["current.key"]}, []byte("|")), nil
}

// secret returns the data of one of the operator's own Secrets.
func (l *lifecycleRun) secret(ctx context.Context, suffix string) (map[string][]byte, error) {
	secret := &corev1.Secret{}
	err := l.client.Get(ctx, client.ObjectKey{Namespace: process.Account.Namespace, Name: process.Account.Name + suffix}, secret)
	return secret.Data, err
}

func (l *lifecycleRun) installAndUpgrade(ctx context.Context) error {
	before, err := l.published(ctx)
	if err != nil {
		return err
	}
	reading := l.read(ctx)
	// Take over what kustomize installed; on a second run, this is an upgrade.
	err = l.upgrade(ctx, "helm: install", "1", "--take-ownership", "--server-side=true", "--force-conflicts")
	if err == nil {
		err = l.upgrade(ctx, "helm: upgrade by server-side apply", "2", "--server-side=true", "--force-conflicts")
	}
	if err == nil {
		err = l.upgrade(ctx, "helm: upgrade by three-way merge", "3", "--server-side=false")
	}
	reads, failed := reading.stop()
	l.add(figure.Info("helm: reads of both versions meanwhile", float64(reads), "reads"),
		figure.HasGoal("helm: reads that failed", float64(len(failed)), "reads", figure.AtMost(0), failed...))
	if err != nil {
		return err
	}
	after, err := l.published(ctx)
	if err != nil {
		return err
	}
	changed := 0.0
	if !bytes.Equal(before, after) {
		changed = 1
	}
	l.add(figure.HasGoal("helm: certificates, CAs or keys that an upgrade changed", changed, "certificates", figure.AtMost(0)))
	return nil
}

// uninstall counts what is left: only the CRD and the NginxOperators may remain.
func (l *lifecycleRun) uninstall(ctx context.Context) error {
	start := time.Now()
	_, details, err := l.command(ctx, nil, l.helm, "uninstall", process.Account.Name, "--namespace", process.Account.Namespace, "--wait")
	if err != nil {
		return err
	}
	l.add(figure.Info("helm: uninstall", time.Since(start).Seconds(), "s", details...))
	left, kept, err := l.leftovers(ctx)
	if err != nil {
		return err
	}
	list := &v1alpha2.NginxOperatorList{}
	if err := l.client.List(ctx, list, client.InNamespace(l.namespace)); err != nil {
		return err
	}
	l.add(figure.HasGoal("helm: objects left by uninstalling", float64(len(left)), "objects", figure.AtMost(0), left...),
		figure.HasGoal("helm: CRDs kept", float64(kept), "CRDs", figure.AtLeast(1)),
		figure.HasGoal("helm: NginxOperators kept", float64(len(list.Items)), "objects", figure.AtLeast(1)))
	return nil
}

// leftovers counts the objects with Helm's label.
func (l *lifecycleRun) leftovers(ctx context.Context) (left []string, crds int, err error) {
	ours := client.MatchingLabels{"app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/instance": process.Account.Name}
	lists := []client.ObjectList{
		&appsv1.DeploymentList{}, &corev1.ServiceList{}, &corev1.SecretList{}, &corev1.ServiceAccountList{},
		&rbacv1.RoleList{}, &rbacv1.RoleBindingList{}, &rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{},
	}
	for _, list := range lists {
		if err := l.client.List(ctx, list, ours); err != nil {
			return nil, 0, err
		}
		err := meta.EachListItem(list, func(o runtime.Object) error {
			left = append(left, fmt.Sprintf("%T %s", o, o.(client.Object).GetName()))
			return nil
		})
		if err != nil {
			return nil, 0, err
		}
	}
	kept := &apiextensionsv1.CustomResourceDefinitionList{}
	err = l.client.List(ctx, kept, ours)
	return left, len(kept.Items), err
}

// installAgain installs with the existing CRD, whose CA's key is lost.
func (l *lifecycleRun) installAgain(ctx context.Context) error {
	if err := l.upgrade(ctx, "helm: install again", "4"); err != nil {
		return err
	}
	start := time.Now()
	for {
		err := l.readBoth(ctx)
		if err == nil {
			break
		}
		if time.Since(start) > time.Minute {
			return fmt.Errorf("after the second install, both versions cannot be read: %w", err)
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	l.add(figure.Info("helm: until both versions can be read again", time.Since(start).Seconds(), "s"))
	if _, err := l.published(ctx); err != nil {
		return err
	}
	return l.ready(ctx, l.nginx)
}

func (l *lifecycleRun) readBoth(ctx context.Context) error {
	key := client.ObjectKeyFromObject(l.nginx)
	if err := l.client.Get(ctx, key, &v1alpha1.NginxOperator{}); err != nil {
		return fmt.Errorf("as v1alpha1: %w", err)
	}
	if err := l.client.Get(ctx, key, &v1alpha2.NginxOperator{}); err != nil {
		return fmt.Errorf("as v1alpha2: %w", err)
	}
	return nil
}

// reading reads both versions again and again.
type reading struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
	reads  int
	failed []string
}

func (l *lifecycleRun) read(ctx context.Context) *reading {
	ctx, cancel := context.WithCancel(ctx)
	r := &reading{cancel: cancel}
	r.done.Go(func() {
		for pause(ctx, 20*time.Millisecond) == nil {
			err := l.readBoth(ctx)
			if ctx.Err() != nil {
				return
			}
			r.reads++
			if err != nil {
				r.failed = append(r.failed, err.Error())
			}
		}
	})
	return r
}

func (r *reading) stop() (reads int, failed []string) {
	r.cancel()
	r.done.Wait()
	return r.reads, r.failed
}
