package api

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/desired"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/test/internal/part"
)

// everyField returns a spec that uses every part of the API.
func everyField(t *testing.T) v1alpha2.NginxOperatorSpec {
	t.Helper()
	content := []v1alpha2.Content{
		{MountPath: "/srv/claim", PersistentVolumeClaim: &v1alpha2.PersistentVolumeClaimReference{ClaimName: "pages"}},
	}
	if servesFrom(t, "1.35.0") {
		content = append(content, imageContent())
	}
	return v1alpha2.NginxOperatorSpec{
		Image:    new("nginx:1.30"),
		Replicas: new(int32(2)),
		Ports: []v1alpha2.Port{
			{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP, NodePort: new(int32(30080))},
			{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP},
		},
		ForceRedeploy: new("1"),
		Config:        &v1alpha2.Config{Files: map[string]v1alpha2.ConfigFile{"site.conf": "server {}"}},
		Content:       content,
		Service: &v1alpha2.Service{
			Type:                  corev1.ServiceTypeNodePort,
			Annotations:           map[string]string{"example.com/a": "b"},
			ExternalTrafficPolicy: ptr.To(corev1.ServiceExternalTrafficPolicyLocal),
			SessionAffinity:       ptr.To(corev1.ServiceAffinityClientIP),
			TrafficDistribution:   new("PreferClose"),
		},
		Resources: &corev1.ResourceRequirements{
			Requests: quantities("0.5", "1024Mi"),
			Limits:   quantities("1500m", "2Gi"),
		},
		PodTemplate: everyPodField(),
		Rollout: &v1alpha2.Rollout{
			MaxSurge:                new(percent("50%")),
			MaxUnavailable:          new(percent("0%")),
			MinReadySeconds:         new(int32(1)),
			ProgressDeadlineSeconds: new(int32(60)),
		},
		Suspend: new(false),
	}
}

func imageContent() v1alpha2.Content {
	return v1alpha2.Content{MountPath: "/srv/image", Image: &v1alpha2.ImageVolume{Reference: "pages:1", PullPolicy: ptr.To(corev1.PullAlways)}}
}

// servesFrom reports whether the API server is of a version, or a later one. Image volumes are on by default from 1.35 on.
func servesFrom(t *testing.T, least string) bool {
	t.Helper()
	clients, err := discovery.NewDiscoveryClientForConfig(plane.Config)
	must(t, err)
	info, err := clients.ServerVersion()
	must(t, err)
	running, err := version.ParseGeneric(info.GitVersion)
	must(t, err)
	return running.AtLeast(version.MustParseGeneric(least))
}

func everyPodField() *v1alpha2.PodTemplate {
	return &v1alpha2.PodTemplate{
		Labels:            map[string]string{"team": "web"},
		Annotations:       map[string]string{"example.com/c": ""},
		NodeSelector:      map[string]string{"disk": "fast"},
		PriorityClassName: new("system-cluster-critical"),
		SchedulerName:     new("default-scheduler"),
		Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
				{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "a", Operator: corev1.NodeSelectorOpExists}}},
			}},
		}},
		Tolerations: []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists, TolerationSeconds: new(int64(0)), Effect: corev1.TaintEffectNoExecute}},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{
			{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{}},
		},
		ImagePullSecrets: []v1alpha2.SecretReference{{Name: "pull"}},
		ImagePullPolicy:  ptr.To(corev1.PullAlways),
		Env:              []corev1.EnvVar{{Name: "A", Value: ""}, {Name: "B", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}},
		Volumes: []v1alpha2.Volume{
			{Name: "empty", EmptyDir: &corev1.EmptyDirVolumeSource{}},
			{Name: "secret", Secret: &corev1.SecretVolumeSource{SecretName: "s"}},
			{Name: "map", ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "m"}}},
		},
		VolumeMounts: []v1alpha2.VolumeMount{{Name: "empty", MountPath: "/srv/empty", ReadOnly: new(false)}},
		InitContainers: []v1alpha2.Container{
			{Name: "before", Image: "a", Command: []string{"true"}, RunAsUser: new(int64(7))},
		},
		Containers: []v1alpha2.Container{{
			Name: "beside", Image: "b", Args: []string{""},
			Ports:          []v1alpha2.ContainerPort{{Name: "side", ContainerPort: 9000, Protocol: corev1.ProtocolTCP}},
			ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}},
			Resources:      &corev1.ResourceRequirements{Requests: quantities("1", "1Gi")},
		}},
	}
}

// TestNothingIsWrittenTwice: neither a further pass nor a restarted operator with cold caches
// writes an unchanged object. This covers the pitfalls of server-side apply: normalized quantities,
// defaults, order, and zero values.
func TestNothingIsWrittenTwice(t *testing.T) {
	for name, spec := range map[string]v1alpha2.NginxOperatorSpec{"least": {}, "every-field": everyField(t)} {
		t.Run(name, func(t *testing.T) {
			namespace := newNamespace(t)
			nginx := create(t, namespace, "web", spec)
			waitCondition(t, nginx, v1alpha2.ConditionAccepted, metav1.ConditionTrue, v1alpha2.ReasonAccepted)
			settled(t)
			before := versions(t, nginx)

			running.stop()
			running = startOperator()
			waitWoken(t, namespace)
			if writes := settled(t); writes != sentinelWrites {
				t.Errorf("the restarted operator wrote %d times, want only the %d of the sentinel:\n%s", writes, sentinelWrites, strings.Join(running.allWritten(), "\n"))
			}
			if diff := cmp.Diff(before, versions(t, nginx)); diff != "" {
				t.Errorf("resourceVersions changed (-before +after):\n%s", diff)
			}
		})
	}
}

