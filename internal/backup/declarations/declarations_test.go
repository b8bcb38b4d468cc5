package declarations

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/backup/archive"
)

var head = BackupInfo{SHA256: "ab12", Info: archive.Info{Format: archive.Format, Name: "web-1", Namespace: "shop", TakenAt: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}}

var declared = []archive.File{
	{Path: "nginxoperator.yaml", Data: []byte("kind: NginxOperator\n")},
	{Path: "configmaps/conf.yaml", Data: []byte("kind: ConfigMap\n")},
	{Path: "configmaps/empty.yaml", Data: []byte{}},
}

// pod returns a client that reaches the handler as the pod 10.0.0.7.
func pod(t *testing.T, handler http.Handler) *http.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if want := net.JoinHostPort("10.0.0.7", "9114"); address != want {
				return nil, fmt.Errorf("%s is queried, want %s", address, want)
			}
			return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
		},
	}}
}

func anySize(context.Context, int64) error { return nil }

// TestRoundTrip: the operator gets the declarations that the pod has read, and nothing else.
func TestRoundTrip(t *testing.T) {
	files := append([]archive.File{
		{Path: "config/asked/nginx.conf", Data: []byte("events {}")}, {Path: "revisions/1.yaml", Data: []byte("{}")},
	}, declared...)
	got, found, err := FetchFromPod(t.Context(), pod(t, Handler("token", head, files)), "10.0.0.7", "token", anySize)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(head, got); diff != "" {
		t.Errorf("head, -sent +received:\n%s", diff)
	}
	if diff := cmp.Diff(declared, found); diff != "" {
		t.Errorf("files, -sent +received:\n%s", diff)
	}
}

// TestReady: the readiness probe needs no token.
func TestReady(t *testing.T) {
	answer := httptest.NewRecorder()
	Handler("token", head, nil).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, ReadyPath, http.NoBody))
	if answer.Code != http.StatusOK || answer.Body.Len() > 0 {
		t.Errorf("it answers %d %q", answer.Code, answer.Body)
	}
}

// TestToken: a client without the token gets nothing.
func TestToken(t *testing.T) {
	handler := Handler("token", head, declared)
	for _, header := range []string{"", "token", "Bearer", "Bearer ", "Bearer toke", "Bearer tokens", "bearer token"} {
		request := httptest.NewRequest(http.MethodGet, documentsPath, http.NoBody)
		if header != "" {
			request.Header.Set("Authorization", header)
		}
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		if answer.Code != http.StatusUnauthorized || strings.Contains(answer.Body.String(), "NginxOperator") {
			t.Errorf("with the header %q it answers %d: %s", header, answer.Code, answer.Body)
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
		request := httptest.NewRequest(method, documentsPath, http.NoBody)
		request.Header.Set("Authorization", "Bearer token")
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		if answer.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s is answered with %d", method, answer.Code)
		}
	}
}

