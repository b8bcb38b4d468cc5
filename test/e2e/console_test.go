//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/plugin/console"
	"example.com/nginx-operator/test/internal/browser"
)

// TestConsole: the pages of kubectl nginx console in a browser.
func TestConsole(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	nginx := createReady(t, namespace, "web", saying("hello", 1))
	b, admin := startBrowser(t), serveConsole(t, adminConfig(t), namespace)
	for _, tt := range []struct {
		name string
		test func(t *testing.T, b *browser.Browser, admin *servedConsole, nginx *v1alpha2.NginxOperator)
	}{
		{"live", testConsoleLive}, {"action", testConsoleAction}, {"keyboard", testConsoleKeyboard}, {"hidden", testConsoleHidden},
		{"refused", testConsoleRefused}, {"hostile", testConsoleHostile}, {"token", testConsoleToken},
		{"proxy", testConsoleProxy},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t, b, admin, nginx) })
	}
}

// rowOf returns an expression for the row of an application in the fleet.
func rowOf(nginx *v1alpha2.NginxOperator) string {
	return fmt.Sprintf("document.querySelector(`.row[data-name=%q]`)", nginx.Namespace+"/"+nginx.Name)
}

// testConsoleLive: both views show a change without another request.
func testConsoleLive(t *testing.T, b *browser.Browser, admin *servedConsole, nginx *v1alpha2.NginxOperator) {
	fleet := openConsole(t, b, admin, "")
	fleet.wait(rowOf(nginx))
	application := openConsole(t, b, admin, "/applications/"+nginx.Namespace+"/web")
	application.wait(`document.querySelectorAll(".pod.ready").length === 1 && document.querySelector(".tag.rate")`)
	streams := map[*consolePage][]string{fleet: fleet.requests(), application: application.requests()}
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Replicas = new(int32(2)) })
	start := time.Now()
	fleet.wait(rowOf(nginx) + `.querySelector(".count").textContent.endsWith("/2")`)
	t.Logf("the row has changed %s after the write", time.Since(start).Round(time.Millisecond))
	application.wait(`document.querySelector(".banner-count").textContent.endsWith("of 2 pods")`)
	waitReady(t, nginx)
	application.wait(`document.querySelectorAll(".pod.ready").length === 2`)
	application.wait(`document.querySelector(".banner.ready")`)
	for page, before := range streams {
		if after := page.requests(); len(after) != len(before) {
			t.Errorf("to show the change, a page requested %v", after[len(before):])
		}
	}
}

// testConsoleAction: a change shows what it does and the command, and is made after that.
func testConsoleAction(t *testing.T, b *browser.Browser, admin *servedConsole, nginx *v1alpha2.NginxOperator) {
	p := openConsole(t, b, admin, "/applications/"+nginx.Namespace+"/web")
	p.click(".actions > button")
	p.wait(`document.querySelector("dialog[open] input") === document.activeElement`)
	p.press("1001" + kb.Enter)
	p.wait(`document.querySelector("dialog .error")`)
	if text := p.text("dialog .error"); !strings.Contains(text, "should be less than or equal to 1000") {
		t.Errorf("the dialog says %q", text)
	}
	p.run(`document.querySelector("dialog input").select()`)
	p.press("3" + kb.Enter)
	p.wait(`document.querySelector("dialog .command")`)
	if want := "kubectl nginx scale web 3 -n " + nginx.Namespace; p.text("dialog .command") != want {
		t.Errorf("the command is %q, want %q", p.text("dialog .command"), want)
	}
	if text := p.text("dialog .code"); !strings.Contains(text, "replicas: 2") || !strings.Contains(text, "replicas: 3") {
		t.Errorf("the change is %q", text)
	}
	must(t, get(t, nginx))
	if n := ptr.Deref(nginx.Spec.Replicas, 0); n != 2 {
		t.Errorf("the review made %d replicas", n)
	}
	p.press(kb.Enter)
	p.wait(`!document.querySelector("dialog") && document.querySelector(".toast")`)
	must(t, get(t, nginx))
	if n := ptr.Deref(nginx.Spec.Replicas, 0); n != 3 {
		t.Errorf("the application has %d replicas, want 3", n)
	}
	p.wait(`document.querySelector(".banner-count").textContent.endsWith("of 3 pods")`)
}

