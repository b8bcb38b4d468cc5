package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/test/internal/process"
)

// restrictedRange are the annotations of the application's namespace. The range differs from that of the operator's
// namespace, as on OpenShift.
var restrictedRange = map[string]string{
	"openshift.io/sa.scc.uid-range":           "1000650000/10000",
	"openshift.io/sa.scc.supplemental-groups": "1000650000/10000",
}

// policiesWithin bounds the time until the API server enforces new policies.
const policiesWithin = 30 * time.Second

// prepareRestricted applies the policies, and checks that each of their rules refuses a pod.
func prepareRestricted(ctx context.Context, r *platformRun) error {
	if err := r.cluster.apply(ctx, "restricted-v2"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, policiesWithin)
	defer cancel()
	violations := podViolations()
	for name, violate := range violations {
		pod := acceptablePod()
		violate(pod)
		for !apierrors.IsInvalid(r.client.Create(ctx, pod.DeepCopy(), client.DryRunAll)) {
			if err := pause(ctx, platformPoll); err != nil {
				return fmt.Errorf("the policies accept a pod with %s", name)
			}
		}
	}
	for {
		err := r.client.Create(ctx, acceptablePod(), client.DryRunAll)
		if err == nil {
			break
		}
		if pause(ctx, platformPoll) != nil {
			return fmt.Errorf("the policies refuse a pod that restricted-v2 allows: %w", err)
		}
	}
	r.notes = append(r.notes, fmt.Sprintf("%s: the policies refuse %d of %d pods that violate a rule each", r.platform.name, len(violations), len(violations)))
	return nil
}

func acceptablePod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: process.Account.Namespace, Name: "pod"},
		Spec: corev1.PodSpec{
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "container", Image: "localhost/none",
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
}

// podViolations returns changes that make a pod violate one rule each.
func podViolations() map[string]func(*corev1.Pod) {
	container := func(p *corev1.Pod) *corev1.SecurityContext { return p.Spec.Containers[0].SecurityContext }
	return map[string]func(*corev1.Pod){
		"user 101":                   func(p *corev1.Pod) { container(p).RunAsUser = new(int64(101)) },
		"user 101 of the pod":        func(p *corev1.Pod) { p.Spec.SecurityContext.RunAsUser = new(int64(101)) },
		"group 101":                  func(p *corev1.Pod) { p.Spec.SecurityContext.RunAsGroup = new(int64(101)) },
		"fsGroup 101":                func(p *corev1.Pod) { p.Spec.SecurityContext.FSGroup = new(int64(101)) },
		"processes that may be root": func(p *corev1.Pod) { p.Spec.SecurityContext.RunAsNonRoot = nil },
		"all capabilities":           func(p *corev1.Pod) { container(p).Capabilities = nil },
		"a capability": func(p *corev1.Pod) {
			container(p).Capabilities.Add = []corev1.Capability{"NET_ADMIN"}
		},
		"no seccomp profile":       func(p *corev1.Pod) { p.Spec.SecurityContext.SeccompProfile = nil },
		"privilege escalation":     func(p *corev1.Pod) { container(p).AllowPrivilegeEscalation = nil },
		"the network of the node":  func(p *corev1.Pod) { p.Spec.HostNetwork = true },
		"a priority of the system": func(p *corev1.Pod) { p.Spec.PriorityClassName = "system-cluster-critical" },
		"a volume of type hostPath": func(p *corev1.Pod) {
			addVolume(p, corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}})
		},
		"a volume of type image": func(p *corev1.Pod) {
			addVolume(p, corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "localhost/none"}})
		},
	}
}

func addVolume(p *corev1.Pod, source corev1.VolumeSource) {
	p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "volume", VolumeSource: source})
}

// prepareRegistry moves the images to the registry.
func prepareRegistry(ctx context.Context, r *platformRun) error { return r.cluster.useRegistry(ctx) }

// admitToRegistry creates an application in a namespace without the Secret, waits until the status reports the cause,
// creates the Secret, and waits until the application is Ready. Then it creates the Secret for the application that is
// measured.
func admitToRegistry(ctx context.Context, r *platformRun) error {
	bench := *r.bench
	bench.namespace = "without-secret"
	without := *r
	without.bench = &bench
	if err := without.createNamespace(ctx); err != nil {
		return err
	}
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: without.namespace, Name: "web"}}
	if err := without.client.Create(ctx, nginx); err != nil {
		return err
	}
	start, message := time.Now(), ""
	if err := without.await(ctx, nginx, "the status names the Secret", func(n *v1alpha2.NginxOperator) bool {
		c := upToDateOf(n)
		message = c.Message
		return c.Reason == v1alpha2.ReasonImagePullFailed && strings.Contains(message, "Secret registry exists")
	}); err != nil {
		return err
	}
	r.notes = append(r.notes, fmt.Sprintf("%s: without the Secret, after %.1f s: %s", r.platform.name, time.Since(start).Seconds(), message))
	if err := r.cluster.pullSecret(ctx, without.namespace); err != nil {
		return err
	}
	start = time.Now()
	if err := without.bench.ready(ctx, nginx); err != nil {
		return err
	}
	r.notes = append(r.notes, fmt.Sprintf("%s: Ready %.1f s after the Secret is created", r.platform.name, time.Since(start).Seconds()))
	return errors.Join(without.client.Delete(ctx, nginx), r.cluster.pullSecret(ctx, r.namespace))
}