// sentinelWrites is the number of writes for a new object with one replica: a revision, five owned
// objects, a status and an event.
const sentinelWrites = 8

// waitWoken waits until a restarted operator has reconciled a new object, which it does after those
// that existed before.
func waitWoken(t *testing.T, namespace string) {
	t.Helper()
	create(t, namespace, "sentinel", v1alpha2.NginxOperatorSpec{})
}

func versions(t *testing.T, nginx *v1alpha2.NginxOperator) map[string]string {
	t.Helper()
	must(t, get(t, nginx))
	found := map[string]string{"NginxOperator": nginx.ResourceVersion}
	for _, kind := range desired.Kinds(application.KindDeployment) {
		if obj := live(t, nginx, kind); obj != nil {
			found[kind.Name+" "+obj.GetName()] = obj.GetResourceVersion()
		}
	}
	return found
}

// TestNothingIsCachedTwice: no resource is cached twice. If the operator wrote an object in another
// form than it reads it, the client would create a cache of that form, as large as the first one,
// and reads would no longer wait for such writes.
func TestNothingIsCachedTwice(t *testing.T) {
	running.stop()
	running = startOperator()
	nginx := create(t, newNamespace(t), "web", everyKind())
	waitCondition(t, nginx, v1alpha2.ConditionAccepted, metav1.ConditionTrue, v1alpha2.ReasonAccepted)
	settled(t)
	if twice := running.cachedTwice(); len(twice) > 0 || len(running.caches) == 0 {
		t.Errorf("of %d caches, these are there more than once: %v", len(running.caches), twice)
	}
}

func TestOwnedObjects(t *testing.T) {
	nginx := create(t, newNamespace(t), "web", everyKind())
	for _, kind := range desired.Kinds(application.KindDeployment) {
		obj := live(t, nginx, kind)
		if obj == nil {
			t.Errorf("there is no %s", kind.Name)
			continue
		}
		if !metav1.IsControlledBy(obj, nginx) {
			t.Errorf("%s is not controlled by the NginxOperator: %v", kind.Name, obj.GetOwnerReferences())
		}
	}
}