// testConsoleKeyboard: everything works without a mouse.
func testConsoleKeyboard(t *testing.T, b *browser.Browser, admin *servedConsole, nginx *v1alpha2.NginxOperator) {
	p := openConsole(t, b, admin, "")
	p.wait(rowOf(nginx))
	must(t, p.PressCharacter("/"))
	p.wait(`document.activeElement.type === "search"`)
	p.press(nginx.Namespace + " web")
	p.wait(`document.querySelectorAll(".rows .row:not([hidden])").length === 1`)
	p.press(kb.ArrowDown + kb.Enter)
	p.wait(`document.querySelector("#main .application") && document.getElementById("main").dataset.complete === "true"`)
	p.wait(`document.activeElement.id === "main"`)
	p.press(kb.Tab + kb.Tab)
	p.wait(`document.activeElement.textContent === "Scale" && document.activeElement.matches(":focus-visible")`)
	p.press(kb.Enter)
	p.wait(`document.querySelector("dialog[open]")`)
	p.press(kb.Escape)
	p.wait(`!document.querySelector("dialog") && document.activeElement.textContent === "Scale"`)
	p.press(kb.Tab + kb.Tab + kb.Tab + kb.Enter)
	p.wait(`document.querySelector(".menu[open]")`)
	p.press(kb.Escape)
	p.wait(`!document.querySelector(".menu[open]")`)
}

// testConsoleHidden: a page that nobody sees has no stream, and catches up when it is seen again.
func testConsoleHidden(t *testing.T, b *browser.Browser, admin *servedConsole, nginx *v1alpha2.NginxOperator) {
	p := openConsole(t, b, admin, "/applications/"+nginx.Namespace+"/web")
	hide := func(hidden bool) {
		p.run(fmt.Sprintf(`Object.defineProperty(document, "hidden", {value: %v, configurable: true}), document.dispatchEvent(new Event("visibilitychange"))`, hidden))
	}
	hide(true)
	eventually(t, "no stream is open", func() error {
		if n := admin.requests.Load(); n != 0 {
			return fmt.Errorf("%d are", n)
		}
		return nil
	})
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Replicas = new(int32(1)) })
	hide(false)
	p.wait(`document.querySelector(".banner-count").textContent.endsWith("of 1 pods")`)
}

// testConsoleRefused: a viewer with few rights sees what they allow, and why the rest is missing.
func testConsoleRefused(t *testing.T, b *browser.Browser, _ *servedConsole, nginx *v1alpha2.NginxOperator) {
	p := openConsole(t, b, serveConsole(t, viewerConfig(t, nginx.Namespace), nginx.Namespace), "")
	p.wait(rowOf(nginx))
	if text := p.text(".note"); !strings.Contains(text, "You may not list the applications of all namespaces") {
		t.Errorf("the note is %q", text)
	}
	p.view("/applications/" + nginx.Namespace + "/web")
	for _, want := range []string{"configmaps", "controllerrevisions", "events", "cannot watch resource"} {
		if text := p.text(".not-shown"); !strings.Contains(text, want) {
			p.run(`document.querySelector(".not-shown details").open = true`)
			if text = p.text(".not-shown"); !strings.Contains(text, want) {
				t.Errorf("what is not shown lacks %s: %q", want, text)
			}
		}
	}
	p.click(".actions > button:nth-of-type(3)")
	p.wait(`document.querySelector("dialog .error")`)
	want := fmt.Sprintf(`nginxoperators.operator.example.com "web" is forbidden: User "system:serviceaccount:%s:viewer" cannot patch resource`, nginx.Namespace)
	if text := p.text("dialog .error"); !strings.Contains(text, want) {
		t.Errorf("the dialog says %q, want %q", text, want)
	}
}

// hostile are texts that a page must show as they are, or replace.
var hostile = []string{
	`<img src=x onerror="document.title='changed'">`, `</script><script>document.title='changed'</script>`, `"><svg onload=document.title='changed'>`,
	"javascript:document.title='changed'", "\x1b[2J\x07 control", "\u202egnp.exe\u202c bidi", "{{constructor.constructor('document.title=1')()}}",
}