func tarOf(t *testing.T, files ...archive.File) []byte {
	t.Helper()
	var text bytes.Buffer
	w := tar.NewWriter(&text)
	for _, f := range files {
		if err := put(w, f); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

// withHeader returns an answer with a file that Handler never sends.
func withHeader(t *testing.T, header *tar.Header) []byte {
	t.Helper()
	var text bytes.Buffer
	if err := tar.NewWriter(&text).WriteHeader(header); err != nil {
		t.Fatal(err)
	}
	return append(tarOf(t, archive.File{Path: headName, Data: []byte(`{"format": 1}`)})[:1024], text.Bytes()...)
}

// TestNamesAreCounted: the memory of all names is counted before they are kept, and is no larger than what was counted.
func TestNamesAreCounted(t *testing.T) {
	const files, length = 100, 4000
	text := []archive.File{{Path: headName, Data: []byte(`{"format": 1}`)}}
	for i := range files {
		text = append(text, archive.File{Path: fmt.Sprintf("%s%0*d", archive.ConfigMapsFolder, length, i)})
	}
	answer, counted := tarOf(t, text...), int64(0)
	before := heap()
	_, found, err := parseTar(bytes.NewReader(answer), func(bytes int64) error { counted += bytes; return nil })
	after := heap()
	if err != nil || len(found) != files {
		t.Fatalf("%d files are taken: %v", len(found), err)
	}
	if counted < files*length {
		t.Errorf("%d bytes are counted for %d names of %d bytes", counted, files, length)
	}
	if kept := after - before; kept > counted {
		t.Errorf("%d bytes are kept, and %d are counted", kept, counted)
	}
	runtime.KeepAlive(found)
	runtime.KeepAlive(answer)
}

// heap returns the number of bytes in use.
func heap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// TestHostileAnswers: an invalid answer of the pod is an error, and takes little memory.
func TestHostileAnswers(t *testing.T) {
	body := func(text []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(text) }
	}
	good := archive.File{Path: headName, Data: []byte(`{"format": 1}`)}
	endless := func(begin []byte, next func(n int) []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			_, err := w.Write(begin)
			for n := 0; err == nil; n++ {
				_, err = w.Write(next(n))
			}
		}
	}
	zeros := make([]byte, 64<<10)
	emptyFile := func(n int) []byte {
		text := tarOf(t, archive.File{Path: fmt.Sprintf("configmaps/%d.yaml", n)})
		return text[:512]
	}
	large := func(size int64) []byte {
		var text bytes.Buffer
		if err := tar.NewWriter(&text).WriteHeader(&tar.Header{Name: "configmaps/a.yaml", Size: size, Mode: 0o600}); err != nil {
			t.Fatal(err)
		}
		return text.Bytes()
	}
	tests := []struct {
		name    string
		handler http.HandlerFunc
		want    string
	}{
		{"not found", http.NotFound, "404"},
		{"wrong token", Handler("another", head, declared).ServeHTTP, "401"},
		{"an error", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, "500"},
		{"no content", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, "204"},
		{"elsewhere", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		}, "302"},
		{"nothing", body(nil), "no backup.json"},
		{"an empty tar", body(tarOf(t)), "no backup.json"},
		{"no info", body(tarOf(t, declared...)), "no backup.json"},
		{"an info without a format", body(tarOf(t, archive.File{Path: headName, Data: []byte("{}")})), "no backup.json"},
		{"an info that is none", body(tarOf(t, archive.File{Path: headName, Data: []byte("[]")})), "backup.json"},
		{"an info of many volumes", body(tarOf(t, archive.File{Path: headName, Data: []byte(`{"format":1,"content":[` + strings.Repeat("{},", 600_000) + `{}]}`)})), "items"},
		{"an info that is too large", body(tarOf(t, archive.File{Path: headName, Data: []byte(`{"format":1}` + strings.Repeat(" ", 10<<20))})), "more than 2097152 bytes"},
		{"garbage", body([]byte(strings.Repeat("garbage ", 200))), "tar"},
		{"half an answer", body(tarOf(t, good, declared[0])[:1300]), "unexpected EOF"},
		{"a file that is too large", body(append(tarOf(t, good)[:1024], large(limit+1)...)), "more than 36 MiB"},
		{"a file of exabytes", body(append(tarOf(t, good)[:1024], large(1<<60)...)), "more than 36 MiB"},
		{"files that are too many", endless(tarOf(t, good)[:1024], emptyFile), "more than 36 MiB"},
		{"a name of a megabyte", body(tarOf(t, good, archive.File{Path: archive.ConfigMapsFolder + strings.Repeat("a", 1<<20-100)})), "headers of more than 16384 bytes"},
		{"a name of kilobytes", body(tarOf(t, good, archive.File{Path: archive.ConfigMapsFolder + strings.Repeat("a", 5<<10)})), "a name of 5131 bytes"},
		{"a file that is no declaration", body(tarOf(t, good, archive.File{Path: "files/a"})), `"files/a"`},
		{"records of a megabyte", body(withHeader(t, &tar.Header{Name: "configmaps/a.yaml", PAXRecords: map[string]string{"SCHILY.xattr.user.a": strings.Repeat("a", 1<<20-100)}})), "headers of more than 16384 bytes"},
		{"an owner of a megabyte", body(withHeader(t, &tar.Header{Name: "configmaps/a.yaml", Uname: strings.Repeat("a", 1<<20-100)})), "headers of more than 16384 bytes"},
		{"a link target of a megabyte", body(withHeader(t, &tar.Header{Name: "configmaps/a.yaml", Linkname: strings.Repeat("a", 1<<20-100), Typeflag: tar.TypeSymlink})), "headers of more than 16384 bytes"},
		{"a file with a record", body(withHeader(t, &tar.Header{Name: "configmaps/a.yaml", PAXRecords: map[string]string{"SCHILY.xattr.user.a": "a"}})), "not a regular file"},
		{"a link", body(withHeader(t, &tar.Header{Name: "configmaps/a.yaml", Linkname: "b", Typeflag: tar.TypeSymlink})), "not a regular file"},
		{"a folder", body(withHeader(t, &tar.Header{Name: "configmaps/", Typeflag: tar.TypeDir})), "not a regular file"},
		{"a global header", body(withHeader(t, &tar.Header{Name: "configmaps/a", Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"path": "a"}})), "the answer has the file"},
		{"zeros for ever", endless(nil, func(int) []byte { return zeros }), "no backup.json"},
		{"connection lost", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(tarOf(t, good)[:1024])
			panic(http.ErrAbortHandler)
		}, "EOF"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, files, err := FetchFromPod(t.Context(), pod(t, tt.handler), "10.0.0.7", "token", anySize)
			if err == nil || !strings.Contains(err.Error(), tt.want) || files != nil {
				t.Errorf("%d files, error %v, want something about %s", len(files), err, tt.want)
			}
		})
	}
}

// TestSilence: a pod that does not answer is waited for no longer than the caller's context allows.
func TestSilence(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	client := pod(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	if _, _, err := FetchFromPod(ctx, client, "10.0.0.7", "token", anySize); err == nil {
		t.Error("an answer out of nothing")
	}
}

// TestIPv6: an IPv6 address works, too.
func TestIPv6(t *testing.T) {
	requested := ""
	client := &http.Client{Transport: &http.Transport{DialContext: func(_ context.Context, _, address string) (net.Conn, error) {
		requested = address
		return nil, io.ErrClosedPipe
	}}}
	if _, _, err := FetchFromPod(t.Context(), client, "fd00::7", "token", anySize); err == nil || requested != "[fd00::7]:9114" {
		t.Errorf("%s was queried: %v", requested, err)
	}
}
