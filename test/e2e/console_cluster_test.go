//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/test/load"
)

const consoleName = "nginx-operator-console"

// TestConsoleInCluster: the manifests of config/console serve the page to a viewer who signs in with a token.
func TestConsoleInCluster(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	nginx := createReady(t, namespace, "web", saying("hello", 1))
	system := newNamespace(t)
	installConsole(t, system)
	checkConsolePods(t, system)
	served := &servedConsole{url: forwardConsole(t, system), token: viewerConfig(t, namespace).BearerToken}
	p := openSignIn(t, served)
	testSignInRefused(p)
	testSignIn(p, nginx)
	testSignedInEdit(p, nginx)
	testSignOut(p)
	for _, pod := range consolePods(t, system) {
		log, err := clientset.CoreV1().Pods(system).GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(t.Context())
		must(t, err)
		if strings.Contains(string(log), served.token) {
			t.Errorf("the log of %s has the token", pod.Name)
		}
	}
}

// installConsole installs config/console in a namespace, and waits until it serves.
func installConsole(t *testing.T, namespace string) {
	t.Helper()
	authority, err := load.NewAuthority()
	must(t, err)
	pair, err := authority.Issue("console.example.com", 24*time.Hour)
	must(t, err)
	must(t, kube.Create(t.Context(), tlsSecret(namespace, consoleName+"-tls", pair)))
	applyKustomization(t, "console", namespace)
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: consoleName}}
	eventually(t, "the console is available", func() error {
		if err := get(t, d); err != nil {
			return err
		}
		if d.Status.AvailableReplicas == 0 {
			return fmt.Errorf("no pod is available: %+v", d.Status.Conditions)
		}
		return nil
	})
}

func consolePods(t *testing.T, namespace string) []corev1.Pod {
	t.Helper()
	list := &corev1.PodList{}
	must(t, kube.List(t.Context(), list, client.InNamespace(namespace), client.MatchingLabels{"app.kubernetes.io/component": "console"}))
	return list.Items
}

// checkConsolePods: no pod has a token, not even one of a ServiceAccount without rights.
func checkConsolePods(t *testing.T, namespace string) {
	t.Helper()
	pods := consolePods(t, namespace)
	if len(pods) == 0 {
		t.Error("there is no pod")
	}
	for _, pod := range pods {
		for _, volume := range pod.Spec.Volumes {
			if volume.Projected != nil {
				t.Errorf("%s mounts %+v", pod.Name, volume)
			}
		}
	}
}

// forwardConsole forwards a port to the console until the test ends, and returns the URL.
func forwardConsole(t *testing.T, namespace string) string {
	t.Helper()
	ctx, end := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, kubectlPath, "port-forward", "--address=127.0.0.1", "-n", namespace, "service/"+consoleName, ":443")
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		end()
		_ = cmd.Wait() // It ends by a signal.
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	must(t, err)
	address, _, found := strings.Cut(strings.TrimPrefix(line, "Forwarding from "), " -> ")
	if !found {
		t.Fatalf("kubectl port-forward prints %q", line)
	}
	return "https://" + address
}

// openSignIn opens a console in the cluster.
func openSignIn(t *testing.T, c *servedConsole) *consolePage {
	t.Helper()
	page, err := startBrowser(t).NewPage(pageWidth, pageHeight)
	must(t, err)
	p := &consolePage{Page: page, t: t, console: c}
	t.Cleanup(p.check)
	must(t, p.AcceptCertificates())
	// A token in a link signs nobody in.
	must(t, p.Open(c.url+"/#token=abc"))
	p.wait(`document.activeElement?.matches(".sign-in #token")`)
	if text := p.text(".sign-in"); !strings.Contains(text, "kubectl create token NAME -n NAMESPACE") || strings.Contains(text, "does not accept") {
		t.Errorf("the form says %q", text)
	}
	return p
}

// testSignInRefused: a wrong token leads back to the form.
func testSignInRefused(p *consolePage) {
	p.t.Helper()
	p.press("wrong-token" + kb.Enter)
	p.wait(`document.querySelector(".sign-in [role=alert]")`)
	if text := p.text(".sign-in [role=alert]"); !strings.Contains(text, "The API server does not accept the token") {
		p.t.Errorf("the form says %q", text)
	}
	p.wait(`document.activeElement?.matches(".sign-in #token") && document.activeElement.value === ""`)
}

// testSignIn: a viewer with rights in one namespace sees its applications, by the keyboard alone.
func testSignIn(p *consolePage, nginx *v1alpha2.NginxOperator) {
	p.t.Helper()
	p.press(p.console.token + kb.Enter)
	p.wait(`document.activeElement?.matches("#namespace")`)
	want := fmt.Sprintf(`User "system:serviceaccount:%s:viewer" cannot watch resource "nginxoperators"`, nginx.Namespace)
	if text := p.text(".sign-in"); !strings.Contains(text, want) {
		p.t.Errorf("the choice of a namespace says %q, want %q", text, want)
	}
	p.press(kb.Enter)
	p.wait(rowOf(nginx))
	if user := p.text("#user"); user != "system:serviceaccount:"+nginx.Namespace+":viewer" {
		p.t.Errorf("the viewer is %q", user)
	}
	must(p.t, p.Reload())
	p.wait(rowOf(nginx))
}

// testSignedInEdit: the API server refuses a change that the viewer may not make, in its words.
func testSignedInEdit(p *consolePage, nginx *v1alpha2.NginxOperator) {
	p.t.Helper()
	p.view("/applications/" + nginx.Namespace + "/web")
	p.click(".actions > button:nth-of-type(3)")
	p.wait(`document.querySelector("dialog .error")`)
	want := fmt.Sprintf(`nginxoperators.operator.example.com "web" is forbidden: User "system:serviceaccount:%s:viewer" cannot patch resource`, nginx.Namespace)
	if text := p.text("dialog .error"); !strings.Contains(text, want) {
		p.t.Errorf("the dialog says %q, want %q", text, want)
	}
	p.press(kb.Escape)
	p.wait(`!document.querySelector("dialog")`)
}

// testSignOut: the page forgets the token and what it has shown.
func testSignOut(p *consolePage) {
	p.t.Helper()
	p.click("#sign-out")
	const signedOut = `document.activeElement?.matches(".sign-in #token") && document.getElementById("sign-out").hidden`
	p.wait(signedOut)
	if n, err := p.Number(`sessionStorage.length + document.cookie.length`); err != nil || n != 0 {
		p.t.Errorf("the page keeps %v things: %v", n, err)
	}
	if text := p.text("body"); strings.Contains(text, "web") || strings.Contains(text, "system:serviceaccount") {
		p.t.Errorf("the page still shows %q", text)
	}
	must(p.t, p.Reload())
	p.wait(signedOut)
}
