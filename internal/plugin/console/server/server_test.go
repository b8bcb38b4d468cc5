package server

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/spf13/pflag"

	"example.com/nginx-operator/test/eventually"
)

// patience bounds the wait for a condition. It does not measure speed.
const patience = 30 * time.Second

// logs collects log lines.
type logs struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logs) logger() logr.Logger {
	return funcr.NewJSON(func(line string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.text.WriteString(line + "\n")
	}, funcr.Options{})
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// started is a console that runs.
type started struct {
	url, health string
	logs        *logs
	end         context.CancelFunc
	result      chan error
}

// start runs a console on a free port before an API server that holds watches open.
func start(t *testing.T, o Options) *started {
	t.Helper()
	api := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(api.Close)
	o.Address, o.HealthAddress, o.APIServer, o.CAFile = "127.0.0.1:0", "127.0.0.1:0", api.URL, filepath.Join(t.TempDir(), "ca.crt")
	must(t, os.WriteFile(o.CAFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: api.Certificate().Raw}), 0o600))
	ctx, end := context.WithCancel(t.Context())
	s := &started{logs: &logs{}, end: end, result: make(chan error, 1)}
	go func() { s.result <- Run(ctx, o, s.logs.logger()) }()
	t.Cleanup(s.end)
	eventually.Holds(t, patience, "the console serves", func() bool {
		_, after, found := strings.Cut(s.logs.String(), `"address":"`)
		if address, _, whole := strings.Cut(after, `"`); found && whole {
			s.url = "https://" + address
			if o.InsecureHTTP {
				s.url = "http://" + address
			}
		}
		_, after, found = strings.Cut(s.logs.String(), `"health":"`)
		if address, _, whole := strings.Cut(after, `"`); found && whole {
			s.health = "http://" + address
		}
		return s.url != "" && s.health != ""
	})
	return s
}

// client trusts any certificate, and opens a connection for each request.
func client() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the test looks at the certificate itself
	}}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// writeCertificate replaces the certificate of a folder by one with a name.
func writeCertificate(t *testing.T, dir, name string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	for file, block := range map[string]*pem.Block{"tls.key": {Type: "PRIVATE KEY", Bytes: encoded}, "tls.crt": {Type: "CERTIFICATE", Bytes: certificate}} {
		temporary := filepath.Join(dir, "."+file)
		must(t, os.WriteFile(temporary, pem.EncodeToMemory(block), 0o600))
		must(t, os.Rename(temporary, filepath.Join(dir, file)))
	}
}

// TestCertificateIsReloaded: a new certificate is served without a restart.
func TestCertificateIsReloaded(t *testing.T) {
	dir := t.TempDir()
	writeCertificate(t, dir, "first.example.com")
	s := start(t, Options{CertDir: dir})
	serves := func(name string) func() bool {
		return func() bool {
			response, err := client().Get(s.url + "/healthz")
			must(t, err)
			defer func() { _ = response.Body.Close() }()
			return response.StatusCode == http.StatusOK && response.TLS.PeerCertificates[0].Subject.CommonName == name
		}
	}
	if !serves("first.example.com")() {
		t.Error("another certificate is served")
	}
	writeCertificate(t, dir, "second.example.com")
	eventually.Holds(t, patience, "the new certificate is served", serves("second.example.com"))
	s.end()
	must(t, <-s.result)
}

// TestHealth: the probe is answered for any host, and the page for declared hosts only.
func TestHealth(t *testing.T) {
	s := start(t, Options{InsecureHTTP: true, Hosts: []string{"console.example.com"}})
	for _, tt := range []struct {
		host, path string
		code       int
	}{
		{"", "/healthz", 200}, {"", "/", 421}, {"", "/api/settings", 421}, {"console.example.com", "/", 200}, {"console.example.com:8443", "/api/settings", 200},
		{"evil.example.com", "/", 421},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+tt.path, nil)
		must(t, err)
		request.Host = tt.host
		response, err := client().Do(request)
		must(t, err)
		body, err := io.ReadAll(response.Body)
		must(t, err)
		must(t, response.Body.Close())
		if response.StatusCode != tt.code {
			t.Errorf("host %q, %s: %s, want %d: %s", tt.host, tt.path, response.Status, tt.code, body)
		}
	}
}

