//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/plugin/console"
	"example.com/nginx-operator/test/internal/browser"
)

// maxScreenshot bounds a screenshot, in bytes: the repository keeps them.
const maxScreenshot = 150 << 10

// TestConsoleScreenshots takes the screenshots of docs/console.md from a real run, light and dark. E2E_SCREENSHOTS is the
// folder that keeps them.
func TestConsoleScreenshots(t *testing.T) {
	t.Parallel()
	folder := env("E2E_SCREENSHOTS", t.TempDir())
	namespace := createShop(t)
	b := startBrowser(t)
	p := openConsole(t, b, serveConsole(t, adminConfig(t), namespace), "")
	must(t, p.Resize(pageWidth, 1120))
	// Screenshots show the namespace of the test only.
	p.wait(`document.querySelector(".namespace option[value=` + namespace + `]")`)
	p.run(`document.querySelector(".namespace").value = "` + namespace + `", document.querySelector(".namespace").dispatchEvent(new Event("change"))`)
	p.wait(`document.getElementById("main").dataset.complete === "true" && document.querySelectorAll(".rows .row:not([hidden])").length === 6`)
	p.photograph(folder, "console-fleet")
	p.view("/applications/" + namespace + "/checkout")
	// Traffic makes the plots worth a look: there is a point every two seconds.
	const points = `(document.querySelector("svg .line")?.points.numberOfItems ?? 0)`
	for {
		must(t, serveRequests(t, namespace, "checkout", 20))
		if enough, err := p.Holds(points + " >= 6"); err != nil || enough {
			must(t, err)
			break
		}
	}
	p.wait(`document.querySelector(".code-problem")`)
	p.photograph(folder, "console-application")
	photographSignIn(t, b, folder)
}

// photographSignIn takes the screenshots of the form of a console in the cluster.
func photographSignIn(t *testing.T, b *browser.Browser, folder string) {
	t.Helper()
	server := httptest.NewServer(console.New(t.Context(), console.Options{
		Viewers: console.NewSignedIn(adminConfig(t)), SignIn: true, Cluster: "production", MaxStreams: 1,
	}))
	t.Cleanup(server.Close)
	page, err := b.NewPage(pageWidth, 640)
	must(t, err)
	p := &consolePage{Page: page, t: t, console: &servedConsole{url: server.URL, token: "none"}}
	t.Cleanup(p.check)
	must(t, p.Open(server.URL))
	p.wait(`document.querySelector(".sign-in")`)
	p.photograph(folder, "console-sign-in")
}

// createShop creates applications in each state.
func createShop(t *testing.T) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "shop-"}}
	must(t, kube.Create(t.Context(), namespace))
	cleanup(t, func(ctx context.Context) error { return kube.Delete(ctx, namespace) })
	name := namespace.Name
	gated := saying("storefront", 1)
	gated.Rollout = &v1alpha2.Rollout{Gates: []string{"backup"}}
	applications := map[string]v1alpha2.NginxOperatorSpec{
		"checkout": saying("checkout", 2), "storefront": gated, "search": saying("search", 1), "images": saying("images", 1), "docs": saying("docs", 0),
	}
	for application, spec := range applications {
		create(t, name, application, spec)
	}
	missing := saying("reports", 1)
	missing.Image = new("localhost/nginx:missing")
	reports := create(t, name, "reports", missing)
	for application := range applications {
		waitReady(t, &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: application}})
	}
	waitCondition(t, reports, v1alpha2.ConditionReady, metav1.ConditionFalse, v1alpha2.ReasonImagePullFailed)
	breakShop(t, name)
	return name
}

// breakShop lets a rollout wait for its gate, suspends an application, and breaks a configuration.
func breakShop(t *testing.T, namespace string) {
	t.Helper()
	application := func(name string) *v1alpha2.NginxOperator {
		return &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	storefront, checkout := application("storefront"), application("checkout")
	edit(t, storefront, func(s *v1alpha2.NginxOperatorSpec) { s.ForceRedeploy = new("2026-11-26") })
	edit(t, application("images"), func(s *v1alpha2.NginxOperatorSpec) { s.Suspend = new(true) })
	edit(t, checkout, func(s *v1alpha2.NginxOperatorSpec) {
		s.Config.Files["site.conf"] = v1alpha2.ConfigFile(fmt.Sprintf("server {\n    listen %d;\n    lisen 8443 ssl;\n    location / { return 200 \"checkout, at last\\n\"; }\n}\n", httpPort))
	})
	waitCondition(t, storefront, v1alpha2.ConditionReady, metav1.ConditionFalse, v1alpha2.ReasonWaitingForGate)
	waitCondition(t, checkout, v1alpha2.ConditionReady, metav1.ConditionFalse, v1alpha2.ReasonConfigRejected)
}

// serveRequests sends requests to an application through the API server's proxy.
func serveRequests(t *testing.T, namespace, name string, n int) error {
	t.Helper()
	for range n {
		if err := clientset.CoreV1().RESTClient().Get().Namespace(namespace).Resource("services").Name(fmt.Sprintf("%s:%d", name, httpPort)).
			SubResource("proxy").Do(t.Context()).Error(); err != nil {
			return err
		}
	}
	return nil
}

// photograph takes a screenshot in each theme.
func (p *consolePage) photograph(folder, name string) {
	p.t.Helper()
	for _, theme := range []string{"light", "dark"} {
		must(p.t, p.ColorScheme(theme))
		p.wait(`document.documentElement.dataset.theme === "` + theme + `"`)
		taken, err := p.Screenshot()
		must(p.t, err)
		small, err := browser.Shrink(taken)
		must(p.t, err)
		if len(small) > maxScreenshot {
			p.t.Errorf("the screenshot %s of the theme %s has %d bytes, at most %d are kept", name, theme, len(small), maxScreenshot)
		}
		must(p.t, os.WriteFile(filepath.Join(folder, name+"-"+theme+".png"), small, 0o644))
	}
}
