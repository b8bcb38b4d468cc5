package store

import (
	"context"
	"errors"
	"io"
	"iter"

	"gocloud.dev/blob"
)

// Open opens an object for reading and returns its size in bytes. Errors of reading are store
// errors with a kind, too.
func (s *Store) Open(ctx context.Context, key string) (io.ReadCloser, int64, error) {
	ctx = follow(ctx)
	if err := valid(key); err != nil {
		return nil, 0, s.failed(ctx, "read", key, err)
	}
	r, err := s.bucket.NewReader(ctx, key, nil)
	if err != nil {
		return nil, 0, s.failed(ctx, "read", key, err)
	}
	return &reader{Reader: r, store: s, ctx: ctx, key: key}, r.Size(), nil
}

type reader struct {
	*blob.Reader
	store *Store
	ctx   context.Context
	key   string
}

// Read implements io.Reader. It converts the errors of the Go CDK to store errors.
func (r *reader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = r.store.failed(r.ctx, "read", r.key, err)
	}
	return n, err
}

// WriteTo copies the rest of the object. It replaces the method of the Go CDK, whose errors would
// not be converted.
func (r *reader) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, struct{ io.Reader }{readerFunc(r.Read)})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// Delete deletes an object, if it exists.
func (s *Store) Delete(ctx context.Context, key string) error {
	ctx = follow(ctx)
	if err := valid(key); err != nil {
		return s.failed(ctx, "delete", key, err)
	}
	err := s.bucket.Delete(ctx, key)
	if err == nil {
		return nil
	}
	err = s.failed(ctx, "delete", key, err)
	if e, ok := errors.AsType[*Error](err); ok && e.Kind == NotFound && !e.BucketMissing {
		return nil
	}
	return err
}

// List iterates over the objects whose keys begin with a prefix, in the order of their keys. It
// requests the pages of the store one by one. An error ends the iteration.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		ctx := follow(ctx)
		if s.volume != nil {
			if err := s.volume.list(ctx, prefix, func(o Object) bool { return yield(o, nil) }); err != nil {
				yield(Object{}, s.failed(ctx, "list", "", err))
			}
			return
		}
		objects := s.bucket.List(&blob.ListOptions{Prefix: prefix})
		for {
			o, err := objects.Next(ctx)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(Object{}, s.failed(ctx, "list", "", err))
				return
			}
			if o.IsDir {
				continue
			}
			if !yield(Object{Key: o.Key, Size: o.Size, Modified: o.ModTime}, nil) {
				return
			}
		}
	}
}