func TestDriftIsCorrected(t *testing.T) {
	tests := map[string]struct {
		kind  string
		drift func(owned.Object)
		// back returns an error while the drift exists.
		back func(owned.Object) error
	}{
		"replicas": {"Deployment",
			func(o owned.Object) { o.(*appsv1.Deployment).Spec.Replicas = new(int32(7)) },
			func(o owned.Object) error { return same(*o.(*appsv1.Deployment).Spec.Replicas, int32(2)) }},
		"image": {"Deployment",
			func(o owned.Object) { o.(*appsv1.Deployment).Spec.Template.Spec.Containers[0].Image = "evil" },
			func(o owned.Object) error {
				return same(o.(*appsv1.Deployment).Spec.Template.Spec.Containers[0].Image, defaultImage)
			}},
		"hardening": {"Deployment",
			func(o owned.Object) {
				o.(*appsv1.Deployment).Spec.Template.Spec.SecurityContext.RunAsNonRoot = new(false)
			},
			func(o owned.Object) error {
				return same(*o.(*appsv1.Deployment).Spec.Template.Spec.SecurityContext.RunAsNonRoot, true)
			}},
		"what the hardening leaves out": {"Deployment",
			func(o owned.Object) {
				pod := &o.(*appsv1.Deployment).Spec.Template.Spec
				pod.HostPID, pod.HostIPC, pod.SecurityContext.FSGroup = true, true, new(int64(0))
				c := &pod.Containers[0]
				c.Args, c.SecurityContext.RunAsUser = []string{"--drain-delay=0s"}, new(int64(0))
				c.SecurityContext.Capabilities.Add = []corev1.Capability{"SYS_ADMIN"}
				pod.InitContainers[0].SecurityContext.Capabilities.Add = []corev1.Capability{"NET_RAW"}
			},
			func(o owned.Object) error {
				pod := o.(*appsv1.Deployment).Spec.Template.Spec
				c, installs := pod.Containers[0], pod.InitContainers[0]
				return same(fmt.Sprint(pod.HostPID, pod.HostIPC, pod.SecurityContext.FSGroup, c.Args, c.SecurityContext.RunAsUser,
					c.SecurityContext.Capabilities.Add, installs.SecurityContext.Capabilities.Add), "false false <nil> [] <nil> [] []")
			}},
		"service port": {"Service",
			func(o owned.Object) { o.(*corev1.Service).Spec.Ports[0].Port = 81 },
			func(o owned.Object) error { return same(o.(*corev1.Service).Spec.Ports[0].Port, int32(80)) }},
		"selector": {"Service",
			func(o owned.Object) { o.(*corev1.Service).Spec.Selector["added"] = "by-another-client" },
			func(o owned.Object) error { return same(o.(*corev1.Service).Spec.Selector["added"], "") }},
		"command": {"Deployment",
			func(o owned.Object) {
				c := &o.(*appsv1.Deployment).Spec.Template.Spec.Containers[0]
				c.Command = append(c.Command, "-t")
			},
			func(o owned.Object) error {
				return differs(o.(*appsv1.Deployment).Spec.Template.Spec.Containers[0].Command[len(o.(*appsv1.Deployment).Spec.Template.Spec.Containers[0].Command)-1], "-t")
			}},
		"volume of another type": {"Deployment",
			func(o owned.Object) {
				volumes := o.(*appsv1.Deployment).Spec.Template.Spec.Volumes
				for i := range volumes {
					if volumes[i].Name == "config" {
						volumes[i].VolumeSource = corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
					}
				}
			},
			func(o owned.Object) error {
				for _, v := range o.(*appsv1.Deployment).Spec.Template.Spec.Volumes {
					if v.Name == "config" && v.ConfigMap == nil {
						return fmt.Errorf("it is still %+v", v.VolumeSource)
					}
				}
				return nil
			}},
		"probe of another type": {"Deployment",
			func(o owned.Object) {
				o.(*appsv1.Deployment).Spec.Template.Spec.Containers[0].ReadinessProbe.ProbeHandler = corev1.ProbeHandler{
					Exec: &corev1.ExecAction{Command: []string{"true"}},
				}
			},
			func(o owned.Object) error {
				return same(o.(*appsv1.Deployment).Spec.Template.Spec.Containers[0].ReadinessProbe.Exec, nil)
			}},
		"our label": {"Service",
			func(o owned.Object) { delete(o.GetLabels(), naming.LabelApplication) },
			func(o owned.Object) error { return same(o.GetLabels()[naming.LabelApplication], "web") }},
		"another rule of the policy": {"NetworkPolicy",
			func(o owned.Object) {
				spec := &o.(*networkingv1.NetworkPolicy).Spec
				spec.Ingress = append(spec.Ingress, networkingv1.NetworkPolicyIngressRule{})
			},
			func(o owned.Object) error { return same(len(o.(*networkingv1.NetworkPolicy).Spec.Ingress), 2) }},
		"another peer of the policy": {"NetworkPolicy",
			func(o owned.Object) {
				rule := &o.(*networkingv1.NetworkPolicy).Spec.Ingress[1]
				rule.From = append(rule.From, networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{}})
			},
			func(o owned.Object) error {
				return same(len(o.(*networkingv1.NetworkPolicy).Spec.Ingress[1].From), 1)
			}},
		"budget": {"PodDisruptionBudget",
			func(o owned.Object) {
				o.(*policyv1.PodDisruptionBudget).Spec.UnhealthyPodEvictionPolicy = ptr.To(policyv1.IfHealthyBudget)
			},
			func(o owned.Object) error {
				return same(*o.(*policyv1.PodDisruptionBudget).Spec.UnhealthyPodEvictionPolicy, policyv1.AlwaysAllow)
			}},
		"budget of another sort": {"PodDisruptionBudget",
			func(o owned.Object) {
				o.(*policyv1.PodDisruptionBudget).Spec.MaxUnavailable, o.(*policyv1.PodDisruptionBudget).Spec.MinAvailable = nil, new(intstr.FromInt32(2))
			},
			func(o owned.Object) error {
				return same(o.(*policyv1.PodDisruptionBudget).Spec.MinAvailable == nil, true)
			}},
		"seccomp profile of another type": {"Deployment",
			func(o owned.Object) {
				o.(*appsv1.Deployment).Spec.Template.Spec.SecurityContext.SeccompProfile = &corev1.SeccompProfile{
					Type: corev1.SeccompProfileTypeLocalhost, LocalhostProfile: new("theirs.json"),
				}
			},
			func(o owned.Object) error {
				return same(o.(*appsv1.Deployment).Spec.Template.Spec.SecurityContext.SeccompProfile.Type, corev1.SeccompProfileTypeRuntimeDefault)
			}},
		"strategy of another type": {"Deployment",
			func(o owned.Object) {
				o.(*appsv1.Deployment).Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
			},
			func(o owned.Object) error {
				return same(o.(*appsv1.Deployment).Spec.Strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
			}},
		"service of another type": {"Service",
			func(o owned.Object) {
				o.(*corev1.Service).Spec.Type, o.(*corev1.Service).Spec.ExternalName = corev1.ServiceTypeExternalName, "example.com"
			},
			func(o owned.Object) error { return same(o.(*corev1.Service).Spec.Type, corev1.ServiceTypeClusterIP) }},
		"token": {"ServiceAccount",
			func(o owned.Object) { o.(*corev1.ServiceAccount).AutomountServiceAccountToken = new(true) },
			func(o owned.Object) error {
				return same(*o.(*corev1.ServiceAccount).AutomountServiceAccountToken, false)
			}},
		"token, as by default": {"ServiceAccount",
			func(o owned.Object) { o.(*corev1.ServiceAccount).AutomountServiceAccountToken = nil },
			func(o owned.Object) error {
				return same(ptr.Deref(o.(*corev1.ServiceAccount).AutomountServiceAccountToken, true), false)
			}},
		"hardening, as by default": {"Deployment",
			func(o owned.Object) {
				o.(*appsv1.Deployment).Spec.Template.Spec.Containers[0].SecurityContext.AllowPrivilegeEscalation = nil
			},
			func(o owned.Object) error {
				return same(ptr.Deref(o.(*appsv1.Deployment).Spec.Template.Spec.Containers[0].SecurityContext.AllowPrivilegeEscalation, true), false)
			}},
		"empty volume of another type": {"Deployment",
			func(o owned.Object) {
				volumes := o.(*appsv1.Deployment).Spec.Template.Spec.Volumes
				for i := range volumes {
					if volumes[i].EmptyDir != nil {
						volumes[i].VolumeSource = corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}
					}
				}
			},
			func(o owned.Object) error {
				for _, v := range o.(*appsv1.Deployment).Spec.Template.Spec.Volumes {
					if v.HostPath != nil {
						return fmt.Errorf("it is still %+v", v.VolumeSource)
					}
				}
				return nil
			}},
		"configuration, added": {"ConfigMap",
			func(o owned.Object) { o.(*corev1.ConfigMap).Data["added.conf"] = "added" },
			func(o owned.Object) error { return same(o.(*corev1.ConfigMap).Data["added.conf"], "") }},
		"configuration, added bytes": {"ConfigMap",
			func(o owned.Object) { o.(*corev1.ConfigMap).BinaryData = map[string][]byte{"added.conf": {1}} },
			func(o owned.Object) error {
				return same(strings.Join(slices.Sorted(maps.Keys(o.(*corev1.ConfigMap).BinaryData)), " "), instanceapi.FileTrust)
			}},
		"public keys": {"ConfigMap",
			func(o owned.Object) { o.(*corev1.ConfigMap).BinaryData[instanceapi.FileTrust] = []byte(`{"keys":[]}`) },
			func(o owned.Object) error {
				trust, err := instanceapi.ParseTrust(string(o.(*corev1.ConfigMap).BinaryData[instanceapi.FileTrust]))
				return errors.Join(err, same(trust.Application.Name, "web"), same(len(trust.Keys), 1))
			}},
		"label": {"Service",
			func(o owned.Object) { delete(o.GetLabels(), "app.kubernetes.io/instance") },
			func(o owned.Object) error { return same(o.GetLabels()["app.kubernetes.io/instance"], "web") }},
	}
	nginx := create(t, newNamespace(t), "web", everyKind())
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			eventually(t, "it is changed", func() error {
				obj := ownedObject(t, nginx, tt.kind)
				tt.drift(obj)
				return kube.Update(t.Context(), obj)
			})
			eventually(t, "it is put back", func() error { return tt.back(ownedObject(t, nginx, tt.kind)) })
		})
	}
}

