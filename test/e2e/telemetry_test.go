//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/status"
)

// countEvents counts the events about an application, by reason.
func countEvents(t *testing.T, nginx *v1alpha2.NginxOperator) map[string]int {
	t.Helper()
	list := &eventsv1.EventList{}
	must(t, kube.List(t.Context(), list, client.InNamespace(nginx.Namespace)))
	counts := map[string]int{}
	for _, e := range list.Items {
		switch {
		case e.Regarding.UID != nginx.UID:
		case e.Series != nil:
			counts[e.Reason] += int(e.Series.Count)
		default:
			counts[e.Reason]++
		}
	}
	return counts
}

// TestEvents: three changes produce the expected numbers of events.
func TestEvents(t *testing.T) {
	t.Parallel()
	nginx := createReady(t, newNamespace(t), "web", saying("one", 2))
	want := func(counts map[string]int) {
		t.Helper()
		eventually(t, "the events are as many as the changes", func() error {
			have := countEvents(t, nginx)
			for reason, n := range have {
				if n > counts[reason] {
					t.Fatalf("%d events %s for %d changes", n, reason, counts[reason])
				}
			}
			if diff := cmp.Diff(counts, have); diff != "" {
				return fmt.Errorf("(-want +got):\n%s", diff)
			}
			return nil
		})
	}
	want(map[string]int{status.EventRolloutStarted: 1, status.EventRolloutCompleted: 1, status.EventConfigApplied: 1, status.EventAvailable: 1})

	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Config = says("two") })
	waitReady(t, nginx)
	want(map[string]int{status.EventRolloutStarted: 1, status.EventRolloutCompleted: 1, status.EventConfigApplied: 2, status.EventAvailable: 1})

	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.ForceRedeploy = new("now") })
	waitReady(t, nginx)
	passOver(t, nginx, "nothing to report")
	want(map[string]int{status.EventRolloutStarted: 2, status.EventRolloutCompleted: 2, status.EventConfigApplied: 2, status.EventAvailable: 1})
}

// tokenHeader passes a token through the API server's proxy, which keeps the header Authorization
// to itself.
const tokenHeader = "X-Metrics-Authorization"

// TestMetrics: the operator can be scraped from inside the cluster. An nginx in front of it turns
// tokenHeader into the header that the operator reads.
func TestMetrics(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	scraper := createReady(t, namespace, "scraper", v1alpha2.NginxOperatorSpec{
		Ports:  ports(httpPort),
		Config: &v1alpha2.Config{Files: map[string]v1alpha2.ConfigFile{"metrics.conf": v1alpha2.ConfigFile(metricsProxy())}},
	})
	if _, err := scrape(t.Context(), scraper, ""); !apierrors.IsUnauthorized(err) {
		t.Errorf("without a token: %v", err)
	}
	token := newToken(t, namespace)
	if _, err := scrape(t.Context(), scraper, token); !apierrors.IsForbidden(err) {
		t.Errorf("with a token that has no right: %v", err)
	}
	allowMetrics(t, namespace)
	createPolicy(t, namespace, backupv1alpha1.Destination{URL: "pvc://missing"})
	for _, series := range []string{
		fmt.Sprintf(`nginx_operator_condition{condition="Ready",name="scraper",namespace=%q} 1`, namespace),
		fmt.Sprintf(`nginx_backups{namespace=%q,state="failing",target="scraper"} 1`, namespace),
		fmt.Sprintf(`nginx_backup_last_success_timestamp_seconds{namespace=%q,target="scraper"} 0`, namespace),
		fmt.Sprintf(`nginx_backup_last_wanted_timestamp_seconds{namespace=%q,target="scraper"} 0`, namespace),
		fmt.Sprintf(`nginx_backup_policy_ready{namespace=%q,policy="all"} 0`, namespace),
	} {
		eventually(t, "the metrics have "+series, func() error {
			body, err := scrape(t.Context(), scraper, token)
			if err == nil && !strings.Contains(body, series) {
				return fmt.Errorf("there is no such line")
			}
			return err
		})
	}
}

func metricsProxy() string {
	return fmt.Sprintf(`
server {
    listen %d;
    listen [::]:%[1]d;
    location = /metrics {
        proxy_pass https://nginx-operator-metrics.%[2]s.svc:8443/metrics;
        proxy_set_header Authorization $http_%[3]s;
    }
}
`, httpPort, operatorNamespace, strings.ToLower(strings.ReplaceAll(tokenHeader, "-", "_")))
}

func scrape(ctx context.Context, scraper *v1alpha2.NginxOperator, token string) (string, error) {
	r := request(scraper.Namespace, naming.Service(scraper.Name), "http", "/metrics")
	if token != "" {
		r.SetHeader(tokenHeader, "Bearer "+token)
	}
	body, err := r.DoRaw(ctx)
	return string(body), err
}

// newToken creates a ServiceAccount and returns a token for it.
func newToken(t *testing.T, namespace string) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "prometheus"}}
	must(t, kube.Create(t.Context(), account))
	request, err := clientset.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), account.Name, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(600))},
	}, metav1.CreateOptions{})
	must(t, err)
	return request.Status.Token
}

// allowMetrics binds the ServiceAccount of newToken to the role for metrics.
func allowMetrics(t *testing.T, namespace string) {
	t.Helper()
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace + "-metrics"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "nginx-operator-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "prometheus"}},
	}
	must(t, kube.Create(t.Context(), binding))
	cleanup(t, func(ctx context.Context) error { return kube.Delete(ctx, binding) })
}
