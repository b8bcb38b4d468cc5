package pki

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/hack/cluster/internal/state"
	"example.com/nginx-operator/hack/cluster/internal/topology"
)

func parse(t *testing.T, encoded []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(encoded)
	if block == nil {
		t.Fatalf("not PEM: %q", encoded)
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

func TestIssued(t *testing.T) {
	ca, err := NewAuthority("ca")
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(parse(t, ca.Certificate))
	client, err := ca.Client("alice", "admins", "developers")
	if err != nil {
		t.Fatal(err)
	}
	server, err := ca.Server("server", "localhost", "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tls.X509KeyPair(server.Certificate, server.Key); err != nil {
		t.Errorf("certificate and key do not belong together: %v", err)
	}
	tests := map[string]struct {
		pair  Pair
		usage x509.ExtKeyUsage
		host  string
		valid bool
	}{
		"client as client":      {client, x509.ExtKeyUsageClientAuth, "", true},
		"client as server":      {client, x509.ExtKeyUsageServerAuth, "", false},
		"server as server":      {server, x509.ExtKeyUsageServerAuth, "localhost", true},
		"server by address":     {server, x509.ExtKeyUsageServerAuth, "127.0.0.1", true},
		"server as client":      {server, x509.ExtKeyUsageClientAuth, "", false},
		"server by other name":  {server, x509.ExtKeyUsageServerAuth, "example.com", false},
		"signed by another one": {newPair(t), x509.ExtKeyUsageClientAuth, "", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := parse(t, test.pair.Certificate).Verify(x509.VerifyOptions{
				Roots: roots, DNSName: test.host, KeyUsages: []x509.ExtKeyUsage{test.usage},
			})
			if (err == nil) != test.valid {
				t.Errorf("valid: %t, but Verify says %v", test.valid, err)
			}
		})
	}
	subject := parse(t, client.Certificate).Subject
	if diff := cmp.Diff([]string{"admins", "developers"}, subject.Organization); subject.CommonName != "alice" || diff != "" {
		t.Errorf("subject %s\n%s", subject, diff)
	}
}

// newPair returns a certificate of a new authority.
func newPair(t *testing.T) Pair {
	t.Helper()
	ca, err := NewAuthority("ca")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := ca.Client("mallory")
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func TestWrite(t *testing.T) {
	cluster := state.Cluster(t.TempDir())
	if err := Write(cluster, topology.IPv4, topology.Nodes(2), "https://127.0.0.1:1234"); err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := os.ReadFile(cluster.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(kubeconfig, []byte("server: https://127.0.0.1:1234\n")) {
		t.Errorf("the kubeconfig does not use the forwarder:\n%s", kubeconfig)
	}
	kubelet, err := os.ReadFile(cluster.PKI("node-2.kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	// The Node authorizer identifies kubelets by exactly this name and group.
	match := regexp.MustCompile(`client-certificate-data: (\S+)`).FindSubmatch(kubelet)
	if match == nil {
		t.Fatalf("no client certificate in:\n%s", kubelet)
	}
	certificate, err := base64.StdEncoding.DecodeString(string(match[1]))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := parse(t, certificate).Subject.String(), "CN=system:node:node-2,O=system:nodes"; got != want {
		t.Errorf("the kubelet is %s, want %s", got, want)
	}
	info, err := os.Stat(cluster.PKI("ca.key"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("keys are readable by others: %s", info.Mode())
	}
}
