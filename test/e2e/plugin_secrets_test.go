//go:build e2e

package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/test/internal/tarfile"
)

// loggingAll is a configuration that logs what a request can carry, in lines and in JSON, and whose upstream refuses each request,
// so that the error log quotes it, too.
const loggingAll = `
log_format all '$remote_addr - $remote_user "$request" $status "$http_referer" "$http_user_agent" authorization="$http_authorization" '
               'cookie="$http_cookie" x-api-key="$http_x_api_key" body=$request_body';
log_format json escape=json '{"request":"$request","status":$status,"referer":"$http_referer","agent":"$http_user_agent",'
               '"authorization":"$http_authorization","cookie":"$http_cookie","apiKey":"$http_x_api_key","body":"$request_body"}';
server {
    listen 8080;
    access_log /dev/stdout all;
    access_log /dev/stdout json;
    error_log /dev/stderr info;
    location / { proxy_pass http://127.0.0.1:9; }
    location /healthy { return 204; }
}
`

// secretRequests are requests with a secret, %[1]s, at the places where users and libraries put them.
var secretRequests = []string{
	"GET /api?token=%[1]s&page=2 HTTP/1.1",
	"GET /login?user=jo&password=%[1]s HTTP/1.1",
	"GET /cb?state=1&access_token=%[1]s HTTP/1.1",
	"GET /cb?code=%[1]s HTTP/1.1",
	"GET /file?X-Amz-Credential=%[1]s HTTP/1.1",
	"GET /file?X-Amz-Signature=%[1]s&x=1 HTTP/1.1",
	"GET /share?sig=%[1]s HTTP/1.1",
	"GET /next?to=%%2Fcb%%3Ftoken%%3D%[1]s%%26page%%3D2 HTTP/1.1",
	"GET /connect?to=postgres%%3A%%2F%%2Fjo%%3A%[1]s%%40db%%2Fshop HTTP/1.1",
	"GET /connect?to=postgres://jo:%[1]s@db/shop HTTP/1.1",
	"GET /app/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJqbyJ9.%[1]s HTTP/1.1",
	"GET /app;jsessionid=%[1]s?x=1 HTTP/1.1",
	"GET /a HTTP/1.1\r\nAuthorization: Bearer %[1]s",
	"GET /b HTTP/1.1\r\nAuthorization: Basic %[1]s",
	"GET /c HTTP/1.1\r\nAuthorization: Token token=%[1]s, version=1",
	"GET /d HTTP/1.1\r\nAuthorization: %[1]s",
	"GET /e HTTP/1.1\r\nCookie: theme=dark; sid=%[1]s; lang=en",
	"GET /f HTTP/1.1\r\nReferer: https://jo:%[1]s@shop.example.com/cart",
	"GET /g HTTP/1.1\r\nReferer: https://shop.example.com/reset?key=%[1]s",
	"GET /h HTTP/1.1\r\nX-Api-Key: %[1]s",
	"GET /i HTTP/1.1\r\nUser-Agent: sync/1.0 (api_key=%[1]s)",
	"GET /j HTTP/1.1\r\nSecret Key: %[1]s",
	"POST /k HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\nuser=jo&password=%[1]s&x=1",
	"POST /l HTTP/1.1\r\nContent-Type: application/json\n{\"user\":\"jo\",\"password\":\"%[1]s\",\"x\":1}",
	"POST /m HTTP/1.1\r\nContent-Type: text/plain\n-----BEGIN PRIVATE KEY-----\n%[1]s\n-----END PRIVATE KEY-----",
	"POST /n HTTP/1.1\r\nContent-Type: text/yaml\nuser: jo\npassword: %[1]s",
}

// plantedSecrets are secrets of the kinds that people and services make.
var plantedSecrets = []string{"hunter2-Winter", "8c1f7e0a9b2d4c6e8f0a1b2c3d4e5f60", "kJ8sZq2mN4vB7xC1dF5gH9jK3lP6rT", "correct-horse-battery", "AKIAIOSFODNN7EXAMPLE"}

