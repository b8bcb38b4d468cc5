package manager

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	"k8s.io/apimachinery/pkg/util/wait"

	"example.com/nginx-operator/internal/kube/webhookcert"
	"example.com/nginx-operator/internal/kube/webhookserver"
)

// TestMountedCertificate: the webhook serves the certificate in the folder, mounted as by the
// Operator Lifecycle Manager, and the new one when the folder's content is replaced.
func TestMountedCertificate(t *testing.T) {
	dir := t.TempDir()
	first := writeCertificate(t, dir)
	options := Options{ConversionWebhook: true, WebhookCertDir: dir, WebhookPort: freePort(t)}
	server := webhookserver.New(webhookOptions(options, &webhookcert.Controller{}))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()

	waitForCertificate(t, options.WebhookPort, first)
	waitForCertificate(t, options.WebhookPort, writeCertificate(t, dir))
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the server ends with %v", err)
	}
}

// TestOwnCertificate: the webhook serves no certificate until the operator has created one.
func TestOwnCertificate(t *testing.T) {
	config := webhookOptions(Options{ConversionWebhook: true}, &webhookcert.Controller{})
	if config.GetCertificate == nil {
		t.Fatal("the certificate is not asked of the controller")
	}
	if _, err := config.GetCertificate(nil); err == nil {
		t.Error("a certificate is served before there is one")
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().(*net.TCPAddr).Port
}

// writeCertificate writes a certificate and its key, and returns the certificate as DER.
func writeCertificate(t *testing.T, dir string) []byte {
	t.Helper()
	now := time.Now()
	authority := &rotator.CertRotator{CAName: "test", CAOrganization: "test", DNSName: "localhost",
		ExtKeyUsages: &[]x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	ca, err := authority.CreateCACert(now.Add(-time.Hour), now.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	cert, key, err := authority.CreateCertPEM(ca, now.Add(-time.Hour), now.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(os.WriteFile(filepath.Join(dir, "tls.crt"), cert, 0o600), os.WriteFile(filepath.Join(dir, "tls.key"), key, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return pair.Certificate[0]
}

func waitForCertificate(t *testing.T, port int, want []byte) {
	t.Helper()
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
		// The test compares the certificate itself, so it need not be verified.
		conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			return false, nil
		}
		defer func() { _ = conn.Close() }()
		return string(conn.ConnectionState().PeerCertificates[0].Raw) == string(want), nil
	})
	if err != nil {
		t.Fatalf("the certificate is not served: %v", err)
	}
}
