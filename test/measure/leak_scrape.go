package main

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/test/internal/process"
	"example.com/nginx-operator/test/load/site"
)

const (
	scraperName = "scraper"
	// scraperHeader carries a token through the API server's proxy, which does not forward the
	// header Authorization.
	scraperHeader = "X-Metrics-Authorization"
)

// startScraper starts an nginx that reads the operator's metrics from inside the cluster, and
// creates an account that may read them.
func (b *bench) startScraper(ctx context.Context, s *session) (token string, err error) {
	files := map[string]string{"metrics.conf": fmt.Sprintf(`server {
    listen %d;
    location = /metrics {
        proxy_pass https://nginx-operator-metrics.%s.svc:8443/metrics;
        proxy_set_header Authorization $http_x_metrics_authorization;
    }
}
`, site.Port, process.Account.Namespace)}
	if _, err := b.create(ctx, scraperName, spec(1, b.newest(), files)); err != nil {
		return "", err
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "prometheus"}}
	if err := b.client.Create(ctx, account); err != nil {
		return "", err
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: b.namespace + "-metrics"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "nginx-operator-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: b.namespace, Name: account.Name}},
	}
	if err := b.client.Create(ctx, binding); err != nil {
		return "", err
	}
	s.atEnd(func(ctx context.Context) error { return b.client.Delete(ctx, binding) })
	request, err := b.kube.CoreV1().ServiceAccounts(b.namespace).CreateToken(ctx, account.Name, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(3600))},
	}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return request.Status.Token, nil
}

// operatorMetrics returns the metrics of one of the operator's replicas.
func (b *bench) operatorMetrics(ctx context.Context, token string) (string, error) {
	text, err := b.kube.CoreV1().RESTClient().Get().Namespace(b.namespace).Resource("services").
		Name("http:"+naming.Service(scraperName)+":http").SubResource("proxy").Suffix("metrics").
		SetHeader(scraperHeader, "Bearer "+token).DoRaw(ctx)
	if err != nil {
		return "", fmt.Errorf("the operator's metrics: %w", err)
	}
	return string(text), nil
}