func same[T comparable](got, want T) error {
	if got != want {
		return fmt.Errorf("it is %v, want %v", got, want)
	}
	return nil
}

func differs[T comparable](got, unwanted T) error {
	if got == unwanted {
		return fmt.Errorf("it is still %v", got)
	}
	return nil
}

// TestPatchedFieldCanBeRemoved: a field that could not be merged is replaced, and the operator
// owns it as before.
func TestPatchedFieldCanBeRemoved(t *testing.T) {
	p := newPortOfOurs(t)
	p.change()
	p.putBack()
	p.undeclare()
}

// TestKilledWhileCorrecting: a port is removed even if an operator is killed after it has restored
// the port with a patch and before it has applied anything. When the next operator starts, the port
// is no longer declared, and that operator is killed at each of its writes.
func TestKilledWhileCorrecting(t *testing.T) {
	for k := range part.Selected().Positions() {
		p := newPortOfOurs(t)
		settled(t)
		first := &death{at: 3}
		running.death.Store(first)
		p.change()
		eventually(t, "the port is put back, and nothing else", func() error { return same(first.happened.Load(), true) })
		must(t, same(p.number(), p.declared))
		running.stop()
		must(t, get(t, p.nginx))
		p.nginx.Spec.Ports = p.nginx.Spec.Ports[:1]
		must(t, kube.Update(t.Context(), p.nginx))

		second := &death{at: k, sent: true}
		running = startOperator()
		running.death.Store(second)
		eventually(t, "killed or done", func() error {
			if second.happened.Load() {
				return nil
			}
			return p.allReconciled()
		})
		killed := second.happened.Load()
		if killed {
			running.stop()
			running = startOperator()
		}
		running.death.Store(nil)
		p.gone()
		if !killed {
			t.Logf("to leave it takes fewer than %d writes", k)
			return
		}
	}
}

