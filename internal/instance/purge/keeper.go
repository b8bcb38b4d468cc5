package purge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"example.com/nginx-operator/internal/instance/volumes"
	"example.com/nginx-operator/internal/instanceapi"
)

// Keeper carries out the purges that the operator sends, and those of the mounted folder, which reach a pod that was away
// or that the operator cannot reach. It is safe for concurrent use.
type Keeper struct {
	// dir is the folder of the store, mounted that of the purges, and objects are what is stored.
	dir, mounted string
	objects      Objects
	// applying is full while purges are carried out, or the store is replaced.
	applying chan struct{}

	mu    sync.Mutex
	store *Store
	// failure is why the last purges could not be carried out; nil if they were.
	failure error
}

// NewKeeper opens the folder in which a cache keeps what was purged. mounted is the folder with the purges.
func NewKeeper(dir, mounted string, objects Objects) (*Keeper, error) {
	k := &Keeper{dir: dir, mounted: mounted, objects: objects, applying: make(chan struct{}, 1)}
	store, err := Open(dir, objects)
	if damages(err) {
		return k, k.replace(err)
	}
	k.store = store
	return k, err
}

// damages reports whether an error means that the folder is not as it was left. A disk that fails, or is full, does not.
func damages(err error) bool {
	for _, other := range []error{unix.EROFS, unix.ENOSPC, unix.EDQUOT, unix.EIO, unix.ESTALE, unix.EACCES, unix.EPERM} {
		if errors.Is(err, other) {
			return false
		}
	}
	return err != nil
}

// CatchUp carries out the mounted purges. They may take as long as it takes to read all stored objects.
func (k *Keeper) CatchUp(ctx context.Context) error {
	if err := k.objects.removeLinks(); err != nil {
		slog.Warn("cannot remove the links that replace purged objects", "error", err)
	}
	err := k.applyMounted(ctx)
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	// What was purged while the pod was away is not known.
	slog.Error("the whole cache is dropped, because the mounted purges cannot be carried out", "error", err)
	if err := k.current().Drop(time.Now()); err != nil {
		return fmt.Errorf("drop the cache: %w", err)
	}
	return nil
}

// Watch carries out the mounted purges whenever they change, and replaces the store when it is damaged, until ctx is done.
func (k *Keeper) Watch(ctx context.Context) {
	changed := make(chan struct{}, 1)
	volumes.Watch(ctx, []string{k.mounted}, changed)
	var failure error
	for checks := 1; ; {
		before := failure
		select {
		case <-ctx.Done():
			return
		case <-time.After(checkPause):
			failure = k.repair(ctx, failure != nil, checks%verifyEvery == 0)
			checks++
		case <-changed:
			failure = k.applyMounted(ctx)
		}
		if failure != nil && (before == nil || before.Error() != failure.Error()) {
			slog.Error("cannot carry out the mounted purges", "error", failure)
		}
	}
}

// checkPause is how often the store is checked. nginx requests everything from the origins while it is not there. Once in
// verifyEvery checks, all links are read: nginx would answer with what was purged if some are lost.
const (
	checkPause  = time.Second
	verifyEvery = 30
)

// repair replaces the store if another program has damaged it. Then, and to try again, it carries out the mounted purges.
func (k *Keeper) repair(ctx context.Context, again, verify bool) error {
	if damage := k.damage(verify); damages(damage) {
		k.applying <- struct{}{}
		err := k.replace(damage)
		<-k.applying
		if err != nil {
			return err
		}
		again = true
	}
	if !again {
		return nil
	}
	return k.applyMounted(ctx)
}

// damage returns what is wrong with the store; nil if nothing is, or if purges are being carried out.
func (k *Keeper) damage(verify bool) error {
	if _, err := os.Stat(filepath.Join(k.dir, linkAll)); err != nil || !verify {
		return err
	}
	select {
	case k.applying <- struct{}{}:
		defer func() { <-k.applying }()
		return k.Verify()
	default:
		return nil
	}
}

// replace replaces a store that is damaged. What was purged is not known any more, so the whole cache is dropped.
func (k *Keeper) replace(damage error) error {
	slog.Error("the whole cache is dropped, because what was purged cannot be read", "error", damage)
	// Without it, nginx answers with nothing that is stored.
	if err := os.RemoveAll(filepath.Join(k.dir, linkAll)); err != nil && !errors.Is(err, unix.ENOTDIR) {
		return fmt.Errorf("remove the generation: %w", err)
	}
	if err := os.RemoveAll(k.dir); err != nil {
		return fmt.Errorf("remove the folder with what was purged: %w", err)
	}
	store, err := Open(k.dir, k.objects)
	if err != nil {
		return fmt.Errorf("open the folder with what was purged: %w", err)
	}
	k.mu.Lock()
	k.store = store
	k.mu.Unlock()
	return store.Drop(time.Now())
}

// Verify returns an error if what was purged cannot be read any more, or if there is less of it than there was.
func (k *Keeper) Verify() error {
	root, err := os.OpenRoot(k.dir)
	if err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	defer func() { _ = root.Close() }() // It was only read.
	s := &Store{root: root}
	number, links, err := s.readNumber()
	_, missing := root.Stat(linkAll)
	if err := errors.Join(err, missing, s.count()); err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	if want := k.current().Number(); number < want || s.links < links {
		return fmt.Errorf("%w: it has purge %d of %d, and %d of %d links", errDamaged, number, want, s.links, links)
	}
	return nil
}

// current returns the store.
func (k *Keeper) current() *Store {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.store
}

// Apply carries out purges. When ctx is done, it returns, and they are carried out nevertheless if that has begun.
func (k *Keeper) Apply(ctx context.Context, p instanceapi.Purges) error {
	select {
	case k.applying <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	applied := make(chan error, 1)
	go func() {
		err := k.apply(context.WithoutCancel(ctx), p)
		// A caller that has the result may check the store at once.
		<-k.applying
		applied <- err
	}()
	select {
	case err := <-applied:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (k *Keeper) apply(ctx context.Context, p instanceapi.Purges) error {
	store := k.current()
	before := store.Number()
	err := store.Apply(ctx, p)
	switch now := store.Number(); {
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
func (k *Keeper) applyMounted(ctx context.Context) error {
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
	return k.Apply(ctx, purges)
}
