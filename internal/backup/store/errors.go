package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// Kind is the way in which a store failed.
type Kind string

// The kinds.
const (
	// Unavailable: the store is down, does not answer, or asks to come again later.
	Unavailable Kind = "Unavailable"
	// Denied: the credentials are missing, wrong, or not enough; a volume is read-only.
	Denied Kind = "Denied"
	// NotFound: the bucket or the object does not exist, see BucketMissing.
	NotFound Kind = "NotFound"
	// Full: there is no space left, or none that the quota allows.
	Full Kind = "Full"
	// Exists: Create found the object there.
	Exists Kind = "Exists"
	// Other: anything else, such as a certificate that nobody vouches for.
	Other Kind = "Other"
)

// Error is a store's error.
type Error struct {
	Kind Kind
	// BucketMissing tells of a NotFound that it is the bucket which is missing, or what a
	// volume is mounted on, and not the object.
	BucketMissing bool
	// Op is what was tried, and Where is the object's or the folder's URL.
	Op, Where string
	// Words are the store's, clipped, without credentials.
	Words string
	// ended is the caller's own reason, if it was the context that ended. What the store said
	// is not wrapped: it may have credentials.
	ended error
}

func (e *Error) Error() string { return e.Op + " " + e.Where + ": " + e.Words }

func (e *Error) Unwrap() error { return e.ended }

// KindOf is the kind of a store's error, Other for an error that is none, and empty if there
// is no error.
func KindOf(err error) Kind {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Other
}

// failed makes a store's error of what an operation returned. The context is the
// operation's, see follow.
func (s *Store) failed(ctx context.Context, op, key string, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	e := &Error{Op: op, Where: s.location.Base(), Words: s.secrets.hide(words(err))}
	if key != "" {
		e.Where += "/" + key
	}
	if e.ended = context.Cause(ctx); e.ended != nil {
		e.Kind = Other
		return e
	}
	if e.Kind = kind(err, followed(ctx)); e.Kind == NotFound {
		s.tellMissing(ctx, e, key)
	}
	return e
}

// tellMissing asks after the bucket: to a question about an object, most clouds say only that
// something does not exist, and some say so to whom they do not know.
func (s *Store) tellMissing(ctx context.Context, e *Error, key string) {
	if key != "" && s.bucket != nil {
		ctx := follow(ctx)
		_, _, err := s.bucket.ListPage(ctx, blob.FirstPageToken, 1, nil)
		if err == nil {
			e.Words = "the object does not exist"
			return
		}
		e.Kind, e.Words = kind(err, followed(ctx)), s.secrets.hide(words(err))
	}
	if e.BucketMissing = e.Kind == NotFound; e.BucketMissing {
		e.Words = fmt.Sprintf("%s does not exist (%s)", s.location.Bucket, e.Words)
	}
}

// kind judges by what the error is made of, by the clouds' codes, and at last by what was
// seen of the requests: errors of clean-ups hide why there was something to clean up.
func kind(err error, seen *following) Kind {
	if _, stalled := errors.AsType[*stalledError](err); stalled {
		return Unavailable
	}
	if code, status, ok := answered(err); ok {
		if k := kindOfCode(code); k != "" {
			return k
		}
		if k := kindOfStatus(status); k != "" {
			return k
		}
	}
	for _, k := range []Kind{kindOfErrno(err), kindOfCDK(err), kindOfNetwork(err), seen.kind()} {
		if k != "" {
			return k
		}
	}
	return Other
}

// kindOfCode knows the codes that say more than their status does.
func kindOfCode(code string) Kind {
	switch code {
	case "NoSuchBucket", "NoSuchKey", "ContainerNotFound", "BlobNotFound", "NoSuchUpload":
		return NotFound
	case "QuotaExceeded", "StorageFull", "XMinioStorageFull", "InsufficientStorage", "AccountStorageLimitExceeded":
		return Full
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "TokenRefreshRequired",
		"RequestTimeTooSkewed", "XAdminUserNotFound", "AuthenticationFailed", "AuthorizationHeaderMalformed":
		return Denied
	case "SlowDown", "Throttling", "RequestTimeout", "RequestTimeTooLong", "ServerBusy", "OperationTimedOut", "TooManyRequests":
		return Unavailable
	case "PreconditionFailed", "ConditionalRequestConflict", "BlobAlreadyExists", "ConditionNotMet", "TargetConditionNotMet":
		return Exists
	default:
		return ""
	}
}

func kindOfStatus(status int) Kind {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return Denied
	case status == http.StatusNotFound:
		return NotFound
	case status == http.StatusPreconditionFailed:
		return Exists
	case status == http.StatusInsufficientStorage:
		return Full
	case status == http.StatusTooManyRequests || status == http.StatusRequestTimeout ||
		status >= http.StatusInternalServerError && status != http.StatusNotImplemented:
		return Unavailable
	default:
		return ""
	}
}

func kindOfErrno(err error) Kind {
	errno, ok := errors.AsType[syscall.Errno](err)
	if !ok {
		return ""
	}
	switch errno {
	case syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG:
		return Full
	case syscall.EROFS, syscall.EACCES, syscall.EPERM:
		return Denied
	case syscall.ENOENT:
		return NotFound
	case syscall.ESTALE, syscall.ETIMEDOUT, syscall.ENOTCONN, syscall.EHOSTDOWN, syscall.EHOSTUNREACH, syscall.ENETUNREACH,
		syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE:
		return Unavailable
	default:
		return ""
	}
}

func kindOfCDK(err error) Kind {
	if errors.Is(err, errNoCredentials) {
		return Denied
	}
	switch gcerrors.Code(err) {
	case gcerrors.NotFound:
		if _, dns := errors.AsType[*net.DNSError](err); dns {
			return Unavailable
		}
		return NotFound
	case gcerrors.PermissionDenied:
		return Denied
	case gcerrors.FailedPrecondition, gcerrors.AlreadyExists:
		return Exists
	case gcerrors.ResourceExhausted:
		return Unavailable
	default:
		return ""
	}
}

func kindOfNetwork(err error) Kind {
	if n, ok := errors.AsType[net.Error](err); ok && n.Timeout() {
		return Unavailable
	}
	_, dns := errors.AsType[*net.DNSError](err)
	_, dial := errors.AsType[*net.OpError](err)
	if dns || dial || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
		return Unavailable
	}
	return ""
}
