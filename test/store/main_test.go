//go:build store

// Package store_test runs internal/backup/store against a real S3 server, versitygw, and against
// file systems that are full or read-only, with every fault that can occur between them.
package store_test

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/nginx-operator/internal/backup/location"
	"example.com/nginx-operator/internal/backup/store"
)

const (
	accessKey = "AKIDTESTACCESS"
	secretKey = "secret-key-of-the-tests"
	// idle is how long a store may stall in the tests of that, and patience in the others, which compete for the machine.
	idle, patience = 2 * time.Second, 20 * time.Second
)

// s3 is the server that all tests share.
var s3 struct {
	// url is its endpoint, and root is the directory whose subdirectories are the buckets.
	url, root string
}

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": accessKey, "AWS_SECRET_ACCESS_KEY": secretKey,
		// No test may query a cloud's metadata service.
		"AWS_EC2_METADATA_DISABLED": "true",
	} {
		if err := os.Setenv(name, value); err != nil {
			return 1, err
		}
	}
	root, err := os.MkdirTemp("", "store-s3-")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(root) }()
	stop, err := serveS3(root)
	if err != nil {
		return 1, err
	}
	defer stop()
	return m.Run(), nil
}

// serveS3 starts the server and returns when it responds.
func serveS3(root string) (stop func(), err error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	program := cmp.Or(os.Getenv("VERSITYGW"), "../../bin/versitygw")
	server := exec.Command(program, "--port", address, "--keep-alive", "--quiet", "posix", root)
	server.Env = []string{"ROOT_ACCESS_KEY=" + accessKey, "ROOT_SECRET_KEY=" + secretKey}
	if err := server.Start(); err != nil {
		return nil, fmt.Errorf("start the S3 server, which `make test-store` builds: %w", err)
	}
	stop = func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	}
	s3.url, s3.root = "http://"+address, root
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		response, err := http.Get(s3.url)
		if err == nil {
			return stop, response.Body.Close()
		}
		if time.Now().After(deadline) {
			stop()
			return nil, fmt.Errorf("the S3 server does not answer: %w", err)
		}
	}
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// bucket creates a bucket for a test.
func bucket(t *testing.T) (name, folder string) {
	t.Helper()
	name = strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()))
	if len(name) > 63 {
		name = name[len(name)-63:]
	}
	name = strings.Trim(name, "-")
	folder = filepath.Join(s3.root, name)
	if err := os.Mkdir(folder, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
	return name, folder
}

// s3Store returns a store in a folder of a bucket behind an endpoint.
func s3Store(t *testing.T, endpoint, bucket string) *store.Store {
	t.Helper()
	return open(t, s3Location(endpoint, bucket), store.Options{})
}

func s3Location(endpoint, bucket string) string {
	return fmt.Sprintf("s3://%s/a/folder?endpoint=%s&use_path_style=true", bucket, url.QueryEscape(endpoint))
}

func open(t *testing.T, text string, o store.Options) *store.Store {
	t.Helper()
	l, err := location.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	o.IdleTimeout = cmp.Or(o.IdleTimeout, patience)
	s, err := store.Open(t.Context(), l, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// wantKind fails the test if an error has another kind or contains the key.
func wantKind(t *testing.T, err error, want store.Kind) {
	t.Helper()
	if got := store.KindOf(err); got != want {
		t.Errorf("the kind is %q, want %q: %v", got, want, err)
	}
	if err != nil && (strings.Contains(err.Error(), secretKey) || strings.Contains(err.Error(), accessKey)) {
		t.Errorf("a credential is in the error: %v", err)
	}
}
