package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/plugin/console/server"
	"example.com/nginx-operator/test/testenv"
)

// serveConsole runs nginx-operator console before the API server until the test ends, and returns its URL.
func serveConsole(t *testing.T) string {
	t.Helper()
	port, err := testenv.FreePort()
	must(t, err)
	ca := filepath.Join(t.TempDir(), "ca.crt")
	must(t, os.WriteFile(ca, plane.Config.CAData, 0o600))
	ctx, end := context.WithCancel(t.Context())
	address := fmt.Sprintf("127.0.0.1:%d", port)
	result := make(chan error, 1)
	go func() {
		result <- server.Run(ctx, server.Options{Address: address, InsecureHTTP: true, APIServer: plane.Config.Host, CAFile: ca}, logr.Discard())
	}()
	t.Cleanup(func() {
		end()
		must(t, <-result)
	})
	url := "http://" + address
	eventually(t, "the console serves", func() error {
		response, err := http.Get(url + "/healthz")
		if err != nil {
			return err
		}
		return response.Body.Close()
	})
	return url
}

// accountToken creates a ServiceAccount that may read the NginxOperators of its namespace, and returns a token of it.
func accountToken(t *testing.T, namespace string) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "viewer"}}
	must(t, kube.Create(t.Context(), account))
	must(t, kube.Create(t.Context(), &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "viewer"}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{v1alpha2.GroupVersion.Group}, Resources: []string{"nginxoperators"}, Verbs: []string{"get", "list", "watch"},
	}}}))
	must(t, kube.Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "viewer"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "viewer"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "viewer"}},
	}))
	request := &authenticationv1.TokenRequest{}
	must(t, kube.SubResource("token").Create(t.Context(), account, request))
	return request.Status.Token
}

// TestConsoleServer: two viewers of one console see what their own rights allow.
func TestConsoleServer(t *testing.T) {
	url := serveConsole(t)
	shop, blog := newNamespace(t), newNamespace(t)
	tokens := map[string]string{shop: accountToken(t, shop), blog: accountToken(t, blog)}
	create(t, shop, "in-the-shop", v1alpha2.NginxOperatorSpec{})
	create(t, blog, "in-the-blog", v1alpha2.NginxOperatorSpec{})
	for namespace, other := range map[string]string{shop: blog, blog: shop} {
		token, user := tokens[namespace], fmt.Sprintf("system:serviceaccount:%s:viewer", namespace)
		if code, answer := consoleRequest(t, "GET", url+"/api/session", token, ""); code != http.StatusOK || answer["user"] != user {
			t.Errorf("session: %d %v, want %s", code, answer["user"], user)
		}
		if _, answer := consoleRequest(t, "GET", url+"/api/fleet?namespace="+namespace, token, ""); !strings.Contains(fmt.Sprint(answer["rows"]), "in-the-") {
			t.Errorf("the fleet of %s: %v", user, answer)
		}
		for _, query := range []string{"", "?namespace=" + other} {
			_, answer := consoleRequest(t, "GET", url+"/api/fleet"+query, token, "")
			if want := `User "` + user + `" cannot watch resource "nginxoperators"`; answer["code"] != 403.0 || !strings.Contains(fmt.Sprint(answer["error"]), want) {
				t.Errorf("the fleet%s of %s: %v", query, user, answer)
			}
		}
		name := map[string]string{shop: "in-the-shop", blog: "in-the-blog"}[namespace]
		code, answer := consoleRequest(t, "POST", url+"/api/applications/"+namespace+"/"+name+"/edits", token, `{"command":"restart","arguments":[]}`)
		if want := `User "` + user + `" cannot patch resource "nginxoperators"`; code != http.StatusForbidden || !strings.Contains(fmt.Sprint(answer["error"]), want) {
			t.Errorf("the change: %d %v", code, answer)
		}
	}
}

// TestConsoleServerRefusals: without a valid token there is nothing to see, whatever else a request has.
func TestConsoleServerRefusals(t *testing.T) {
	url := serveConsole(t)
	namespace := newNamespace(t)
	token := accountToken(t, namespace)
	for name, tt := range map[string]struct {
		headers map[string]string
		reason  string
	}{
		"no token":              {nil, "NoToken"},
		"a cookie":              {map[string]string{"Cookie": "token=" + token}, "NoToken"},
		"a wrong token":         {map[string]string{"Authorization": "Bearer " + token + "x"}, "Unauthorized"},
		"a token of no issuer":  {map[string]string{"Authorization": "Bearer abc.def.ghi"}, "Unauthorized"},
		"a proxy's user header": {map[string]string{"X-Remote-User": "admin", "X-Remote-Group": "system:masters"}, "NoToken"},
		"an impersonation":      {map[string]string{"Authorization": "Bearer wrong", "Impersonate-User": "admin", "Impersonate-Group": "system:masters"}, "Unauthorized"},
	} {
		if code, answer := consoleHeaders(t, url+"/api/session", tt.headers); code != http.StatusUnauthorized || answer["reason"] != tt.reason {
			t.Errorf("%s: %d %v", name, code, answer)
		}
	}
	impersonated := map[string]string{"Authorization": "Bearer " + token, "Impersonate-User": "admin", "Impersonate-Group": "system:masters"}
	if code, answer := consoleHeaders(t, url+"/api/session", impersonated); code != http.StatusOK || answer["user"] != "system:serviceaccount:"+namespace+":viewer" {
		t.Errorf("an impersonation by a viewer: %d %v", code, answer)
	}
	must(t, kube.Delete(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "viewer"}}))
	eventually(t, "the token of a deleted ServiceAccount is refused", func() error {
		if code, answer := consoleRequest(t, "GET", url+"/api/session", token, ""); code != http.StatusUnauthorized {
			return fmt.Errorf("%d %v", code, answer)
		}
		return nil
	})
}

// consoleHeaders sends a request with headers to a console.
func consoleHeaders(t *testing.T, url string, headers map[string]string) (int, map[string]any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	must(t, err)
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	must(t, err)
	defer func() { must(t, response.Body.Close()) }()
	var answer map[string]any
	must(t, json.NewDecoder(response.Body).Decode(&answer))
	return response.StatusCode, answer
}
