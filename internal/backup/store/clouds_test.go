package store_test

import (
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/nginx-operator/internal/backup/location"
	"example.com/nginx-operator/internal/backup/store"
)

// These tests do not emulate a cloud. They check where requests are sent, how errors of a cloud are
// reported, and what is sent if the writer fails.

// cloud returns a server that answers every request with an error of a cloud.
func cloud(t *testing.T, status int, headers map[string]string, body string) (address string, whole *atomic.Int64) {
	t.Helper()
	whole = &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n, err := io.Copy(io.Discard, r.Body); err == nil && n > 0 {
			whole.Add(1)
		}
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://"), whole
}

func open(t *testing.T, text string, o store.Options) (*store.Store, error) {
	t.Helper()
	l, err := location.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return store.Open(t.Context(), l, o)
}

func mustOpen(t *testing.T, text string) *store.Store {
	t.Helper()
	s, err := open(t, text, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// check runs the operations against a cloud that refuses all of them.
func check(t *testing.T, s *store.Store, want store.Kind, words string) {
	t.Helper()
	_, _, errOpen := s.Open(t.Context(), "x")
	errs := map[string]error{
		"write": s.Write(t.Context(), "x", 0, func(w io.Writer) error {
			_, err := io.WriteString(w, "x")
			return err
		}),
		"open": errOpen,
	}
	for _, err := range s.List(t.Context(), "") {
		errs["list"] = err
	}
	for name, err := range errs {
		if got := store.KindOf(err); got != want || !strings.Contains(fmt.Sprint(err), words) {
			t.Errorf("%s: the kind is %q, want %q: %v", name, got, want, err)
		}
		if strings.Contains(fmt.Sprint(err), "SECRET") {
			t.Errorf("%s: a credential is in the error: %v", name, err)
		}
	}
}

// fails writes half an object and fails. The cloud must not get it as a whole object.
func fails(t *testing.T, s *store.Store, whole *atomic.Int64) {
	t.Helper()
	before := whole.Load()
	failed := errors.New("the writer's own")
	err := s.Write(t.Context(), "x", 0, func(w io.Writer) error {
		_, _ = io.WriteString(w, "half")
		return failed
	})
	if !errors.Is(err, failed) {
		t.Errorf("the error is %v", err)
	}
	if whole.Load() != before {
		t.Error("half an object was sent as if it were whole")
	}
}

func TestAzure(t *testing.T) {
	for _, c := range []struct {
		status int
		code   string
		want   store.Kind
		words  string
	}{
		{http.StatusForbidden, "AuthenticationFailed", store.Denied, "AuthenticationFailed: 403"},
		{http.StatusForbidden, "AuthorizationPermissionMismatch", store.Denied, "AuthorizationPermissionMismatch: 403"},
		{http.StatusNotFound, "ContainerNotFound", store.NotFound, "container does not exist (ContainerNotFound: 404"},
		{http.StatusConflict, "AccountIsDisabled", store.Other, "AccountIsDisabled"},
	} {
		t.Run(c.code, func(t *testing.T) {
			t.Setenv("AZURE_STORAGE_ACCOUNT", "account")
			t.Setenv("AZURE_STORAGE_KEY", "U0VDUkVUU0VDUkVU")
			address, whole := cloud(t, c.status, map[string]string{"x-ms-error-code": c.code}, "<Error>SECRET</Error>")
			s := mustOpen(t, "azblob://container/folder?protocol=http&domain="+address)
			check(t, s, c.want, c.words)
			fails(t, s, whole)
		})
	}
}

func TestAzureSignature(t *testing.T) {
	t.Setenv("AZURE_STORAGE_SAS_TOKEN", "sv=2025-01-01&sig=SECRET")
	t.Setenv("AZURE_STORAGE_ACCOUNT", "account")
	t.Setenv("AZURE_STORAGE_PROTOCOL", "http")
	for _, parameter := range []string{"domain=evil.example.com", "storage_account=other", "protocol=https"} {
		_, err := open(t, "azblob://container?"+parameter, store.Options{})
		if err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("with %s the error is %v", parameter, err)
		}
	}
	address, _ := cloud(t, http.StatusForbidden, map[string]string{"x-ms-error-code": "AuthenticationFailed"}, "")
	t.Setenv("AZURE_STORAGE_DOMAIN", address)
	check(t, mustOpen(t, "azblob://container"), store.Denied, "AuthenticationFailed")
}

func TestAzureWithoutAnything(t *testing.T) {
	t.Setenv("AZURE_STORAGE_ACCOUNT", "")
	if _, err := open(t, "azblob://container", store.Options{}); err == nil || !strings.Contains(err.Error(), "?storage_account=") {
		t.Errorf("the error is %v", err)
	}
	t.Setenv("AZURE_STORAGE_ACCOUNT", "account")
	t.Setenv("AZURE_STORAGE_KEY", "!SECRET!")
	_, err := open(t, "azblob://container", store.Options{})
	if store.KindOf(err) != store.Denied || strings.Contains(err.Error(), "SECRET") {
		t.Errorf("the error is %v", err)
	}
}

func TestGoogle(t *testing.T) {
	for _, c := range []struct {
		status int
		words  string
		want   store.Kind
	}{
		{http.StatusForbidden, "you may not", store.Denied},
		{http.StatusUnauthorized, "who are you", store.Denied},
		{http.StatusNotFound, "bucket does not exist", store.NotFound},
		{http.StatusBadRequest, "what", store.Other},
	} {
		t.Run(fmt.Sprint(c.status), func(t *testing.T) {
			address, whole := cloud(t, c.status, map[string]string{"Content-Type": "application/json"},
				fmt.Sprintf(`{"error":{"code":%d,"message":%q}}`, c.status, c.words))
			t.Setenv("STORAGE_EMULATOR_HOST", address)
			s := mustOpen(t, "gs://bucket/folder")
			check(t, s, c.want, "")
			fails(t, s, whole)
		})
	}
}

func TestGoogleCredentials(t *testing.T) {
	for name, text := range map[string]string{
		"no json": "SECRET", "no type": `{"private_key":"SECRET"}`, "no key": `{"type":"service_account","private_key":1,"x":"SECRET"}`,
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "google.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := open(t, "gs://bucket", store.Options{CredentialsDir: dir})
		if store.KindOf(err) != store.Denied || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

// TestPrivateAuthority: a server with a private certificate is trusted only with its authority in
// ca.crt.
func TestPrivateAuthority(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "SECRETSECRET")
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, "<Error><Code>AccessDenied</Code><Message>no</Message></Error>")
	}))
	server.Config.ErrorLog = nil
	server.StartTLS()
	t.Cleanup(server.Close)
	text := "s3://bucket?use_path_style=true&endpoint=" + server.URL
	check(t, mustOpen(t, text), store.Other, "x509: ")

	dir := t.TempDir()
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(filepath.Join(dir, "ca.crt"), certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := open(t, text, store.Options{CredentialsDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	check(t, s, store.Denied, "AccessDenied: no")

	if err := os.WriteFile(filepath.Join(dir, "ca.crt"), []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, text, store.Options{CredentialsDir: dir}); err == nil {
		t.Error("a ca.crt without a certificate is accepted")
	}
}

func TestNoRegion(t *testing.T) {
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	t.Setenv("HOME", t.TempDir())
	if _, err := open(t, "s3://bucket", store.Options{}); err == nil || !strings.Contains(err.Error(), "?region=") {
		t.Errorf("the error is %v", err)
	}
}
