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

// Kind classifies errors of a store.
type Kind string

// The kinds of errors.
const (
	// Unavailable: the store is down, does not respond, or asks to retry later.
	Unavailable Kind = "Unavailable"
	// Denied: the credentials are missing, wrong or insufficient, or a volume is read-only.
	Denied Kind = "Denied"
	// NotFound: the bucket or the object does not exist, see BucketMissing.
	NotFound Kind = "NotFound"
	// Full: there is no space left, or the quota is exhausted.
	Full Kind = "Full"
	// Exists: Create found that the object exists.
	Exists Kind = "Exists"
	// Other: any other error, such as an untrusted certificate.
	Other Kind = "Other"
)

// Error is an error of a store.
type Error struct {
	Kind Kind
	// BucketMissing reports, for NotFound, that the bucket or the mount point of the volume does
	// not exist, and not just the object.
	BucketMissing bool
	// Op is the operation. Where is the URL of the object or the folder.
	Op, Where string
	// Message is the message of the store, shortened and without credentials.
	Message string
	// ended is the cause of the caller's context, if that ended. The store's error is not wrapped,
	// since it may contain credentials.
	ended error
}

func (e *Error) Error() string { return e.Op + " " + e.Where + ": " + e.Message }

func (e *Error) Unwrap() error { return e.ended }

// KindOf returns the kind of a store's error, Other for any other error, and "" for nil.
func KindOf(err error) Kind {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Other
}

// failed converts the error of an operation to an *Error. ctx is the context of the operation, see
// follow.
func (s *Store) failed(ctx context.Context, op, key string, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	e := &Error{Op: op, Where: s.location.Base(), Message: s.secrets.hide(providerMessage(err))}
	if key != "" {
		e.Where += "/" + key
	}
	if e.ended = context.Cause(ctx); e.ended != nil {
		e.Kind = Other
		return e
	}
	if e.Kind = kind(err, followed(ctx)); e.Kind == NotFound {
		s.reportMissing(ctx, e, key)
	}
	return e
}

// reportMissing checks whether the bucket exists. To a request for an object, most clouds reply
// only that something does not exist, and some reply so to clients that they do not know.
func (s *Store) reportMissing(ctx context.Context, e *Error, key string) {
	if key != "" && s.bucket != nil {
		ctx := follow(ctx)
		_, _, err := s.bucket.ListPage(ctx, blob.FirstPageToken, 1, nil)
		if err == nil {
			e.Message = "the object does not exist"
			return
		}
		e.Kind, e.Message = kind(err, followed(ctx)), s.secrets.hide(providerMessage(err))
	}
	if e.BucketMissing = e.Kind == NotFound; e.BucketMissing {
		e.Message = fmt.Sprintf("%s does not exist (%s)", s.location.Bucket, e.Message)
	}
}

// kind classifies an error by its type, by the code of the cloud, and finally by the requests of
// the operation: the error of a clean-up hides the error that made it necessary.
func kind(err error, seen *following) Kind {
	if _, stalled := errors.AsType[*stalledError](err); stalled {
		return Unavailable
	}
	if code, status, ok := responseCode(err); ok {
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

// kindOfCode classifies codes that are more specific than their HTTP status.
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
