package purge

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"example.com/nginx-operator/internal/instance/volumes"
	"example.com/nginx-operator/internal/instanceapi"
)

// Keeper carries out the purges that the operator sends, and those of the mounted folder, which reach a pod that was away
// or that the operator cannot reach. It is safe for concurrent use.
type Keeper struct {
	store *Store
	// mounted is the folder.
	mounted string

	mu sync.Mutex
	// failure is why the last purges could not be carried out; nil if they were.
	failure error
}

// Start opens the folder of a cache and carries out the mounted purges, first now and then whenever they change, until ctx
// is done.
func Start(ctx context.Context, dir, mounted string) (*Keeper, error) {
	store, err := Open(dir)
	if err != nil {
		return nil, fmt.Errorf("open the folder with what was purged: %w", err)
	}
	k := &Keeper{store: store, mounted: mounted}
	if err := k.applyMounted(); err != nil {
		// What was purged while the pod was away is not known.
		slog.Error("the whole cache is dropped, because the mounted purges cannot be carried out", "error", err)
		if err := store.Drop(time.Now()); err != nil {
			return nil, fmt.Errorf("drop the cache: %w", err)
		}
	}
	changed := make(chan struct{}, 1)
	volumes.Watch(ctx, []string{mounted}, changed)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-changed:
				if err := k.applyMounted(); err != nil {
					slog.Error("cannot carry out the mounted purges", "error", err)
				}
			}
		}
	}()
	return k, nil
}

// Apply carries out purges.
func (k *Keeper) Apply(p instanceapi.Purges) error {
	before := k.store.Number()
	err := k.store.Apply(p)
	switch now := k.store.Number(); {
	case err != nil:
		slog.Error("cannot purge the cache", "error", err)
	case now != before:
		slog.Info("purged", "number", now)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.failure = err
	return err
}

// Report returns what was carried out.
func (k *Keeper) Report() *instanceapi.Purged {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	report := &instanceapi.Purged{Number: k.store.Number()}
	if k.failure != nil {
		report.Error = k.failure.Error()
	}
	return report
}

// applyMounted carries out the purges of the folder.
func (k *Keeper) applyMounted() error {
	files, err := volumes.Read(k.mounted)
	if err != nil {
		return err
	}
	text, ok := files[instanceapi.FilePurges]
	if !ok {
		return fmt.Errorf("%s has no file %s", k.mounted, instanceapi.FilePurges)
	}
	purges, err := instanceapi.ParsePurges([]byte(text))
	if err != nil {
		return err
	}
	return k.Apply(purges)
}
