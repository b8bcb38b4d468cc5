package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/internal/process"
	"example.com/nginx-operator/test/testenv"
)

// webhookReads is the rate of reads per second, of both versions together.
const webhookReads = 50

// webhookBench disturbs the operator in ways that its conversion webhook must survive.
type webhookBench struct {
	*bench
	cluster *cluster
	key     client.ObjectKey
}

// webhookDisturbance is one kind of disturbance.
type webhookDisturbance struct {
	name  string
	times int
	once  func(*webhookBench, context.Context) error
	// goal is the goal for failed reads; zero: reads are expected to fail.
	goal figure.Goal
}

// measureWebhook reads an object in both versions while replicas of the operator disappear, and its
// certificates are replaced.
func measureWebhook(ctx context.Context, s *session) ([]figure.Figure, error) {
	b, err := s.bench(ctx)
	if err != nil {
		return nil, err
	}
	w := &webhookBench{bench: b, cluster: &cluster{client: b.client}, key: client.ObjectKey{Namespace: b.namespace, Name: "web"}}
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: w.key.Name}, Spec: v1alpha2.NginxOperatorSpec{Replicas: new(int32(0))}}
	if err := b.client.Create(ctx, nginx); err != nil {
		return nil, err
	}
	none := figure.AtMost(0)
	var figures []figure.Figure
	for _, d := range []webhookDisturbance{
		{"a replica deleted", 4, (*webhookBench).deleteReplica, none},
		{"the operator restarted by a rollout", 3, (*webhookBench).rollOut, none},
		{"the certificate close to its end", 3, (*webhookBench).ageCertificate, none},
		{"the CA close to its end", 1, (*webhookBench).ageCA, none},
		{"a replica killed without grace", 4, (*webhookBench).killReplica, figure.Goal{}},
	} {
		found, err := w.readUnder(ctx, d)
		if err != nil {
			return figures, fmt.Errorf("%s: %w", d.name, err)
		}
		figures = append(figures, found...)
	}
	return figures, nil
}

// try reads while the disturbance is repeated.
func (w *webhookBench) readUnder(ctx context.Context, d webhookDisturbance) ([]figure.Figure, error) {
	w.progress("webhook: %s, %d times", d.name, d.times)
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return nil, err
	}
	reads, err := testenv.StartReads(ctx, config, w.key, webhookReads)
	if err != nil {
		return nil, err
	}
	var failed error
	for range d.times {
		if failed = d.once(w, ctx); failed != nil {
			break
		}
	}
	report := reads.Stop()
	failures := report.Failures[:min(len(report.Failures), 5)]
	name := fmt.Sprintf("%s, %d times", d.name, d.times)
	return []figure.Figure{
		figure.Info(name+": reads", float64(report.Made), "reads", report.String()),
		figure.HasGoal(name+": failed", float64(len(report.Failures)), "reads", d.goal, failures...),
	}, failed
}

// wait waits until a condition is true, at most for the session's patience.
func (w *webhookBench) wait(ctx context.Context, what string, met func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, w.patience, errors.New("timed out waiting until "+what))
	defer cancel()
	for {
		if done, err := met(); done || err != nil {
			return err
		}
		if err := pause(ctx, restartPoll); err != nil {
			return err
		}
	}
}

func (w *webhookBench) replicas(ctx context.Context) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	err := w.client.List(ctx, list, client.InNamespace(process.Account.Namespace),
		client.MatchingLabels{"app.kubernetes.io/name": operatorName, "app.kubernetes.io/component": "manager"})
	if err == nil && len(list.Items) == 0 {
		err = errors.New("the operator has no replica")
	}
	return list.Items, err
}

// whole waits until every replica is ready, and none is being deleted. It also checks the pods,
// because the Deployment's status reflects a killed pod only later.
func (w *webhookBench) whole(ctx context.Context) error {
	return w.wait(ctx, "every replica of the operator is available", func() (bool, error) {
		d, err := w.cluster.deployment(ctx)
		if err != nil || !rolledOut(d) {
			return false, err
		}
		pods, err := w.replicas(ctx)
		return len(pods) == int(d.Status.Replicas) && !slices.ContainsFunc(pods, isNotReady), err
	})
}

func isNotReady(pod corev1.Pod) bool {
	return pod.DeletionTimestamp != nil || !slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func (w *webhookBench) deleteReplica(ctx context.Context) error { return w.remove(ctx) }

func (w *webhookBench) killReplica(ctx context.Context) error {
	return w.remove(ctx, client.GracePeriodSeconds(0))
}

func (w *webhookBench) remove(ctx context.Context, options ...client.DeleteOption) error {
	pods, err := w.replicas(ctx)
	if err != nil {
		return err
	}
	if err := w.client.Delete(ctx, &pods[0], options...); err != nil {
		return err
	}
	return w.whole(ctx)
}

func (w *webhookBench) rollOut(ctx context.Context) error {
	d, err := w.cluster.deployment(ctx)
	if err != nil {
		return err
	}
	patch := fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"annotations":{"example.com/restarted":"%d"}}}}}`, time.Now().UnixNano())
	if err := w.client.Patch(ctx, d, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return err
	}
	return w.whole(ctx)
}

func (w *webhookBench) secret(ctx context.Context) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	return secret, w.client.Get(ctx, client.ObjectKey{Namespace: process.Account.Namespace, Name: "nginx-operator-webhook-cert"}, secret)
}

func (w *webhookBench) ageCertificate(ctx context.Context) error {
	return w.age(ctx, "tls.crt", testenv.AgeCertificate)
}

func (w *webhookBench) ageCA(ctx context.Context) error {
	return w.age(ctx, "ca.crt", testenv.AgeCA)
}

// age brings a certificate close to its expiry, and waits until it is replaced.
func (w *webhookBench) age(ctx context.Context, name string, age func(map[string][]byte, time.Duration) error) error {
	const left = 12 * time.Hour
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		secret, err := w.secret(ctx)
		if err != nil {
			return err
		}
		if err := age(secret.Data, left); err != nil {
			return err
		}
		return w.client.Update(ctx, secret)
	})
	if err != nil {
		return err
	}
	return w.wait(ctx, name+" is replaced", func() (bool, error) {
		secret, err := w.secret(ctx)
		if err != nil {
			return false, err
		}
		cert, err := testenv.ParseCertificate(secret.Data[name])
		return err == nil && time.Until(cert.NotAfter) > left, err
	})
}