// portOfOurs is a port of an application's Service that another client changes, so that it cannot
// be merged with the declared port.
type portOfOurs struct {
	t        *testing.T
	nginx    *v1alpha2.NginxOperator
	declared int32
}

func newPortOfOurs(t *testing.T) *portOfOurs {
	t.Helper()
	const declared = 9000
	p := &portOfOurs{t, create(t, newNamespace(t), "web", v1alpha2.NginxOperatorSpec{
		Ports: []v1alpha2.Port{{Name: "http", Port: 8080}, {Name: "admin", Port: declared}},
	}), declared}
	eventually(t, "there is a Service", func() error { return same(p.number(), declared) })
	return p
}

// number returns the number of the port, or 0 if the port does not exist.
func (p *portOfOurs) number() int32 {
	service, ok := ownedObject(p.t, p.nginx, "Service").(*corev1.Service)
	if !ok {
		return 0
	}
	for _, port := range service.Spec.Ports {
		if port.Name == "admin" {
			return port.Port
		}
	}
	return 0
}

func (p *portOfOurs) change() {
	p.t.Helper()
	eventually(p.t, "its number is changed", func() error {
		service := ownedObject(p.t, p.nginx, "Service").(*corev1.Service)
		for i := range service.Spec.Ports {
			if service.Spec.Ports[i].Name == "admin" {
				service.Spec.Ports[i].Port = p.declared + 1
			}
		}
		return kube.Update(p.t.Context(), service)
	})
}

func (p *portOfOurs) putBack() {
	p.t.Helper()
	eventually(p.t, "it is put back", func() error { return same(p.number(), p.declared) })
	settled(p.t)
}

func (p *portOfOurs) undeclare() {
	p.t.Helper()
	edit(p.t, p.nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Ports = s.Ports[:1] })
	p.gone()
}

// allReconciled returns an error unless the operator has observed the last change of the spec.
func (p *portOfOurs) allReconciled() error {
	p.t.Helper()
	must(p.t, get(p.t, p.nginx))
	return same(p.nginx.Status.ObservedGeneration, p.nginx.Generation)
}

// gone waits until the port does not exist, and checks that no managed field shows how it was
// restored.
func (p *portOfOurs) gone() {
	p.t.Helper()
	eventually(p.t, "it is gone", func() error { return same(p.number(), 0) })
	must(p.t, operatorOwnsByApplyAlone(ownedObject(p.t, p.nginx, "Service")))
}

// TestFrozenConfiguration: a ConfigMap that a user has made immutable is recreated before it has to
// change.
func TestFrozenConfiguration(t *testing.T) {
	config := &v1alpha2.Config{Files: map[string]v1alpha2.ConfigFile{"site.conf": "a"}}
	nginx := create(t, newNamespace(t), "web", v1alpha2.NginxOperatorSpec{Config: config})
	for _, name := range []string{naming.ConfigMap("web"), naming.ConfigMapNext("web")} {
		key := client.ObjectKey{Namespace: nginx.Namespace, Name: name}
		eventually(t, name+" is frozen", func() error {
			frozen := &corev1.ConfigMap{}
			if err := kube.Get(t.Context(), key, frozen); err != nil {
				return err
			}
			frozen.Immutable = new(true)
			return kube.Update(t.Context(), frozen)
		})
		eventually(t, name+" is another one", func() error {
			recreated := &corev1.ConfigMap{}
			if err := kube.Get(t.Context(), key, recreated); err != nil {
				return err
			}
			return errors.Join(same(recreated.Immutable, (*bool)(nil)), same(recreated.Data["site.conf"], "a"))
		})
	}
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Config.Files["site.conf"] = "b" })
	eventually(t, "it changes", func() error {
		return same(ownedObject(t, nginx, "ConfigMap").(*corev1.ConfigMap).Data["site.conf"], "b")
	})
}

// TestUntestedConfigurationIsNotStable: without a pod that could test a new configuration, the
// stable one does not change.
func TestUntestedConfigurationIsNotStable(t *testing.T) {
	config := func(text string) *v1alpha2.Config {
		return &v1alpha2.Config{Files: map[string]v1alpha2.ConfigFile{"site.conf": v1alpha2.ConfigFile(text)}}
	}
	nginx := create(t, newNamespace(t), "web", v1alpha2.NginxOperatorSpec{Config: config("a")})
	template := ownedObject(t, nginx, "Deployment").(*appsv1.Deployment).Spec.Template
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Config = config("b") })
	settled(t)
	stable := &corev1.ConfigMap{}
	must(t, kube.Get(t.Context(), client.ObjectKey{Namespace: nginx.Namespace, Name: naming.ConfigMap("web")}, stable))
	for _, err := range []error{
		same(stable.Data["site.conf"], "a"),
		same(ownedObject(t, nginx, "ConfigMap").(*corev1.ConfigMap).Data["site.conf"], "b"),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff(template, ownedObject(t, nginx, "Deployment").(*appsv1.Deployment).Spec.Template); diff != "" {
		t.Errorf("a change of the configuration changed the pods:\n%s", diff)
	}
}

