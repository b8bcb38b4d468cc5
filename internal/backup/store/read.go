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
	body, size, err := s.read(ctx, key)
	if err != nil {
		return nil, 0, s.failed(ctx, "read", key, err)
	}
	return &reader{ReadCloser: body, store: s, ctx: ctx, key: key}, size, nil
}

func (s *Store) read(ctx context.Context, key string) (io.ReadCloser, int64, error) {
	if s.volume != nil {
		return s.volume.read(key)
	}
	r, err := s.bucket.NewReader(ctx, key, nil)
	if err != nil {
		return nil, 0, err
	}
	return r, r.Size(), nil
}

type reader struct {
	io.ReadCloser
	store *Store
	ctx   context.Context
	key   string
}

// Read implements io.Reader. It converts the errors of the Go CDK to store errors.
func (r *reader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = r.store.failed(r.ctx, "read", r.key, err)
	}
	return n, err
}

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
