package agent

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/nginx-operator/internal/backup/internal/must"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/location"
	"example.com/nginx-operator/internal/backup/store"
	"example.com/nginx-operator/test/golden"
)

// TestMessages renders the failures of jobs, which become messages of the condition Completed.
func TestMessages(t *testing.T) {
	var messages golden.Messages
	add := func(kind, hidden, shown string, err error) {
		t.Helper()
		if err == nil {
			t.Fatal("the job has not failed")
		}
		failure := Failed(err).Failure
		text, invalid := json.Marshal(Failed(err))
		if read, refused := job.ParseResult(job.Create, string(text)); invalid != nil || refused != nil || read.Failure.Reason != failure.Reason {
			t.Errorf("the operator reads the reason %s as %+v (%v, %v)", failure.Reason, read.Failure, invalid, refused)
		}
		messages.Add(fmt.Sprintf("condition Completed=False (%s) of an %s", failure.Reason, kind), strings.ReplaceAll(failure.Message, hidden, shown))
	}
	for _, answer := range []struct {
		status        int
		code, message string
	}{
		{http.StatusForbidden, "AccessDenied", "Access Denied."},
		{http.StatusForbidden, "SignatureDoesNotMatch", "The request signature we calculated does not match the signature you provided."},
		{http.StatusNotFound, "NoSuchBucket", "The specified bucket does not exist."},
		{http.StatusServiceUnavailable, "SlowDown", "Please reduce your request rate."},
		{http.StatusInsufficientStorage, "XMinioStorageFull", "Storage backend has reached its minimum free drive threshold."},
		{http.StatusBadRequest, "InvalidRequest", "The request is invalid."},
	} {
		b := newBench(t, aSnapshot())
		address := b.storeAt(answer.status, answer.code, answer.message)
		_, err := b.Create(t.Context())
		add("NginxBackup", address, "s3.example.com", err)
	}
	for _, spoil := range []func(*bench){
		func(b *bench) { must.Succeed(t, os.RemoveAll(b.Dirs.Content+"/0")) },
		func(b *bench) { b.write(b.Dirs.Content+"/0/"+strings.Repeat("a/", 200)+"b", "x") },
		func(b *bench) { b.write(filepath.Join(b.claim, "folder", b.Key, commitName), "{}") },
		func(b *bench) {
			_, err := b.Create(t.Context())
			must.Succeed(t, err)
			b.UID = "89abcdef-4567"
		},
	} {
		b := newBench(t, aSnapshot())
		b.mountAll()
		spoil(b)
		_, err := b.Create(t.Context())
		add("NginxBackup", filepath.Dir(b.claim), "", err)
	}
	b := newBench(t, aSnapshot())
	_, err := b.Adopt(t.Context())
	add("NginxBackup", "", "", err)
	_, err = b.Read(t.Context(), ReadOptions{})
	add("NginxRestore", "", "", err)
	b.mountAll()
	result, err := b.Create(t.Context())
	must.Succeed(t, err)
	b.SHA256 = strings.Repeat("0", 64)
	_, err = b.Read(t.Context(), ReadOptions{})
	add("NginxRestore", result.SHA256, strings.Repeat("1", 64), err)
	add("NginxBackup", fmt.Sprintf("of the %d bytes", result.Size), "of the 5242880 bytes", b.damage(t))
	messages.Compare(t, "results.txt")
}

// storeAt gives the job a store that answers every request with an error, and returns its address.
func (b *bench) storeAt(status int, code, message string) (address string) {
	b.t.Helper()
	b.t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	b.t.Setenv("AWS_SECRET_ACCESS_KEY", "SECRETSECRET")
	b.t.Setenv("AWS_MAX_ATTEMPTS", "1")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s</Message></Error>", code, message)
	}))
	b.t.Cleanup(server.Close)
	where, err := location.Parse("s3://backups/nginx?region=eu-central-1&use_path_style=true&endpoint=" + server.URL)
	must.Succeed(b.t, err)
	b.Store, err = store.Open(b.t.Context(), where, store.Options{})
	must.Succeed(b.t, err)
	return strings.TrimPrefix(server.URL, "http://")
}

// damage cuts the archive off, and returns the error of the job that verifies it.
func (b *bench) damage(t *testing.T) error {
	t.Helper()
	must.Succeed(t, os.Truncate(filepath.Join(b.claim, "folder", b.Key, b.archiveName()), 100))
	_, err := b.Adopt(t.Context())
	return err
}
