package volumes

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Several files and folders change in a burst: one look afterwards is enough.
const (
	quiet      = 25 * time.Millisecond
	maxPending = 100 * time.Millisecond
)

// pollEvery is how often folders are looked at that the kernel does not watch.
const pollEvery = time.Second

// Watch says on the channel that something in a folder may have changed, in the background
// until ctx is done. The caller has to look now and then by itself, too: not every file
// system tells.
//
// inotify instances are counted for each user of a node (fs.inotify.max_user_instances).
// Where none is left, the folders are polled.
func Watch(ctx context.Context, dirs []string, changed chan<- struct{}) {
	watch(ctx, dirs, changed, fsnotify.NewWatcher)
}

func watch(ctx context.Context, dirs []string, changed chan<- struct{}, newWatcher func() (*fsnotify.Watcher, error)) {
	watcher, err := newWatcher()
	if err != nil {
		slog.Warn("folders cannot be watched, so they are polled: raise fs.inotify.max_user_instances on the node",
			"error", err, "every", pollEvery.String())
		go poll(ctx, dirs, versions(dirs), changed)
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
		go poll(ctx, unwatched, versions(unwatched), changed)
	}
	go forward(ctx, watcher, changed)
}

// poll compares the links that the kubelet switches.
func poll(ctx context.Context, dirs, last []string, changed chan<- struct{}) {
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
	default: // It has been said already, and nobody has looked since.
	}
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
