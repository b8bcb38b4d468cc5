package volumes

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Several files and folders change in a burst; one notification after it is enough. quiet is the
// pause that ends a burst, and maxPending bounds how long it delays the notification.
const (
	quiet      = 25 * time.Millisecond
	maxPending = 100 * time.Millisecond
)

// pollEvery is the interval at which folders that the kernel does not watch are polled.
const pollEvery = time.Second

// Watch signals on the channel that something in a folder may have changed, in the background until
// ctx is done. The caller must also check periodically, because some file systems send no events.
//
// inotify instances are limited per user of a node (fs.inotify.max_user_instances). If none is left,
// the folders are polled.
func Watch(ctx context.Context, dirs []string, changed chan<- struct{}) {
	watch(ctx, dirs, changed, fsnotify.NewWatcher)
}

func watch(ctx context.Context, dirs []string, changed chan<- struct{}, newWatcher func() (*fsnotify.Watcher, error)) {
	watcher, err := newWatcher()
	if err != nil {
		slog.Warn("folders cannot be watched, so they are polled: raise fs.inotify.max_user_instances on the node",
			"error", err, "every", pollEvery.String())
		go pollVersions(ctx, dirs, versions(dirs), changed)
		return
	}
	var unwatched []string
	for _, dir := range dirs {
		if err := watcher.Add(dir); err != nil {
			slog.Warn("folder is not watched, so it is polled", "folder", dir, "error", err, "every", pollEvery.String())
			unwatched = append(unwatched, dir)
		}
	}
	if len(unwatched) > 0 {
		go pollVersions(ctx, unwatched, versions(unwatched), changed)
	}
	go forward(ctx, watcher, changed)
}

// pollVersions compares the targets of the links that the kubelet switches.
func pollVersions(ctx context.Context, dirs, last []string, changed chan<- struct{}) {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if now := versions(dirs); !slices.Equal(now, last) {
			last = now
			announce(changed)
		}
	}
}

func versions(dirs []string) []string {
	found := make([]string, len(dirs))
	for i, dir := range dirs {
		found[i] = Version(dir)
	}
	return found
}

func announce(changed chan<- struct{}) {
	select {
	case changed <- struct{}{}:
	default: // A notification is already pending.
	}
}

func forward(ctx context.Context, watcher *fsnotify.Watcher, changed chan<- struct{}) {
	defer func() { _ = watcher.Close() }()
	for {
		select {
		case <-ctx.Done():
			return
		case err := <-watcher.Errors:
			slog.Warn("cannot watch folders", "error", err)
		case <-watcher.Events:
			settle(watcher.Events)
		}
		announce(changed)
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
