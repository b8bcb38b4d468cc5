package importset

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// startEcho starts an echo, and returns its address.
func startEcho(t *testing.T) string {
	t.Helper()
	text, key, err := CertificateOf(7)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := tls.X509KeyPair([]byte(text), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	echo := NewEcho(certificate)
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = listener.Close(), echo.Close() })
	go echo.Serve(listener)
	return listener.Addr().String()
}

func TestEchoHTTP(t *testing.T) {
	address := startEcho(t)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // The echo's certificate is its own.
	for url, want := range map[string]int{"http://" + address + "/a?b=1": http.StatusOK, "https://" + address + "/missing": http.StatusNotFound} {
		response, err := client.Post(url, "text/plain", strings.NewReader("content"))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != want || !strings.HasSuffix(string(body), "\n\ncontent") || !strings.HasPrefix(string(body), "POST /") {
			t.Errorf("%s: status %d, body %q", url, response.StatusCode, body)
		}
	}
}

// TestEchoFastCGI sends a request in the records of FastCGI.
func TestEchoFastCGI(t *testing.T) {
	conn, err := net.Dial("tcp4", startEcho(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	var request bytes.Buffer
	record := func(kind byte, content []byte) {
		request.Write([]byte{1, kind, 0, 1, byte(len(content) >> 8), byte(len(content)), 0, 0})
		request.Write(content)
	}
	record(1, []byte{0, 1, 0, 0, 0, 0, 0, 0})
	var parameters bytes.Buffer
	for _, p := range [][2]string{{"REQUEST_METHOD", "GET"}, {"SERVER_PROTOCOL", "HTTP/1.1"}, {"REQUEST_URI", "/a"}, {"SCRIPT_FILENAME", "/srv/a.php"}} {
		parameters.Write([]byte{byte(len(p[0])), byte(len(p[1]))})
		parameters.WriteString(p[0] + p[1])
	}
	record(4, parameters.Bytes())
	record(4, nil)
	record(5, nil)
	if _, err := conn.Write(request.Bytes()); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil || !bytes.Contains(answer, []byte("SCRIPT_FILENAME=/srv/a.php")) {
		t.Errorf("answer %q (%v)", answer, err)
	}
}

func TestResolve(t *testing.T) {
	name := dnsmessage.MustNewName("app.example.")
	query := dnsmessage.Message{Header: dnsmessage.Header{ID: 7}, Questions: []dnsmessage.Question{{Name: name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}}}
	packet, err := query.Pack()
	if err != nil {
		t.Fatal(err)
	}
	response, err := resolve(packet)
	if err != nil {
		t.Fatal(err)
	}
	var m dnsmessage.Message
	if err := m.Unpack(response); err != nil {
		t.Fatal(err)
	}
	if len(m.Answers) != 1 || m.ID != 7 || m.Answers[0].Body.(*dnsmessage.AResource).A != Backend {
		t.Errorf("response %+v", m)
	}
}