// testConsoleHostile: text of the cluster is text.
func testConsoleHostile(t *testing.T, b *browser.Browser, admin *servedConsole, nginx *v1alpha2.NginxOperator) {
	for i, text := range hostile {
		must(t, kube.Create(t.Context(), &eventsv1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: nginx.Namespace, Name: fmt.Sprintf("hostile-%d", i)}, EventTime: metav1.NowMicro(),
			ReportingController: "example.com/hostile", ReportingInstance: "hostile", Action: "Test", Reason: "Hostile", Type: "Normal", Note: text,
			Regarding: corev1.ObjectReference{Kind: v1alpha2.Kind, Namespace: nginx.Namespace, Name: nginx.Name},
		}))
	}
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) {
		bad := "<img/src=x/onerror=document.title='changed'> on;\n# " + strings.Join(hostile[:4], "\n# ") + "\n# \u202egnp.exe\n"
		s.Config.Files["bad.conf"] = v1alpha2.ConfigFile(bad)
	})
	waitCondition(t, nginx, v1alpha2.ConditionConfigValid, metav1.ConditionFalse, v1alpha2.ReasonConfigRejected)
	p := openConsole(t, b, admin, "/applications/"+nginx.Namespace+"/web")
	p.wait(`document.querySelector(".code-problem") && document.querySelectorAll(".card-events li").length >= ` + fmt.Sprint(len(hostile)))
	body, err := p.Text(`document.body.textContent + [...document.querySelectorAll("*")].flatMap((e) => [...e.attributes].map((a) => a.value)).join(" ")`)
	must(t, err)
	for _, text := range hostile {
		shown := strings.NewReplacer("\x1b", "�", "\x07", "�", "\u202e", "�", "\u202c", "�").Replace(text)
		if !strings.Contains(body, shown) {
			t.Errorf("the page does not show %q", shown)
		}
	}
	if strings.ContainsAny(body, "\x1b\x07\u202e\u202c") {
		t.Error("the page has control characters")
	}
	if n, err := p.Number(`document.querySelectorAll("#main img, #main script, #main svg[onload], #main [onerror]").length`); err != nil || n != 0 {
		t.Errorf("%v elements were injected: %v", n, err)
	}
	if title, err := p.Text("document.title"); err != nil || title != "web – nginx console" {
		t.Errorf("the title is %q: %v", title, err)
	}
	if text := p.text(".code-problem"); !strings.Contains(text, `unknown directive "<img/src=x/onerror=document.title='changed'>"`) {
		t.Errorf("nginx's message at its line is %q", text)
	}
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { delete(s.Config.Files, "bad.conf") })
}

// testConsoleToken: the token leaves the address bar, and a page without it shows nothing.
func testConsoleToken(t *testing.T, b *browser.Browser, admin *servedConsole, _ *v1alpha2.NginxOperator) {
	p := openConsole(t, b, admin, "")
	if address, err := p.Text("location.href"); err != nil || strings.Contains(address, admin.token) {
		t.Errorf("the address is %s: %v", address, err)
	}
	another, err := b.NewPage(pageWidth, pageHeight)
	must(t, err)
	t.Cleanup(another.Close)
	must(t, another.Open(admin.url+"/#/"))
	must(t, another.Wait(`document.body.innerText.includes("Open the URL that the command printed") && !document.querySelector(".row")`, 20*time.Second))
}

// testConsoleProxy: before a console in the cluster, a proxy knows the viewer by a cookie, and adds the token. When the
// session of the proxy ends, the page asks for a token.
func testConsoleProxy(t *testing.T, b *browser.Browser, _ *servedConsole, nginx *v1alpha2.NginxOperator) {
	token := viewToken(t, nginx.Namespace)
	var ended atomic.Bool
	handler := console.New(t.Context(), console.Options{Viewers: console.NewSignedIn(adminConfig(t)), SignIn: true, MaxStreams: 16})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := r.Cookie("session"); err == nil && !ended.Load() {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "known", HttpOnly: true})
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.CloseClientConnections)
	page, err := b.NewPage(pageWidth, pageHeight)
	must(t, err)
	p := &consolePage{Page: page, t: t, console: &servedConsole{url: server.URL, token: token}}
	t.Cleanup(p.check)
	must(t, p.Open(server.URL))
	p.wait(`document.activeElement?.matches("#namespace")`)
	p.press(kb.Enter)
	p.wait(rowOf(nginx))
	if user := p.text("#user"); user != "system:serviceaccount:"+nginx.Namespace+":default" {
		t.Errorf("the viewer is %q", user)
	}
	if shown, err := p.Holds(`document.querySelector("#token") || !document.getElementById("sign-out").hidden`); err != nil || shown {
		t.Errorf("the page has a form to sign in, or a button to sign out: %v", err)
	}
	p.view("/applications/" + nginx.Namespace + "/web")
	ended.Store(true)
	p.click(".actions > button:nth-of-type(3)")
	p.wait(`!document.querySelector("dialog") && document.activeElement?.matches(".sign-in #token")`)
	if user := p.text("#user"); user != "" {
		t.Errorf("the viewer is still %q", user)
	}
}

// viewToken returns a token of the ServiceAccount default, which may view the namespace.
func viewToken(t *testing.T, namespace string) string {
	t.Helper()
	must(t, kube.Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "view"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "default"}},
	}))
	token, err := clientset.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	must(t, err)
	return token.Status.Token
}
