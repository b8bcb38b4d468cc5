package store

import (
	"context"
	"errors"
	"fmt"
	"io"

	"gocloud.dev/blob"

	"example.com/nginx-operator/internal/backup/location"
)

// Write writes an object and replaces an existing one. It calls write once. If the store fails, write
// gets the store's error from its writer. If write returns another error, Write returns that error
// unchanged, and the store is not changed. size is the approximate size of the object in bytes, or
// zero if it is unknown.
//
// If the process dies during an upload to S3, the uploaded parts remain. They are in no listing but
// cost storage; a lifecycle rule of the bucket (AbortIncompleteMultipartUpload) removes them.
func (s *Store) Write(ctx context.Context, key string, size int64, write func(io.Writer) error) error {
	return s.put(ctx, key, size, write, false)
}

// Create is like Write, but returns an error of the kind Exists if the object already exists.
// Clouds check that when the upload completes, so only one of two concurrent calls succeeds. On a
// volume, both may succeed if they complete at the same moment. If the response to an upload is
// lost, the client repeats the upload and may find its own object, which is the error Exists, too.
func (s *Store) Create(ctx context.Context, key string, size int64, write func(io.Writer) error) error {
	if err := valid(key); err != nil {
		return s.failed(ctx, "create", key, err)
	}
	// Clouds report an existing object only after the whole upload.
	opCtx := follow(ctx)
	exists, err := s.bucket.Exists(opCtx, key)
	if err != nil {
		return s.failed(opCtx, "create", key, err)
	}
	if exists {
		return s.failed(opCtx, "create", key, &Error{Kind: Exists, Op: "create", Where: s.location.Base() + "/" + key, Message: "the object already exists"})
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
		// Let the writer know why its data is not read any more.
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
		return s.failed(u.errorContext(ctx), op, key, err)
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

// copy replaces the Go CDK's Upload for volumes and Google. There, Upload would give an incomplete
// object its name if the writer fails. (Azure needs Upload: its writer can panic when it is closed
// after a failure.) flush is called before the object gets its name.
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
		// Close only returns the error that stop caused.
		_ = w.Close()
		return err
	}
	return w.Close()
}

const (
	mebibyte = 1 << 20
	// smallestPart is the minimum size of a part in S3, and mostParts the maximum number of parts.
	smallestPart, mostParts = 5 * mebibyte, 10_000
	// usualPart allows an object of unknown size to grow to 78 GiB.
	usualPart = 8 * mebibyte
)

// partSize returns the size of the parts in which an object is sent. Two parts are in memory at a
// time. The object may become twice as large as expected.
func partSize(size int64) int {
	if size <= 0 {
		return usualPart
	}
	return int(max(smallestPart, (2*size/mostParts/mebibyte+1)*mebibyte))
}

// upload is a write in progress.
type upload struct {
	// ctx is the context of the client, see newUpload.
	ctx context.Context
	// stop aborts the upload. end releases its resources.
	stop   context.CancelCauseFunc
	end    context.CancelFunc
	reader *io.PipeReader
	writer *io.PipeWriter
}

// errUnfinished is the error that a client gets when it reads an object whose writer has failed.
var errUnfinished = errors.New("the object is incomplete")

// endedError is the error that the writer gets after the store has ended the upload.
type endedError struct{ cause error }

func (e *endedError) Error() string {
	if e.cause == nil {
		return "the store ended the upload"
	}
	return fmt.Sprintf("the store ended the upload: %v", e.cause)
}

// newUpload prepares a write. S3's client removes the parts of a failed upload with the context of
// the upload, so for S3 that context lasts longer than the upload, see outlive. For other stores,
// ending the context says that the object is incomplete.
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

// written lets the client know that the object is complete, or that no more data will follow.
func (u *upload) written(err error) {
	if err == nil {
		_ = u.writer.Close()
		return
	}
	u.stop(err)
	_ = u.writer.CloseWithError(errUnfinished)
}

// errorContext returns the context with which an error of the upload is classified. It has the
// record of the upload's requests, and has ended only if the caller's context has.
func (u *upload) errorContext(ctx context.Context) context.Context {
	return context.WithValue(ctx, requestRecordKey{}, followed(u.ctx))
}
