package tier

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/cache/cacheconf"
	"example.com/nginx-operator/internal/cache/handover"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/test/golden"
)

var testCluster = cacheconf.Cluster{Domain: "cluster.local"}

func sample() *v1alpha1.NginxCache {
	cache := &v1alpha1.NginxCache{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "front", UID: "u1", Generation: 7, Annotations: map[string]string{"gate.operator.example.com/ok": "x"},
	}}
	cache.Spec.Origins = []v1alpha1.Origin{{Name: "shop", Service: &v1alpha1.ServiceReference{Name: "shop", Port: 80}}}
	cache.Spec.Edge.Replicas = new(int32(3))
	cache.Spec.Shards = v1alpha1.Shards{Replicas: new(int32(4)), Storage: v1alpha1.Storage{
		Size: resource.MustParse("20Gi"), StorageClassName: new("fast"), WhenScaled: new(v1alpha1.VolumeRetain),
	}}
	cache.Spec.TLS = []v1alpha1.Certificate{{Name: "shop", SecretName: "shop-tls"}}
	cache.Spec.NetworkPolicy = &v1alpha2.NetworkPolicy{IngressFrom: []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{}}}}
	cache.Spec.Service = &v1alpha2.Service{Type: corev1.ServiceTypeLoadBalancer}
	cache.Spec.PodTemplate = &v1alpha2.PodTemplate{
		Labels:       map[string]string{"team": "web", v1alpha1.LabelTier: "mine"},
		Volumes:      []v1alpha2.Volume{{Name: "extra", EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		VolumeMounts: []v1alpha2.VolumeMount{{Name: "extra", MountPath: "/extra"}},
	}
	return cache
}

// TestGolden: what the two tiers are made of, apart from their configurations.
func TestGolden(t *testing.T) {
	cache := sample()
	before := cache.DeepCopy()
	tiers := Build(cache, testCluster, PlanVolumes(cache, nil), handover.Plan{Shards: 4}, Origins{}, cacheconf.PeerKeys{})
	if tiers.Invalid != nil {
		t.Fatal(tiers.Invalid)
	}
	for name, app := range map[string]*application.Application{"edge": tiers.Edge, "shards": tiers.Shards} {
		if len(app.Spec.Config.Files) < 4 {
			t.Errorf("the configuration of %s has the files %v", name, app.Spec.Config.Files)
		}
		app.Spec.Config = nil
		text, err := yaml.Marshal(map[string]any{"application": app.NginxOperator, "owner": app.Owner, "stateful": app.Stateful})
		if err != nil {
			t.Fatal(err)
		}
		golden.Compare(t, filepath.Join("testdata", name+".yaml"), string(text))
	}
	if after, err := yaml.Marshal(cache); err != nil || !strings.Contains(string(after), "mine") || len(cache.Spec.PodTemplate.Volumes) != len(before.Spec.PodTemplate.Volumes) {
		t.Errorf("the cache itself was changed: %v\n%s", err, after)
	}
}

// TestVolumesOfTheOperator: the user's part of the template cannot use the volumes of a tier, and the pods keep what they
// have.
func TestVolumesOfTheOperator(t *testing.T) {
	for _, name := range append(slices.Clone(naming.CacheVolumes), naming.VolumeInstance) {
		for how, template := range map[string]*v1alpha2.PodTemplate{
			"mounted":  {VolumeMounts: []v1alpha2.VolumeMount{{Name: name, MountPath: "/srv/x"}}},
			"declared": {Volumes: []v1alpha2.Volume{{Name: name, EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
		} {
			cache := sample()
			cache.Spec.PodTemplate = template
			tiers := Build(cache, testCluster, PlanVolumes(cache, nil), handover.Plan{Shards: 4}, Origins{}, cacheconf.PeerKeys{})
			if tiers.Invalid == nil || !strings.Contains(tiers.Invalid.Error(), name) {
				t.Errorf("%s %s: %v", name, how, tiers.Invalid)
			}
			for _, app := range []*application.Application{tiers.Edge, tiers.Shards} {
				if app.Invalid == "" || slices.ContainsFunc(app.Spec.PodTemplate.VolumeMounts, func(m v1alpha2.VolumeMount) bool { return m.MountPath == "/srv/x" }) {
					t.Errorf("%s %s: %q, the mounts of %s are %+v", name, how, app.Invalid, app.Name, app.Spec.PodTemplate.VolumeMounts)
				}
			}
		}
	}
}

// TestReservedVolumes: every volume that a tier adds has a reserved name.
func TestReservedVolumes(t *testing.T) {
	cache := sample()
	cache.Spec.PodTemplate = nil
	tiers := Build(cache, testCluster, PlanVolumes(cache, nil), handover.Plan{Shards: 4}, Origins{}, cacheconf.PeerKeys{})
	for _, app := range []*application.Application{tiers.Edge, tiers.Shards} {
		for _, m := range app.Spec.PodTemplate.VolumeMounts {
			if !slices.Contains(naming.CacheVolumes, m.Name) {
				t.Errorf("the volume %s of %s is not reserved: add it to naming.CacheVolumes and to the rule of NginxCache", m.Name, app.Name)
			}
		}
	}
}

// TestPrevious: the events of a pass are about what has changed since the last status.
func TestPrevious(t *testing.T) {
	cache := sample()
	before := &v1alpha1.TierStatus{Certificates: []v1alpha2.CertificateStatus{{Name: "shop"}}, Restarts: 3, ReadyReplicas: 2, Image: "nginx:1", Conditions: []metav1.Condition{{Type: "Ready"}}}
	cache.Status.Edge = before
	tiers := Build(cache, testCluster, PlanVolumes(cache, nil), handover.Plan{Shards: 4}, Origins{}, cacheconf.PeerKeys{})
	if got := tiers.Edge.Status; got.Restarts != 3 || got.ReadyReplicas != 2 || got.Image != "nginx:1" || len(got.Conditions) != 1 || len(got.Certificates) != 1 {
		t.Errorf("%+v", got)
	}
	if got := tiers.Shards.Status; got.Restarts != 0 || len(got.Conditions) != 0 {
		t.Errorf("%+v", got)
	}
}

// TestHandOver: the shards run as planned, and ask those of the previous ring. The edges look for those that are declared.
func TestHandOver(t *testing.T) {
	cache := sample()
	tiers := Build(cache, testCluster, PlanVolumes(cache, nil), handover.Plan{Shards: 6, Previous: 5}, Origins{}, cacheconf.PeerKeys{})
	if got := *tiers.Shards.Spec.Replicas; got != 6 {
		t.Errorf("%d shards run, want 6", got)
	}
	previous, ring := string(tiers.Shards.Spec.Config.Files["handover.conf"]), string(tiers.Edge.Spec.Config.Files["edge.conf"])
	for name, n := range map[string][2]int{"the previous ring": {strings.Count(previous, "front-shards-"), 5}, "the ring": {strings.Count(ring, "front-shards-"), 4}} {
		if n[0] != n[1] {
			t.Errorf("%s has %d shards, want %d", name, n[0], n[1])
		}
	}
	for d, want := range map[v1alpha1.Duration]time.Duration{"": 0, "0": 0, "5m": 5 * time.Minute, "99999999d": 365 * 24 * time.Hour} {
		cache.Spec.Shards.HandOver = d
		if got := HandOverTime(cache); got != want {
			t.Errorf("%q is %s, want %s", d, got, want)
		}
	}
}

// TestInvalid: with what cannot be carried out, neither tier has a configuration, so that both keep their last one.
func TestInvalid(t *testing.T) {
	for want, change := range map[string]func(*v1alpha1.NginxCacheSpec){
		"spec.edge.hotSize is 1k: it must be at least 1Mi": func(s *v1alpha1.NginxCacheSpec) { s.Edge.HotSize = new(resource.MustParse("1k")) },
		"it must be at least 8Mi":                          func(s *v1alpha1.NginxCacheSpec) { s.Shards.Storage.Size = resource.MustParse("1Mi") },
		"spec.shards.cacheSize is 30Gi, but spec.shards.storage.size is only 20Gi": func(s *v1alpha1.NginxCacheSpec) {
			s.Shards.CacheSize = new(resource.MustParse("30Gi"))
		},
		"spec.rules[0].match: pathPrefix": func(s *v1alpha1.NginxCacheSpec) {
			s.Rules = []v1alpha1.Rule{{Match: v1alpha1.Match{PathPrefix: new("/\n")}}}
		},
	} {
		cache := sample()
		change(&cache.Spec)
		tiers := Build(cache, testCluster, PlanVolumes(cache, nil), handover.Plan{Shards: 4}, Origins{}, cacheconf.PeerKeys{})
		if tiers.Invalid == nil || !strings.Contains(tiers.Invalid.Error(), want) {
			t.Errorf("%v, want %s", tiers.Invalid, want)
		}
		if len(tiers.Edge.Spec.Config.Files)+len(tiers.Shards.Spec.Config.Files) > 0 {
			t.Errorf("%s: a tier has a configuration", want)
		}
	}
}
