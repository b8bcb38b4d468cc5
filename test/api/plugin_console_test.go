package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/plugin"
)

// runConsole runs kubectl nginx console until the test ends, and returns the URL that it prints, without and with its token.
func runConsole(t *testing.T, arguments ...string) (url, token string) {
	t.Helper()
	ctx, interrupt := context.WithCancel(t.Context())
	out, in := io.Pipe()
	var errOut bytes.Buffer
	cmd := plugin.NewCommand(genericiooptions.IOStreams{In: strings.NewReader(""), Out: in, ErrOut: &errOut}, "test")
	cmd.SetArgs(append([]string{"console", "--no-open", "--kubeconfig=" + plane.Kubeconfig}, arguments...))
	code := make(chan int, 1)
	go func() { code <- plugin.Run(ctx, cmd, &errOut) }()
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	must(t, err)
	go func() { _, _ = io.Copy(io.Discard, lines) }() // The command must not wait for a reader.
	t.Cleanup(func() {
		interrupt()
		if ended := <-code; ended != 0 || errOut.Len() > 0 {
			t.Errorf("after Ctrl+C: exit code %d, %s", ended, errOut.String())
		}
	})
	url, token, found := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "The console is at ")), "/#token=")
	if !found {
		t.Fatalf("the command prints no URL: %s", line)
	}
	return url, token
}

// consoleRequest sends a request to a console, and decodes the first line of the answer.
func consoleRequest(t *testing.T, method, url, token, body string) (int, map[string]any) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	must(t, err)
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	must(t, err)
	defer func() { must(t, response.Body.Close()) }()
	var answer map[string]any
	must(t, json.NewDecoder(response.Body).Decode(&answer))
	return response.StatusCode, answer
}

// TestConsole: the command serves the page of the kubeconfig's user, shows applications, and changes them.
func TestConsole(t *testing.T) {
	namespace := newNamespace(t)
	nginx := create(t, namespace, "web", v1alpha2.NginxOperatorSpec{})
	waitCondition(t, nginx, v1alpha2.ConditionAccepted, metav1.ConditionTrue, v1alpha2.ReasonAccepted)
	url, token := runConsole(t, "-n", namespace)
	if code, answer := consoleRequest(t, "GET", url+"/api/settings", "", ""); code != http.StatusOK || answer["namespace"] != namespace || answer["oneNamespace"] != true {
		t.Errorf("settings: %d %v", code, answer)
	}
	if code, answer := consoleRequest(t, "GET", url+"/api/fleet?namespace="+namespace, token, ""); code != http.StatusOK || !strings.Contains(fmt.Sprint(answer["rows"]), "web") {
		t.Errorf("the fleet: %d %v", code, answer)
	}
	if code, answer := consoleRequest(t, "GET", url+"/api/applications/"+namespace+"/web", token, ""); code != http.StatusOK || answer["part"] != "summary" {
		t.Errorf("the application: %d %v", code, answer)
	}
	edits := url + "/api/applications/" + namespace + "/web/edits"
	for _, tt := range []struct {
		body     string
		code     int
		says     string
		replicas int32
	}{
		{`{"command":"scale","arguments":["3"],"dryRun":true}`, 200, "kubectl nginx scale web 3 -n " + namespace, 1},
		{`{"command":"scale","arguments":["3"],"reviewed":"scaled to 2 pods"}`, 422, "review the change again", 1},
		{`{"command":"scale","arguments":["3"],"reviewed":"scaled to 3 pods"}`, 200, "scaled to 3 pods", 3},
		{`{"command":"scale","arguments":["1001"],"dryRun":true}`, 422, "should be less than or equal to 1000", 3},
		{`{"command":"scale","arguments":["many"]}`, 422, "set it to a number from 0", 3},
		{`{"command":"rollback","arguments":["last"]}`, 422, "kubectl nginx history web", 3},
		{`{"command":"abort","arguments":[]}`, 422, "web", 3},
	} {
		code, answer := consoleRequest(t, "POST", edits, token, tt.body)
		must(t, get(t, nginx))
		if code != tt.code || !strings.Contains(fmt.Sprint(answer), tt.says) || *nginx.Spec.Replicas != tt.replicas {
			t.Errorf("%s: %d %v; %d replicas", tt.body, code, answer, *nginx.Spec.Replicas)
		}
	}
}

// TestConsoleRights: another user's rights are used, and the API server's refusal is quoted.
func TestConsoleRights(t *testing.T) {
	namespace := newNamespace(t)
	create(t, namespace, "web", v1alpha2.NginxOperatorSpec{})
	url, token := runConsole(t, "--as=viewer")
	_, answer := consoleRequest(t, "GET", url+"/api/fleet", token, "")
	if want := `User "viewer" cannot watch resource "nginxoperators"`; answer["code"] != 403.0 || !strings.Contains(fmt.Sprint(answer["error"]), want) {
		t.Errorf("the fleet: %v", answer)
	}
	code, answer := consoleRequest(t, "POST", url+"/api/applications/"+namespace+"/web/edits", token, `{"command":"restart","arguments":[]}`)
	if want := `User "viewer" cannot get resource "nginxoperators"`; code != http.StatusForbidden || !strings.Contains(fmt.Sprint(answer["error"]), want) {
		t.Errorf("the change: %d %v", code, answer)
	}
}