// TestSlowGuests: more slow connections than may be open keep neither the kubelet nor another guest from an answer.
func TestSlowGuests(t *testing.T) {
	s := start(t, Options{InsecureHTTP: true})
	address := strings.TrimPrefix(s.url, "http://")
	for range limits.Connections + 100 {
		conn, err := net.Dial("tcp", address)
		must(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		_, err = conn.Write([]byte("GET /healthz HTTP/1.1\r\nHost: x\r\nX: "))
		must(t, err)
	}
	for range 5 {
		for _, url := range []string{s.health, s.url} {
			response, err := client().Get(url + "/healthz")
			must(t, err)
			if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
				t.Errorf("%s: %s, %v", url, response.Status, err)
			}
		}
	}
}

// TestEnd: the console ends in time although streams are open, and logs no token.
func TestEnd(t *testing.T) {
	const token = "token-of-alice"
	dir := t.TempDir()
	writeCertificate(t, dir, "console.example.com")
	s := start(t, Options{CertDir: dir})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/api/fleet", nil)
	must(t, err)
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := client().Do(request)
	must(t, err)
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		t.Fatal(response.Status)
	}
	s.end()
	if _, err := io.Copy(io.Discard, bufio.NewReader(response.Body)); err != nil {
		t.Errorf("the stream ends with an error: %v", err)
	}
	select {
	case err := <-s.result:
		must(t, err)
	case <-time.After(patience):
		t.Fatal("the console does not end")
	}
	if strings.Contains(s.logs.String(), token) {
		t.Errorf("the log has the token: %s", s.logs)
	}
}

// TestOptions: wrong options are refused with what to change.
func TestOptions(t *testing.T) {
	ca := filepath.Join(t.TempDir(), "ca.crt")
	must(t, os.WriteFile(ca, nil, 0o600))
	const server = "https://192.0.2.1:6443"
	for name, tt := range map[string]struct {
		options Options
		says    string
	}{
		"no server":           {Options{CAFile: ca}, "--server is needed outside of a cluster"},
		"plain HTTP":          {Options{CAFile: ca, APIServer: "http://192.0.2.1"}, "--server must be a URL such as https://"},
		"a password":          {Options{CAFile: ca, APIServer: "https://root:secret@192.0.2.1"}, "must not have a user or a password"},
		"no authority":        {Options{CAFile: ca + "x", APIServer: server}, "kube-root-ca.crt"},
		"no certificate":      {Options{CAFile: ca, APIServer: server, CertDir: t.TempDir()}, "--tls-cert-dir must have a certificate in tls.crt"},
		"a host with a port":  {Options{CAFile: ca, APIServer: server, Hosts: []string{"console.example.com:443"}}, "without a scheme, a port or a path"},
		"a URL as a host":     {Options{CAFile: ca, APIServer: server, Hosts: []string{"https://console.example.com"}}, "without a scheme, a port or a path"},
		"an address in use":   {Options{CAFile: ca, APIServer: server, InsecureHTTP: true, Address: "192.0.2.1:1"}, "--bind-address"},
		"a wildcard in hosts": {Options{CAFile: ca, APIServer: server, Hosts: []string{"*.example.com"}}, "set host names"},
	} {
		err := Run(t.Context(), tt.options, logr.Discard())
		if err == nil || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFlags: in a pod, the address of the API server needs no flag.
func TestFlags(t *testing.T) {
	for want, environment := range map[string]map[string]string{
		"":                        {},
		"https://10.96.0.1:443":   {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"},
		"https://[fd00::1]:443":   {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"},
		"https://10.96.0.1:64430": {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "64430"},
	} {
		o := Options{}
		o.AddFlags(pflag.NewFlagSet("", pflag.ContinueOnError), func(name string) string { return environment[name] })
		if o.APIServer != want {
			t.Errorf("%v: %q, want %q", environment, o.APIServer, want)
		}
	}
}