// TestRenderedConfigMapIsNotAReference: a resource must not refer to the ConfigMap that is rendered for it,
// because its configuration would change for ever.
func TestRenderedConfigMapIsNotAReference(t *testing.T) {
	nginx := create(t, newNamespace(t), "web", v1alpha2.NginxOperatorSpec{})
	name := ownedObject(t, nginx, "ConfigMap").GetName()
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) {
		s.Config = &v1alpha2.Config{ConfigMap: &v1alpha2.ConfigMapReference{Name: name}}
	})
	waitCondition(t, nginx, v1alpha2.ConditionAccepted, metav1.ConditionFalse, v1alpha2.ReasonConfigInvalid)
	settled(t)
}

// TestDeploymentWaitsForItsServiceAccount: the Deployment is not created while its ServiceAccount is
// missing, because its pods would run under a foreign one.
func TestDeploymentWaitsForItsServiceAccount(t *testing.T) {
	namespace := newNamespace(t)
	must(t, kube.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: naming.ServiceAccount("web")}}))
	nginx := create(t, namespace, "web", v1alpha2.NginxOperatorSpec{})
	waitCondition(t, nginx, v1alpha2.ConditionAccepted, metav1.ConditionFalse, v1alpha2.ReasonNameConflict)
	settled(t)
	if ownedObject(t, nginx, "Deployment") != nil {
		t.Error("pods were made that run under a foreign ServiceAccount")
	}
	if ownedObject(t, nginx, "Service") == nil {
		t.Error("what does not require the ServiceAccount was held back")
	}
}

func TestDeletedObjectsAreRecreated(t *testing.T) {
	nginx := create(t, newNamespace(t), "web", everyKind())
	for _, kind := range desired.Kinds(application.KindDeployment) {
		t.Run(kind.Name, func(t *testing.T) {
			before := ownedObject(t, nginx, kind.Name)
			must(t, kube.Delete(t.Context(), before))
			eventually(t, "it is back", func() error {
				if now := ownedObject(t, nginx, kind.Name); now == nil || now.GetUID() == before.GetUID() {
					return fmt.Errorf("it is not there")
				}
				return nil
			})
		})
	}
}

func TestForeignFieldsAreLeftAlone(t *testing.T) {
	nginx := create(t, newNamespace(t), "web", v1alpha2.NginxOperatorSpec{Replicas: new(int32(2))})
	d := ownedObject(t, nginx, "Deployment").(*appsv1.Deployment)
	d.Labels["example.com/extra"] = "label"
	d.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] = "now"
	d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{Name: "injected", Image: "sidecar"})
	must(t, kube.Update(t.Context(), d))
	svc := ownedObject(t, nginx, "Service").(*corev1.Service)
	svc.Annotations["example.com/extra"] = "annotation"
	must(t, kube.Update(t.Context(), svc))

	before := settled(t)
	version := ownedObject(t, nginx, "Deployment").GetResourceVersion()
	if err := same(version, d.ResourceVersion); err != nil {
		t.Errorf("the Deployment was written over: %v", err)
	}
	// A change by the operator keeps what others have added.
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.ForceRedeploy = new("x") })
	if settled(t) == before {
		t.Error("the edit wrote nothing")
	}
	d = ownedObject(t, nginx, "Deployment").(*appsv1.Deployment)
	for _, err := range []error{
		same(d.Labels["example.com/extra"], "label"),
		same(d.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"], "now"),
		same(len(d.Spec.Template.Spec.Containers), 2),
		same(ownedObject(t, nginx, "Service").GetAnnotations()["example.com/extra"], "annotation"),
	} {
		if err != nil {
			t.Error(err)
		}
	}
}

// TestForeignObjectIsNotAdopted: a foreign object is not adopted, even if a label-filtered cache
// does not contain it.
func TestForeignObjectIsNotAdopted(t *testing.T) {
	for _, kind := range desired.Kinds(application.KindDeployment) {
		t.Run(kind.Name+" "+kind.ObjectName("web"), func(t *testing.T) {
			// The operator notices after half a minute that a foreign object is gone, so wait for
			// all kinds in parallel.
			t.Parallel()
			namespace := newNamespace(t)
			foreign := foreignObject(kind, namespace)
			must(t, kube.Create(t.Context(), foreign))
			nginx := create(t, namespace, "web", everyKind())
			waitCondition(t, nginx, v1alpha2.ConditionAccepted, metav1.ConditionFalse, v1alpha2.ReasonNameConflict)
			settled(t)
			before := foreign.GetResourceVersion()
			must(t, get(t, foreign))
			if err := same(foreign.GetResourceVersion(), before); err != nil {
				t.Errorf("the foreign object was written: %v", err)
			}
			must(t, kube.Delete(t.Context(), foreign))
			waitCondition(t, nginx, v1alpha2.ConditionAccepted, metav1.ConditionTrue, v1alpha2.ReasonAccepted)
		})
	}
}

