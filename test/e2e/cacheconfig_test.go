//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/test/load"
)

// fetchTLS returns the answer of a cache over https. The API server does not verify the certificate.
func fetchTLS(t *testing.T, cache *v1alpha1.NginxCache, path string) (string, error) {
	t.Helper()
	body, err := clientset.CoreV1().RESTClient().Verb(http.MethodGet).Namespace(cache.Namespace).Resource("services").
		Name("https:" + v1alpha1.EdgeName(cache.Name) + ":https").SubResource("proxy").Suffix(path).DoRaw(t.Context())
	return string(body), err
}

// TestCacheTLS: edges serve https, a certificate is rotated without a restart, and an unusable one is in the condition.
func TestCacheTLS(t *testing.T) {
	t.Parallel()
	cache := newCache(t, 1)
	authority, err := load.NewAuthority()
	must(t, err)
	pair, err := authority.Issue("shop.example.com", 365*24*time.Hour)
	must(t, err)
	must(t, kube.Create(t.Context(), tlsSecret(cache.Namespace, "shop-tls", pair)))
	update(t, cache, func() { cache.Spec.TLS = []v1alpha1.Certificate{{Name: "shop", SecretName: "shop-tls"}} })
	waitCache(t, cache, v1alpha1.ConditionCertificatesValid, metav1.ConditionTrue)
	waitCache(t, cache, v1alpha1.ConditionReady, metav1.ConditionTrue)
	wantSerial(t, cache, pair.Serial)
	eventually(t, "the edges serve https", func() error {
		_, err := fetchTLS(t, cache, "/a")
		return err
	})
	first, err := fetchTLS(t, cache, "/a")
	must(t, err)
	second, err := fetchTLS(t, cache, "/a")
	must(t, err)
	if first != second {
		t.Errorf("%q, then %q", first, second)
	}

	restarted := edgePods(t, cache)
	next, err := authority.Issue("shop.example.com", 24*time.Hour)
	must(t, err)
	must(t, kube.Update(t.Context(), tlsSecret(cache.Namespace, "shop-tls", next)))
	if c := waitCache(t, cache, v1alpha1.ConditionCertificatesValid, metav1.ConditionTrue); c.Reason != v1alpha2.ReasonCertificatesLoaded {
		t.Errorf("it is %s", c.Reason)
	}
	wantSerial(t, cache, next.Serial)
	if now := edgePods(t, cache); now != restarted {
		t.Errorf("edges were replaced: %s, then %s", restarted, now)
	}
	update(t, cache, func() { cache.Spec.TLS = nil })
	waitCache(t, cache, v1alpha1.ConditionReady, metav1.ConditionTrue)
}

// wantSerial waits until the edges have the certificate with a serial number.
func wantSerial(t *testing.T, cache *v1alpha1.NginxCache, serial string) {
	t.Helper()
	eventually(t, "the edges have certificate "+serial, func() error {
		if err := get(t, cache); err != nil {
			return err
		}
		certificates := cache.Status.Edge.Certificates
		if len(certificates) != 1 || certificates[0].SerialNumber != serial {
			return fmt.Errorf("they have %v", certificates)
		}
		return nil
	})
}

// edgePods returns the UIDs of the edges' pods.
func edgePods(t *testing.T, cache *v1alpha1.NginxCache) string {
	t.Helper()
	var uids []string
	for n := range *cache.Spec.Edge.Replicas {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: cache.Namespace, Name: fmt.Sprintf("%s-%d", v1alpha1.EdgeName(cache.Name), n)}}
		must(t, get(t, pod))
		uids = append(uids, string(pod.UID))
	}
	return strings.Join(uids, " ")
}

