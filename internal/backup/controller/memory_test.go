package controller

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// TestMemory: a namespace that keeps its share leaves memory to another one. A small pass never waits, and a wait ends with
// its context, or when there is no memory in time.
func TestMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := NewMemory()
		slow := memory.Use("slow")
		for range 2 {
			if err := slow.Add(t.Context(), smallPass); err != nil {
				t.Fatal(err)
			}
		}
		second, small := memory.Use("slow"), memory.Use("slow")
		if err := small.Add(t.Context(), smallPass); err != nil {
			t.Errorf("a small pass gets no memory: %v", err)
		}
		if err := second.Reserve(t.Context()); !errors.Is(err, ErrNoMemory) {
			t.Errorf("the namespace gets more than its share: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- second.Reserve(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the wait ends with %v", err)
		}
		shop := memory.Use("shop")
		if err := shop.Reserve(t.Context()); err != nil {
			t.Errorf("another namespace gets no memory: %v", err)
		}
		shop.Keep(smallPass)
		blog := memory.Use("blog")
		if err := blog.Reserve(t.Context()); err != nil {
			t.Errorf("a reservation that is no longer needed does not end: %v", err)
		}
		for _, use := range []*MemoryUse{slow, second, small, shop, blog} {
			use.Release()
			use.Release()
		}
		if n := memory.large.InUse(); n > 0 {
			t.Errorf("%d passes are left", n)
		}
	})
}