func foreignObject(kind owned.Kind, namespace string) client.Object {
	obj := kind.New()
	obj.SetNamespace(namespace)
	obj.SetName(kind.ObjectName("web"))
	selector := map[string]string{"app": "other"}
	switch o := obj.(type) {
	case *corev1.Service:
		o.Spec.Ports = []corev1.ServicePort{{Port: 1234}}
	case *appsv1.Deployment:
		o.Spec.Selector = &metav1.LabelSelector{MatchLabels: selector}
		o.Spec.Template.Labels = selector
		o.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
	case *policyv1.PodDisruptionBudget:
		o.Spec.Selector = &metav1.LabelSelector{MatchLabels: selector}
	case *networkingv1.Ingress:
		o.Spec.Rules = []networkingv1.IngressRule{{Host: "other.example.com"}}
	}
	return obj
}

// TestNetworkPolicy: the NetworkPolicy exists while the spec declares one, and follows the ports.
func TestNetworkPolicy(t *testing.T) {
	nginx := create(t, newNamespace(t), "web", v1alpha2.NginxOperatorSpec{})
	settled(t)
	if ownedObject(t, nginx, "NetworkPolicy") != nil {
		t.Error("a NetworkPolicy exists that is not declared")
	}
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.NetworkPolicy = &v1alpha2.NetworkPolicy{} })
	eventually(t, "no client is admitted", func() error { return sameRules(ownedObject(t, nginx, "NetworkPolicy"), "9113 from 0") })
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) {
		s.Ports = []v1alpha2.Port{{Name: "http", Port: 8080, Protocol: "TCP"}}
		s.NetworkPolicy.IngressFrom = everyKind().NetworkPolicy.IngressFrom
	})
	eventually(t, "a peer is admitted", func() error { return sameRules(ownedObject(t, nginx, "NetworkPolicy"), "9113 from 0, 8080 from 1") })
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.NetworkPolicy = nil })
	eventually(t, "it is gone", func() error { return same(ownedObject(t, nginx, "NetworkPolicy") == nil, true) })
}

// sameRules compares the ports of each rule and the number of its peers.
func sameRules(object owned.Object, want string) error {
	policy, ok := object.(*networkingv1.NetworkPolicy)
	if !ok {
		return fmt.Errorf("there is no NetworkPolicy")
	}
	var rules []string
	for _, r := range policy.Spec.Ingress {
		var ports []string
		for _, p := range r.Ports {
			ports = append(ports, p.Port.String())
		}
		rules = append(rules, fmt.Sprintf("%s from %d", strings.Join(ports, "+"), len(r.From)))
	}
	return same(strings.Join(rules, ", "), want)
}

func TestPodDisruptionBudgetFollowsReplicas(t *testing.T) {
	nginx := create(t, newNamespace(t), "web", v1alpha2.NginxOperatorSpec{Replicas: new(int32(1))})
	for _, step := range []struct {
		replicas int32
		exists   bool
	}{{1, false}, {2, true}, {1, false}, {0, false}, {3, true}} {
		edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Replicas = new(step.replicas) })
		eventually(t, fmt.Sprintf("%d replicas", step.replicas), func() error {
			return same(ownedObject(t, nginx, "PodDisruptionBudget") != nil, step.exists)
		})
	}
}

func TestAutoscalerTakesOverReplicas(t *testing.T) {
	namespace := newNamespace(t)
	nginx := create(t, namespace, "web", v1alpha2.NginxOperatorSpec{Replicas: new(int32(3))})
	hpa := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			MaxReplicas:    9,
		},
	}
	must(t, kube.Create(t.Context(), hpa))
	settled(t)
	replicas := func(want int32) func() error {
		return func() error {
			return same(*ownedObject(t, nginx, "Deployment").(*appsv1.Deployment).Spec.Replicas, want)
		}
	}
	must(t, replicas(3)())

	scale(t, nginx, 5)
	settled(t)
	must(t, replicas(5)())
	// A write by the operator must neither take the field back nor reset it to 1.
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.ForceRedeploy = new("x"); s.Replicas = new(int32(2)) })
	settled(t)
	must(t, replicas(5)())
	scale(t, nginx, 1)
	settled(t)
	must(t, replicas(1)())

	must(t, kube.Delete(t.Context(), hpa))
	eventually(t, "without the autoscaler spec.replicas counts again", replicas(2))
}

// scale changes the replicas as an autoscaler does.
func scale(t *testing.T, nginx *v1alpha2.NginxOperator, replicas int32) {
	t.Helper()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: nginx.Namespace, Name: nginx.Name}}
	body := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
	must(t, kube.SubResource("scale").Update(t.Context(), d, client.WithSubResourceBody(body), client.FieldOwner("kube-controller-manager")))
}

func TestSuspend(t *testing.T) {
	nginx := create(t, newNamespace(t), "web", v1alpha2.NginxOperatorSpec{Suspend: new(true)})
	waitCondition(t, nginx, v1alpha2.ConditionUpToDate, metav1.ConditionFalse, v1alpha2.ReasonSuspended)
	if ownedObject(t, nginx, "Deployment") != nil {
		t.Fatal("a suspended resource was carried out")
	}
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Suspend = nil })
	eventually(t, "it is carried out", func() error { return same(ownedObject(t, nginx, "Deployment") != nil, true) })
}

