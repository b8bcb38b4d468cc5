package volumes

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Several files and folders change in a burst: one look afterwards is enough.
const (
	quiet      = 25 * time.Millisecond
	maxPending = 100 * time.Millisecond
)

// Watch says on the channel that something in a folder may have changed. It returns
// when the watch cannot be set up, and goes on in the background until ctx is done.
// The caller has to look now and then by itself, too: not every file system tells.
func Watch(ctx context.Context, dirs []string, changed chan<- struct{}) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch folders: %w", err)
	}
	for _, dir := range dirs {
		if err := watcher.Add(dir); err != nil {
			slog.Warn("folder is not watched, only looked at now and then", "folder", dir, "error", err)
		}
	}
	go forward(ctx, watcher, changed)
	return nil
}

func forward(ctx context.Context, watcher *fsnotify.Watcher, changed chan<- struct{}) {
	defer func() { _ = watcher.Close() }()
	for {
		select {
		case <-ctx.Done():
			return
		case err := <-watcher.Errors:
			slog.Warn("watch folders", "error", err)
		case <-watcher.Events:
			settle(watcher.Events)
		}
		select {
		case changed <- struct{}{}:
		default: // It has been said already, and nobody has looked since.
		}
	}
}

// settle waits for the end of a burst.
func settle(events <-chan fsnotify.Event) {
	end := time.After(maxPending)
	for {
		select {
		case <-events:
		case <-time.After(quiet):
			return
		case <-end:
			return
		}
	}
}
