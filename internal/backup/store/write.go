package store

import (
	"context"
	"errors"
	"fmt"
	"io"

	"gocloud.dev/blob"

	"example.com/nginx-operator/internal/backup/location"
)

// Write puts an object in the place of the one that may be there. write is called once, and
// gets the store's error from the writer when the store fails; when it returns an error of its
// own, that is returned as it is, and nothing has changed. size is about how large the
// object will be, in bytes; zero: unknown.
//
// Of an upload to S3 whose process died, parts stay that are in no listing and cost what they
// weigh: a rule of the bucket's lifecycle (AbortIncompleteMultipartUpload) removes them.
func (s *Store) Write(ctx context.Context, key string, size int64, write func(io.Writer) error) error {
	return s.put(ctx, key, size, write, false)
}

// Create is Write that leaves an object alone which exists already, with an error of the kind
// Exists. Clouds judge when the object is whole, so of two at the same time only one succeeds;
// on a volume, both may, if they end within the same moment. Where the answer to an upload is
// lost, the client sends it again and can find its own object there: then, too, it Exists.
func (s *Store) Create(ctx context.Context, key string, size int64, write func(io.Writer) error) error {
	if err := valid(key); err != nil {
		return s.failed(ctx, "create", key, err)
	}
	// Clouds tell only after the whole upload.
	opCtx := follow(ctx)
	exists, err := s.bucket.Exists(opCtx, key)
	if err != nil {
		return s.failed(opCtx, "create", key, err)
	}
	if exists {
		return s.failed(opCtx, "create", key, &Error{Kind: Exists, Op: "create", Where: s.location.Base() + "/" + key, Words: "the object exists already"})
	}
	return s.put(ctx, key, size, write, true)
}

func (s *Store) put(ctx context.Context, key string, size int64, write func(io.Writer) error, isNew bool) error {
	op := "write"
	if isNew {
		op = "create"
	}
	if err := valid(key); err != nil {
		return s.failed(ctx, op, key, err)
	}
	u := s.newUpload(ctx)
	defer u.end()
	done := make(chan error, 1)
	go func() {
		err := s.upload(u, key, size, isNew)
		// Whoever still writes learns why nobody reads any more.
		_ = u.reader.CloseWithError(&endedError{cause: err})
		done <- err
	}()
	writeErr := write(u.writer)
	u.written(writeErr)
	err := <-done
	if _, ended := errors.AsType[*endedError](writeErr); writeErr != nil && !ended {
		return writeErr
	}
	if err != nil {
		return s.failed(u.judge(ctx), op, key, err)
	}
	return nil
}

func (s *Store) upload(u *upload, key string, size int64, isNew bool) error {
	options := &blob.WriterOptions{
		ContentType:    "application/octet-stream",
		BufferSize:     partSize(size),
		MaxConcurrency: 1,
		IfNotExist:     isNew,
	}
	switch s.location.Scheme {
	case location.S3:
		options.BeforeWrite = smallUploads(s.bucket, options.BufferSize)
		return s.bucket.Upload(u.ctx, key, u.reader, options)
	case location.Azure:
		return s.bucket.Upload(u.ctx, key, u.reader, options)
	case location.PVC:
		return s.volume.upload(u, s.bucket, key, options)
	default:
		return u.copy(s.bucket, key, options, func() error { return nil })
	}
}

// copy is the Go CDK's Upload for volumes and Google, to which that one gives half an object
// its name when writing it fails. (Azure's writer, on the other hand, can panic when it is
// closed after a failure, unless Upload uses it.) flush is called before the object has its
// name.
func (u *upload) copy(bucket *blob.Bucket, key string, options *blob.WriterOptions, flush func() error) error {
	w, err := bucket.NewWriter(u.ctx, key, options)
	if err != nil {
		return err
	}
	if _, err = io.Copy(w, u.reader); err == nil {
		err = flush()
	}
	if err != nil {
		u.stop(err)
		// What it says is that it was stopped.
		_ = w.Close()
		return err
	}
	return w.Close()
}

const (
	mebibyte = 1 << 20
	// smallestPart is the least that S3 takes, and mostParts how many it takes of an object.
	smallestPart, mostParts = 5 * mebibyte, 10_000
	// usualPart lets an object of unknown size grow to 78 GiB.
	usualPart = 8 * mebibyte
)

// partSize is in how large parts an object is sent, of which two are in memory at a time.
// An object may become twice as large as expected.
func partSize(size int64) int {
	if size <= 0 {
		return usualPart
	}
	return int(max(smallestPart, (2*size/mostParts/mebibyte+1)*mebibyte))
}

// upload is one write under way.
type upload struct {
	// ctx is the client's, see newUpload.
	ctx context.Context
	// stop ends it before it is whole, end when all is over.
	stop   context.CancelCauseFunc
	end    context.CancelFunc
	reader *io.PipeReader
	writer *io.PipeWriter
}

// errUnfinished is what clients get that read an object which nobody will finish.
var errUnfinished = errors.New("the object is not whole")

// endedError is what the one who writes gets when the store has ended the upload.
type endedError struct{ cause error }

func (e *endedError) Error() string {
	if e.cause == nil {
		return "the store has ended the upload"
	}
	return fmt.Sprintf("the store has ended the upload: %v", e.cause)
}

// newUpload prepares a write. S3's client takes the parts of a failed upload away, with the
// context of the upload, so for S3 that one outlives what ends the upload, see outlive. To the
// others, ending the context is how to say that what was written is not whole.
func (s *Store) newUpload(ctx context.Context) *upload {
	u := &upload{}
	u.reader, u.writer = io.Pipe()
	var cancel context.CancelFunc
	if s.location.Scheme == location.S3 {
		u.ctx, u.stop, cancel = outlive(ctx)
	} else {
		u.ctx, u.stop = context.WithCancelCause(follow(ctx))
		cancel = func() { u.stop(nil) }
	}
	forget := context.AfterFunc(ctx, func() { u.written(context.Cause(ctx)) })
	u.end = func() { forget(); cancel() }
	return u
}

// written tells the client that all has been written, or that no more will come.
func (u *upload) written(err error) {
	if err == nil {
		_ = u.writer.Close()
		return
	}
	u.stop(err)
	_ = u.writer.CloseWithError(errUnfinished)
}

// judge is the context by which an error of the upload is judged: with what was seen of its
// requests, and ended only if the caller's is.
func (u *upload) judge(ctx context.Context) context.Context {
	return context.WithValue(ctx, followingKey{}, followed(u.ctx))
}