func TestReferencedConfigMap(t *testing.T) {
	namespace := newNamespace(t)
	nginx := create(t, namespace, "web", v1alpha2.NginxOperatorSpec{
		Config: &v1alpha2.Config{ConfigMap: &v1alpha2.ConfigMapReference{Name: "conf"}},
	})
	waitCondition(t, nginx, v1alpha2.ConditionAccepted, metav1.ConditionFalse, v1alpha2.ReasonConfigMapNotFound)

	conf := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "conf"}, Data: map[string]string{"site.conf": "one"}}
	serves := func(text string) func() error {
		return func() error {
			rendered := ownedObject(t, nginx, "ConfigMap")
			if rendered == nil {
				return fmt.Errorf("there is no rendered configuration")
			}
			return same(rendered.(*corev1.ConfigMap).Data["site.conf"], text)
		}
	}
	must(t, kube.Create(t.Context(), conf))
	eventually(t, "it appears", serves("one"))
	waitCondition(t, nginx, v1alpha2.ConditionAccepted, metav1.ConditionTrue, v1alpha2.ReasonAccepted)

	conf.Data["site.conf"] = "two"
	must(t, kube.Update(t.Context(), conf))
	eventually(t, "it is changed", serves("two"))
	first := ownedObject(t, nginx, "Deployment").(*appsv1.Deployment).Spec.Template.Annotations

	conf.Data = map[string]string{"page.html": "no configuration"}
	must(t, kube.Update(t.Context(), conf))
	waitCondition(t, nginx, v1alpha2.ConditionAccepted, metav1.ConditionFalse, v1alpha2.ReasonConfigInvalid)
	must(t, serves("two")())

	must(t, kube.Delete(t.Context(), conf))
	waitCondition(t, nginx, v1alpha2.ConditionAccepted, metav1.ConditionFalse, v1alpha2.ReasonConfigMapNotFound)
	must(t, serves("two")())
	if diff := cmp.Diff(first, ownedObject(t, nginx, "Deployment").(*appsv1.Deployment).Spec.Template.Annotations); diff != "" {
		t.Errorf("the pods changed although the configuration did not:\n%s", diff)
	}
}

// TestReferencedConfigMapWithChecks: later passes accept the candidate, from which they read the
// files, although it also contains a file of the operator.
func TestReferencedConfigMapWithChecks(t *testing.T) {
	namespace := newNamespace(t)
	conf := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "conf"}, Data: map[string]string{"site.conf": "one"}}
	must(t, kube.Create(t.Context(), conf))
	nginx := create(t, namespace, "web", v1alpha2.NginxOperatorSpec{
		Config: &v1alpha2.Config{ConfigMap: &v1alpha2.ConfigMapReference{Name: "conf"}},
		Checks: []v1alpha2.Check{{Path: "/"}},
	})
	eventually(t, "it is carried out", func() error { return same(ownedObject(t, nginx, "Deployment") != nil, true) })
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Replicas = new(int32(2)) })
	settled(t)
	waitCondition(t, nginx, v1alpha2.ConditionAccepted, metav1.ConditionTrue, v1alpha2.ReasonAccepted)
}

func TestRecreatedResourceWaitsForTheOldObjects(t *testing.T) {
	namespace := newNamespace(t)
	nginx := create(t, namespace, "web", v1alpha2.NginxOperatorSpec{})
	old := ownedObject(t, nginx, "Deployment")
	must(t, kube.Delete(t.Context(), nginx))
	again := create(t, namespace, "web", v1alpha2.NginxOperatorSpec{})
	settled(t)
	// There is no garbage collector here, so the old object must be unchanged.
	if err := same(ownedObject(t, again, "Deployment").GetResourceVersion(), old.GetResourceVersion()); err != nil {
		t.Errorf("an object of the earlier resource was written: %v", err)
	}
	for _, kind := range desired.Kinds(application.KindDeployment) {
		if obj := live(t, nginx, kind); obj != nil {
			must(t, client.IgnoreNotFound(kube.Delete(t.Context(), obj)))
		}
	}
	must(t, kube.DeleteAllOf(t.Context(), &appsv1.ControllerRevision{}, client.InNamespace(namespace)))
	eventually(t, "the new resource gets its own", func() error {
		d := ownedObject(t, again, "Deployment")
		if d == nil {
			return fmt.Errorf("there is none")
		}
		return same(d.GetOwnerReferences()[0].UID, again.UID)
	})
}

func TestRejectedObjectIsReported(t *testing.T) {
	nginx := create(t, newNamespace(t), "web", v1alpha2.NginxOperatorSpec{
		PodTemplate: &v1alpha2.PodTemplate{Labels: map[string]string{"not a label": "x"}},
	})
	c := waitCondition(t, nginx, v1alpha2.ConditionAccepted, metav1.ConditionFalse, v1alpha2.ReasonRejected)
	t.Log(c.Message)
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.PodTemplate = nil })
	waitCondition(t, nginx, v1alpha2.ConditionAccepted, metav1.ConditionTrue, v1alpha2.ReasonAccepted)
}
