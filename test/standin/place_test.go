package standin

import (
	"testing"
	"time"
)

// TestClose: storage that is closed is used by no job, and closing it waits for those that use it.
func TestClose(t *testing.T) {
	place := &NodeStorage{}
	if !place.use() {
		t.Fatal("open storage cannot be used")
	}
	closed := make(chan struct{})
	go func() {
		place.close()
		close(closed)
	}()
	select {
	case <-closed:
		t.Error("the storage was closed while a job used it")
	case <-time.After(20 * time.Millisecond):
	}
	place.release()
	<-closed
	if place.use() {
		t.Error("closed storage can be used")
	}
}