// forward forwards a port of this machine to a pod until the test ends, and returns its address.
func forward(t *testing.T, namespace, pod string, port int) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), kubectlPath, "port-forward", "-n", namespace, "pod/"+pod, fmt.Sprintf(":%d", port), "--address=127.0.0.1")
	output, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	// The context of the test ends it.
	t.Cleanup(func() { _ = cmd.Wait() })
	line, err := bufio.NewReader(output).ReadString('\n')
	must(t, err)
	address, _, found := strings.Cut(strings.TrimPrefix(line, "Forwarding from "), " ")
	if !found {
		t.Fatalf("kubectl port-forward says %q", line)
	}
	return address
}

// sendRaw sends a request as it is, which Go's client would refuse or clean up. The body comes after the first line feed.
func sendRaw(t *testing.T, address, request string) {
	t.Helper()
	head, body, _ := strings.Cut(strings.ReplaceAll(request, "\r\n", "\x00"), "\n")
	head = strings.ReplaceAll(head, "\x00", "\r\n")
	connection, err := net.Dial("tcp", address)
	must(t, err)
	defer func() { must(t, connection.Close()) }()
	_, err = fmt.Fprintf(connection, "%s\r\nHost: shop.example.com\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", head, len(body), body)
	must(t, err)
	answer, err := io.ReadAll(connection)
	must(t, err)
	if !strings.HasPrefix(string(answer), "HTTP/1.1 ") {
		t.Fatalf("%s: nginx answers %q", head, answer)
	}
}

// linesWith returns the lines that have a planted secret.
func linesWith(text string) (found []string) {
	for line := range strings.Lines(text) {
		for _, secret := range plantedSecrets {
			if strings.Contains(line, secret) {
				found = append(found, line)
				break
			}
		}
	}
	return found
}

// TestPluginHidesSecrets: of the secrets that requests leave in the logs of nginx, none is in what `logs` prints or `report` writes.
func TestPluginHidesSecrets(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	nginx := createReady(t, namespace, "web", v1alpha2.NginxOperatorSpec{
		Replicas: new(int32(1)), Ports: ports(httpPort), Config: &v1alpha2.Config{Files: map[string]v1alpha2.ConfigFile{"site.conf": loggingAll}},
	})
	planted := plantSecrets(t, forward(t, namespace, podsOf(t, nginx)[0].Name, httpPort))
	arguments := []string{"logs", "web", "-n", namespace, "--tail=-1"}
	eventually(t, "each request is in the log", func() error {
		if _, output := kubectlNginx(t, append(arguments, "--raw")...); len(linesWith(output)) < planted {
			return fmt.Errorf("%d of %d secrets are in the log", len(linesWith(output)), planted)
		}
		return nil
	})
	code, output := kubectlNginx(t, arguments...)
	if leaked := linesWith(output); code != 0 || len(leaked) > 0 || !strings.Contains(output, "[hidden]") {
		t.Errorf("logs: exit code %d, %d lines leak:\n%s", code, len(leaked), strings.Join(leaked, ""))
	}
	checkReport(t, namespace, planted)
	t.Logf("%d planted secrets", planted)
}

// plantSecrets sends each request with each secret, and returns how many these are.
func plantSecrets(t *testing.T, address string) (planted int) {
	t.Helper()
	for _, request := range secretRequests {
		for _, secret := range plantedSecrets {
			sendRaw(t, address, fmt.Sprintf(request, secret))
			planted++
		}
	}
	if planted < 100 {
		t.Fatalf("only %d secrets are planted", planted)
	}
	return planted
}

// checkReport checks that a report has the logs, but none of the secrets.
func checkReport(t *testing.T, namespace string, planted int) {
	t.Helper()
	archive := filepath.Join(t.TempDir(), "report.tar.gz")
	if code, output := kubectlNginx(t, "report", "web", "-n", namespace, "-f", archive); code != 0 {
		t.Fatalf("report: exit code %d: %s", code, output)
	}
	files, err := tarfile.Read(archive)
	must(t, err)
	logged := 0
	for name, text := range files {
		if leaked := linesWith(text); len(leaked) > 0 {
			t.Errorf("report: %d lines of %s leak:\n%s", len(leaked), name, strings.Join(leaked, ""))
		}
		if strings.HasPrefix(name, "applications/"+namespace+"/web/logs/") {
			logged += strings.Count(text, "\n")
		}
	}
	if logged < planted {
		t.Errorf("the report has %d lines of logs of %d requests", logged, planted)
	}
}
