package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/aws/smithy-go"
)

func TestHide(t *testing.T) {
	t.Parallel()
	s := secrets{"AKIDEXAMPLE", "a+secret/with=signs"}
	for text, want := range map[string]string{
		"as it is":                          "as it is",
		"two\n\tlines  ":                    "two lines",
		"key AKIDEXAMPLE is wrong":          "key … is wrong",
		`Get "https://h/p?sig=x&se=y": EOF`: `Get "https://h/p": EOF`,
		"a+secret/with=signs":               "…",
		strings.Repeat("ä", 300):            strings.Repeat("ä", 200) + "…",
	} {
		if got := s.hide(text); got != want {
			t.Errorf("hide(%q) is %q, want %q", text, got, want)
		}
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"AccessDenied: no":                     fmt.Errorf("x: %w", &smithy.GenericAPIError{Code: "AccessDenied", Message: "no"}),
		"NotFound":                             &smithy.GenericAPIError{Code: "NotFound"},
		"open: no space left on device":        &fs.PathError{Op: "open", Path: "/secret/path", Err: syscall.ENOSPC},
		"host:1: EOF":                          &url.Error{Op: "Get", URL: "http://host:1/x?sig=y", Err: io.EOF},
		"dial tcp: lookup host: no such thing": &url.Error{Op: "Get", URL: "http://host:1/x?sig=y", Err: errors.New("dial tcp: lookup host: no such thing")},
		"something":                            errors.New(`blob (key "x y") (code=Unknown): something`),
	} {
		if got := providerMessage(err); got != want {
			t.Errorf("providerMessage(%v) is %q, want %q", err, got, want)
		}
	}
}

// TestDeniedMessage: the message names the user and the groups that need access to the volume.
func TestDeniedMessage(t *testing.T) {
	t.Parallel()
	got := providerMessage(&fs.PathError{Op: "mkdir", Path: "/secret/path", Err: syscall.EACCES})
	want := regexp.MustCompile(`^mkdir: permission denied: the job runs as user \d+ with the groups \d+( \d+)*: let one of them write to the volume$`)
	if !want.MatchString(got) {
		t.Error(got)
	}
}

func TestKind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want Kind
	}{
		{&smithy.GenericAPIError{Code: "SlowDown"}, Unavailable},
		{&smithy.GenericAPIError{Code: "NoSuchBucket"}, NotFound},
		{&smithy.GenericAPIError{Code: "SignatureDoesNotMatch"}, Denied},
		{&smithy.GenericAPIError{Code: "PreconditionFailed"}, Exists},
		{&smithy.GenericAPIError{Code: "MalformedXML"}, Other},
		{&fs.PathError{Err: syscall.ENOSPC}, Full},
		{&fs.PathError{Err: syscall.EDQUOT}, Full},
		{&fs.PathError{Err: syscall.EROFS}, Denied},
		{&fs.PathError{Err: syscall.EACCES}, Denied},
		{&fs.PathError{Err: syscall.EPERM}, Denied},
		{&fs.PathError{Err: syscall.ESTALE}, Unavailable},
		{&fs.PathError{Err: syscall.ENOENT}, NotFound},
		{&fs.PathError{Err: syscall.ENOTDIR}, Other},
		{&url.Error{Err: &stalledError{}}, Unavailable},
		{fmt.Errorf("x: %w", io.ErrUnexpectedEOF), Unavailable},
		{errNoCredentials, Denied},
		{errors.New("anything"), Other},
	} {
		if got := kind(fmt.Errorf("wrapped: %w", c.err), nil); got != c.want {
			t.Errorf("kind(%v) is %q, want %q", c.err, got, c.want)
		}
	}
	if got := KindOf(nil); got != "" {
		t.Errorf("no error is %q", got)
	}
	if got := KindOf(context.Canceled); got != Other {
		t.Errorf("somebody else's error is %q", got)
	}
}

func TestPartSize(t *testing.T) {
	t.Parallel()
	for size, want := range map[int64]int{
		0: 8 << 20, 1: 5 << 20, 20 << 30: 5 << 20, 100 << 30: 21 << 20, 5 << 40: 1049 << 20,
	} {
		got := partSize(size)
		if got != want {
			t.Errorf("partSize(%d) is %d, want %d", size, got, want)
		}
		if int64(got)*mostParts < 2*size {
			t.Errorf("%d parts of %d are less than twice %d", mostParts, got, size)
		}
	}
}