// TestCacheConfiguration: files of a user are live without a restart, and a bad one changes nothing and is named.
func TestCacheConfiguration(t *testing.T) {
	t.Parallel()
	cache := newCache(t, 2)
	wantProtected(t, cache)
	restarted := edgePods(t, cache)
	files := map[string]v1alpha2.ConfigFile{"health.server": "location = /healthz { return 200 'well'; }\n"}
	update(t, cache, func() { cache.Spec.Edge.Config = &v1alpha1.Config{Files: files} })
	waitCache(t, cache, v1alpha1.ConditionReady, metav1.ConditionTrue)
	if body, err := fetchObject(t.Context(), cache, "/healthz"); err != nil || body != "well" {
		t.Errorf("%q, %v", body, err)
	}
	update(t, cache, func() {
		cache.Spec.Edge.Config.Files = map[string]v1alpha2.ConfigFile{"health.server": "location = /healthz {\nretrun 200; }\n"}
	})
	if c := waitCache(t, cache, v1alpha1.ConditionConfigValid, metav1.ConditionFalse); !strings.Contains(c.Message, "health.server:2") {
		t.Errorf("ConfigValid is %s: %s", c.Reason, c.Message)
	}
	if body, err := fetchObject(t.Context(), cache, "/healthz"); err != nil || body != "well" {
		t.Errorf("after a bad file: %q, %v", body, err)
	}
	update(t, cache, func() { cache.Spec.Edge.Config.Files = map[string]v1alpha2.ConfigFile{"gateway.conf": "x"} })
	if c := waitCache(t, cache, v1alpha1.ConditionAccepted, metav1.ConditionFalse); c.Reason != v1alpha1.ReasonInvalidSpec {
		t.Errorf("Accepted is %s: %s", c.Reason, c.Message)
	}
	update(t, cache, func() { cache.Spec.Edge.Config = nil })
	waitCache(t, cache, v1alpha1.ConditionReady, metav1.ConditionTrue)
	if now := edgePods(t, cache); now != restarted {
		t.Errorf("edges were replaced: %s, then %s", restarted, now)
	}
}

// TestCacheOrigin: an origin that does not exist is named, stops no other one, and is used as soon as it exists.
func TestCacheOrigin(t *testing.T) {
	t.Parallel()
	cache := newCache(t, 2)
	other := v1alpha1.Origin{Name: "other", Hosts: []string{"other.example.com"}, NginxOperator: &v1alpha1.NginxOperatorReference{Name: "later"}}
	update(t, cache, func() { cache.Spec.Origins = append(cache.Spec.Origins, other) })
	if c := waitCache(t, cache, v1alpha1.ConditionAccepted, metav1.ConditionFalse); c.Reason != v1alpha1.ReasonOriginNotFound || !strings.Contains(c.Message, "NginxOperator later") {
		t.Errorf("Accepted is %s: %s", c.Reason, c.Message)
	}
	waitCache(t, cache, v1alpha1.ConditionUpToDate, metav1.ConditionTrue)
	if _, err := fetchObject(t.Context(), cache, "/b"); err != nil {
		t.Errorf("the other origin does not answer: %v", err)
	}
	createReady(t, cache.Namespace, "later", v1alpha2.NginxOperatorSpec{Ports: ports(httpPort), Config: filesConfig(map[string]string{"site.conf": originConfig})})
	waitCache(t, cache, v1alpha1.ConditionReady, metav1.ConditionTrue)
}

// wantProtected fails the test unless the pods of both tiers have what protects those of every application: a bound of how
// many a drain takes away, nodes apart, and an account without rights.
func wantProtected(t *testing.T, cache *v1alpha1.NginxCache) {
	t.Helper()
	for _, name := range []string{v1alpha1.EdgeName(cache.Name), v1alpha1.ShardsName(cache.Name)} {
		budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: cache.Namespace, Name: name}}
		must(t, get(t, budget))
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: cache.Namespace, Name: name + "-0"}}
		must(t, get(t, pod))
		if budget.Spec.MaxUnavailable.IntValue() != 1 || pod.Spec.ServiceAccountName != name+"-nginx" || len(pod.Spec.TopologySpreadConstraints) == 0 {
			t.Errorf("%s: at most %v away, account %s, spread %v", name, budget.Spec.MaxUnavailable, pod.Spec.ServiceAccountName, pod.Spec.TopologySpreadConstraints)
		}
	}
}
