package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/test/internal/process"
	"example.com/nginx-operator/test/load/site"
)

// changeConfiguration submits a new configuration and waits until it is live.
func changeConfiguration(ctx context.Context, t *trafficBench, _ int) error {
	revision, err := t.submit(ctx)
	if err != nil {
		return err
	}
	return t.await(ctx, t.nginx, "the configuration is live", live(revision))
}

// submit submits a new configuration and returns its revision.
func (t *trafficBench) submit(ctx context.Context) (string, error) {
	t.revisions++
	if err := t.running.Submit(ctx, t.revision()); err != nil {
		return "", err
	}
	files := t.site.Files(t.revision())
	err := t.edit(ctx, t.nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Config = config(files) })
	return nginxconf.Revision(files), err
}

// rotateCertificate replaces the Secret, requests a sync of the pods' volumes, and waits until the
// pods report that they serve the new certificate.
func rotateCertificate(ctx context.Context, t *trafficBench, i int) error {
	pair, err := t.authority.Issue(site.Host, 90*24*time.Hour)
	if err != nil {
		return err
	}
	if err := t.client.Update(ctx, secret(t.namespace, t.nginx.Spec.TLS[0].SecretName, pair)); err != nil {
		return err
	}
	err = t.change(ctx, t.nginx, func(n *v1alpha2.NginxOperator) {
		metav1.SetMetaDataAnnotation(&n.ObjectMeta, naming.AnnotationSync, fmt.Sprint(i))
	})
	if err != nil {
		return err
	}
	return t.await(ctx, t.nginx, "the certificate "+pair.Serial+" is served", func(n *v1alpha2.NginxOperator) bool {
		return len(n.Status.Certificates) == 1 && n.Status.Certificates[0].SerialNumber == pair.Serial
	})
}

// anything does one disturbance after the other.
func anything(ctx context.Context, t *trafficBench, i int) error {
	switch i % 10 {
	case 4:
		return restartPods(ctx, t, 1000+i)
	case 9:
		return deletePod(ctx, t, i)
	default:
		return changeConfiguration(ctx, t, i)
	}
}

func restartPods(ctx context.Context, t *trafficBench, i int) error {
	value := fmt.Sprintf("restart %d", i)
	if err := t.edit(ctx, t.nginx, func(s *v1alpha2.NginxOperatorSpec) { s.ForceRedeploy = &value }); err != nil {
		return err
	}
	return t.ready(ctx, t.nginx)
}

func scalePods(ctx context.Context, t *trafficBench, _ int) error {
	for _, n := range []int32{6, 2} {
		if err := t.edit(ctx, t.nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Replicas = &n }); err != nil {
			return err
		}
		if err := t.ready(ctx, t.nginx); err != nil {
			return err
		}
		if err := pause(ctx, 2*time.Second); err != nil {
			return err
		}
	}
	return nil
}

func deletePod(ctx context.Context, t *trafficBench, i int) error {
	pods, err := t.pods(ctx, t.nginx)
	if err != nil {
		return err
	}
	if len(pods) < 2 {
		return errors.New("there are fewer than two pods: deleting one would stop the application")
	}
	if err := t.client.Delete(ctx, &pods[i%len(pods)]); err != nil {
		return err
	}
	return t.replaced(ctx, []corev1.Pod{pods[i%len(pods)]})
}

// replaced waits until the old pods are being deleted and the application is Ready with new ones.
// The status may still be the earlier one.
func (t *trafficBench) replaced(ctx context.Context, old []corev1.Pod) error {
	ctx, cancel := context.WithTimeoutCause(ctx, t.patience, errors.New("the pods were not replaced"))
	defer cancel()
	for {
		pods, err := t.pods(ctx, t.nginx)
		if err != nil {
			return err
		}
		ready := 0
		for i := range pods {
			if podReady(&pods[i]) && !contains(old, &pods[i]) {
				ready++
			}
		}
		if ready == len(pods) && ready == int(*t.nginx.Spec.Replicas) {
			return nil
		}
		if err := pause(ctx, 250*time.Millisecond); err != nil {
			return err
		}
	}
}

func contains(pods []corev1.Pod, pod *corev1.Pod) bool {
	for i := range pods {
		if pods[i].UID == pod.UID {
			return true
		}
	}
	return false
}

func podReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// drainNode drains the application's pods from one node, like `kubectl drain`, and makes the node
// schedulable again. Each call uses the next node.
func drainNode(ctx context.Context, t *trafficBench, i int) error {
	nodes := &corev1.NodeList{}
	if err := t.client.List(ctx, nodes); err != nil {
		return err
	}
	if len(nodes.Items) < 2 {
		return errors.New("a drain needs two nodes")
	}
	node := &nodes.Items[i%len(nodes.Items)]
	if err := t.cordon(ctx, node, true); err != nil {
		return err
	}
	err := t.evictFrom(ctx, node.Name)
	return errors.Join(err, t.cordon(context.WithoutCancel(ctx), node, false))
}

func (t *trafficBench) cordon(ctx context.Context, node *corev1.Node, unschedulable bool) error {
	patch := fmt.Sprintf(`{"spec":{"unschedulable":%t}}`, unschedulable)
	return t.client.Patch(ctx, node, client.RawPatch("application/merge-patch+json", []byte(patch)))
}

// evictFrom evicts the pods on a node, and retries while the disruption budget does not allow it.
func (t *trafficBench) evictFrom(ctx context.Context, node string) error {
	pods, err := t.pods(ctx, t.nginx)
	if err != nil {
		return err
	}
	var evicted []corev1.Pod
	for _, pod := range pods {
		if pod.Spec.NodeName == node {
			evicted = append(evicted, pod)
			if err := t.evict(ctx, &pod); err != nil {
				return err
			}
		}
	}
	return t.replaced(ctx, evicted)
}

func (t *trafficBench) evict(ctx context.Context, pod *corev1.Pod) error {
	ctx, cancel := context.WithTimeoutCause(ctx, t.patience, fmt.Errorf("pod %s could not be evicted", pod.Name))
	defer cancel()
	for {
		err := t.kube.PolicyV1().Evictions(pod.Namespace).Evict(ctx, &policyv1.Eviction{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		})
		if err == nil || !apierrors.IsTooManyRequests(err) {
			return client.IgnoreNotFound(err)
		}
		if err := pause(ctx, 250*time.Millisecond); err != nil {
			return err
		}
	}
}

// killOperator kills all replicas of the operator while a configuration goes live.
func killOperator(ctx context.Context, t *trafficBench, i int) error {
	revision, err := t.submit(ctx)
	if err != nil {
		return err
	}
	// Use a different moment of the change each time.
	if err := pause(ctx, time.Duration(i)*100*time.Millisecond); err != nil {
		return err
	}
	if err := t.killOperatorPods(ctx); err != nil {
		return err
	}
	return t.await(ctx, t.nginx, "the configuration is live after the operator was killed", live(revision))
}

// killOperatorPods kills all replicas of the operator.
func (b *bench) killOperatorPods(ctx context.Context) error {
	return b.client.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(process.Account.Namespace),
		client.MatchingLabels{"app.kubernetes.io/name": operatorName}, client.GracePeriodSeconds(0))
}

// rollOutOperator replaces the operator's pods with a rollout, like an upgrade. It does not wait for its end.
func (b *bench) rollOutOperator(ctx context.Context) error {
	deployment, err := (&cluster{client: b.client}).deployment(ctx)
	if err != nil {
		return err
	}
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"example.com/upgrade":"%d"}}}}}`, time.Now().UnixNano())
	return b.client.Patch(ctx, deployment, client.RawPatch("application/merge-patch+json", []byte(patch)))
}

// operatorRolledOut waits until the operator's pods are the newest ones, and all available.
func (b *bench) operatorRolledOut(ctx context.Context) error {
	operator := &cluster{client: b.client}
	deployment, err := operator.deployment(ctx)
	for ; err == nil && !rolledOut(deployment); deployment, err = operator.deployment(ctx) {
		if err := pause(ctx, restartPoll); err != nil {
			return err
		}
	}
	return err
}

// upgradeOperator replaces the operator's pods with a rollout, like an upgrade, while a
// configuration goes live. It checks that the application's pods stay the same.
func upgradeOperator(ctx context.Context, t *trafficBench, _ int) error {
	before, err := t.pods(ctx, t.nginx)
	if err != nil {
		return err
	}
	if err := t.rollOutOperator(ctx); err != nil {
		return err
	}
	revision, err := t.submit(ctx)
	if err != nil {
		return err
	}
	if err := t.await(ctx, t.nginx, "the configuration is live during an upgrade", live(revision)); err != nil {
		return err
	}
	if err := t.operatorRolledOut(ctx); err != nil {
		return err
	}
	restarted, gone, failed := t.restarts(ctx, t.nginx, before)
	if restarted+gone > 0 {
		return fmt.Errorf("an upgrade of the operator restarted %d containers and replaced %d pods", restarted, gone)
	}
	return failed
}
