//go:build e2e

package e2e

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"example.com/nginx-operator/internal/plugin/console"
	"example.com/nginx-operator/test/internal/browser"
)

// pageWidth and pageHeight are those of a page, in pixels.
const pageWidth, pageHeight = 1280, 900

// servedConsole is a console that runs in the process of the test.
type servedConsole struct {
	url, token string
	// requests is the number of requests of the page that are open.
	requests atomic.Int32
}

// serveConsole serves a console with the rights of a configuration.
func serveConsole(t *testing.T, config *rest.Config, namespace string) *servedConsole {
	t.Helper()
	viewers, token, err := console.NewLocal(config)
	must(t, err)
	server := httptest.NewUnstartedServer(nil)
	address := server.Listener.Addr().String()
	handler := console.New(t.Context(), console.Options{Viewers: viewers, Hosts: console.LocalHosts(address), Cluster: "local", Namespace: namespace, MaxStreams: 16})
	s := &servedConsole{url: "http://" + address, token: token}
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		defer s.requests.Add(-1)
		handler.ServeHTTP(w, r)
	})
	server.Start()
	t.Cleanup(server.CloseClientConnections)
	return s
}

// adminConfig returns the configuration of the administrator.
func adminConfig(t *testing.T) *rest.Config {
	t.Helper()
	config, err := ctrl.GetConfig()
	must(t, err)
	return config
}

// viewerConfig returns the configuration of a ServiceAccount that may only read NginxOperators and pods of a namespace.
func viewerConfig(t *testing.T, namespace string) *rest.Config {
	t.Helper()
	object := metav1.ObjectMeta{Namespace: namespace, Name: "viewer"}
	must(t, kube.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: object}))
	read := []string{"get", "list", "watch"}
	must(t, kube.Create(t.Context(), &rbacv1.Role{ObjectMeta: object, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"operator.example.com"}, Resources: []string{"nginxoperators"}, Verbs: read},
		{APIGroups: []string{corev1.GroupName}, Resources: []string{"pods"}, Verbs: read},
	}}))
	must(t, kube.Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: object,
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "viewer"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "viewer"}},
	}))
	token, err := clientset.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), "viewer", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	must(t, err)
	config := rest.AnonymousClientConfig(adminConfig(t))
	config.BearerToken = token.Status.Token
	return config
}

// startBrowser starts a Chromium for a test.
func startBrowser(t *testing.T) *browser.Browser {
	t.Helper()
	b, err := browser.Start(context.WithoutCancel(t.Context()))
	must(t, err)
	t.Cleanup(func() { must(t, b.Stop()) })
	return b
}

// consolePage is a page of a console.
type consolePage struct {
	*browser.Page
	t       *testing.T
	console *servedConsole
}

// openConsole opens a view of a console, such as "/applications/shop/web".
func openConsole(t *testing.T, b *browser.Browser, c *servedConsole, view string) *consolePage {
	t.Helper()
	page, err := b.NewPage(pageWidth, pageHeight)
	must(t, err)
	p := &consolePage{Page: page, t: t, console: c}
	t.Cleanup(p.check)
	must(t, p.Open(c.url+"/#token="+c.token))
	p.wait(`document.querySelector("#main .fleet")`)
	if view != "" {
		p.view(view)
	}
	return p
}

// check fails the test if a script failed, or if the page requested something of another server.
func (p *consolePage) check() {
	for _, problem := range p.Problems() {
		p.t.Errorf("the page reports: %s", problem)
	}
	for _, url := range p.URLs() {
		if !strings.HasPrefix(url, p.console.url+"/") && !strings.HasPrefix(url, "data:") {
			p.t.Errorf("the page requested %s", url)
		}
		if strings.Contains(strings.SplitN(url, "#", 2)[0], p.console.token) {
			p.t.Errorf("the token is in a request: %s", url)
		}
	}
	p.Close()
}

// requests returns the URLs of the requests for data.
func (p *consolePage) requests() []string {
	return slices.DeleteFunc(p.URLs(), func(url string) bool { return !strings.HasPrefix(url, p.console.url+"/api/") })
}

// view goes to a view, and waits until it is complete.
func (p *consolePage) view(path string) {
	p.t.Helper()
	p.run(`location.hash = "#` + path + `"`)
	p.wait(`document.querySelector("#main .application") && document.getElementById("main").dataset.complete === "true"`)
}

// wait waits until an expression of JavaScript is true.
func (p *consolePage) wait(expression string) {
	p.t.Helper()
	must(p.t, p.Wait(expression, 20*time.Second))
}

// run evaluates an expression.
func (p *consolePage) run(expression string) {
	p.t.Helper()
	_, err := p.Text("String(" + expression + ")")
	must(p.t, err)
}

// text returns the text of an element.
func (p *consolePage) text(selector string) string {
	p.t.Helper()
	text, err := p.Text(`document.querySelector(` + "`" + selector + "`" + `).innerText`)
	must(p.t, err)
	return text
}

// click clicks an element, as a user does.
func (p *consolePage) click(selector string) {
	p.t.Helper()
	must(p.t, p.Click(selector))
}

// press presses keys.
func (p *consolePage) press(keys string) {
	p.t.Helper()
	must(p.t, p.Press(keys))
}
