package migration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/kube/pages"
)

const (
	// maxPasses bounds the passes over all objects. Usually there are two: one that writes, and one
	// that finds nothing left to write.
	maxPasses = 5
	// maxRefusals bounds how many rejected objects an error names.
	maxRefusals = 10
	// fieldManager is the field manager of the writes. It never owns a field, since an unchanged
	// object changes no owner.
	fieldManager = "nginx-operator-migrate-storage"
)

// retries is the backoff while the API server or a webhook is unavailable for a moment.
var retries = wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 7}

// pass is the result of one pass over all objects.
type pass struct {
	// total is the number of objects, and rewritten the number of those whose stored form changed.
	total, rewritten int
	// elsewhere is the number of objects that other clients changed or deleted meanwhile. What they
	// wrote is stored in the current version.
	elsewhere int
	// refused contains an error for each object that the API server rejects as it is.
	refused []error

	mu sync.Mutex
}

// rewrite writes all objects repeatedly, until a pass finds nothing left to do.
func (m *Migrator) rewrite(ctx context.Context) error {
	for n := 1; n <= maxPasses; n++ {
		crd, err := m.readCRD(ctx)
		if err != nil {
			return err
		}
		p, err := m.pass(ctx)
		if err != nil {
			return fmt.Errorf("after %d objects: %w; run this again to continue", p.total, err)
		}
		m.printf("Pass %d: %d objects, %d written, %d changed by other clients in the meantime, %d rejected.", n, p.total, p.rewritten, p.elsewhere, len(p.refused))
		if err := p.refusal(); err != nil {
			return err
		}
		// If the API server writes nothing for an unchanged object, the object is already stored in
		// the version that this API server stores.
		if p.rewritten > 0 {
			continue
		}
		switch err := m.finish(ctx, crd.Generation); {
		case errors.Is(err, errChanged):
			m.printf("The CRD changed in the meantime: starting another pass.")
		case err != nil:
			return err
		default:
			m.printf("Done: every object is stored as %s, and status.storedVersions is [%s].", kind.Version, kind.Version)
			return nil
		}
	}
	return fmt.Errorf("after %d passes there are still objects to write: check that all API servers store the same version and that no client keeps changing the CRD", maxPasses)
}

// rehearse tries all writes as a dry run.
func (m *Migrator) rehearse(ctx context.Context) error {
	p, err := m.pass(ctx)
	if err != nil {
		return fmt.Errorf("after %d objects: %w", p.total, err)
	}
	m.printf("Dry run: %d objects would be rewritten, %d would be rejected.", p.total-p.elsewhere-len(p.refused), len(p.refused))
	return p.refusal()
}

// refusal returns an error that names the first rejected objects, or nil if there are none.
func (p *pass) refusal() error {
	if len(p.refused) == 0 {
		return nil
	}
	shown := p.refused[:min(len(p.refused), maxRefusals)]
	return fmt.Errorf("the API server rejects %d of %d objects; correct or delete them and run this again:\n%w", len(p.refused), p.total, errors.Join(shown...))
}

// pass writes every object once. Objects that are created meanwhile are stored in the current
// version anyway.
func (m *Migrator) pass(ctx context.Context) (*pass, error) {
	p := &pass{}
	options, size := &client.ListOptions{}, pages.NewSize(m.PageSize)
	for {
		page, err := m.page(ctx, options, size)
		if err != nil {
			return p, err
		}
		if err := m.writePage(ctx, p, page.Items); err != nil {
			return p, err
		}
		if page.Continue == "" {
			return p, nil
		}
		m.printf("  %d objects, about %d left", p.total, ptrOr(page.RemainingItemCount, 0))
		options.Continue = page.Continue
	}
}

func ptrOr(value *int64, fallback int64) int64 {
	if value == nil {
		return fallback
	}
	return *value
}

// page lists the metadata of some objects. It replaces an expired continue token by the one that
// the API server offers instead. The list is then inconsistent, but it contains no object twice and
// every object that existed all the time
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks).
func (m *Migrator) page(ctx context.Context, options *client.ListOptions, size *pages.Size) (*metav1.PartialObjectMetadataList, error) {
	page := &metav1.PartialObjectMetadataList{}
	err := m.persist(ctx, func() error {
		err := size.Read(ctx, func(ctx context.Context, limit int64) (int, error) {
			page, options.Limit = &metav1.PartialObjectMetadataList{}, limit
			page.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
			err := m.client.List(ctx, page, options)
			return len(page.Items), err
		})
		if apierrors.IsResourceExpired(err) {
			options.Continue = newerToken(err)
			return errStale
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list %s as %s: %w", resource.Resource, kind.Version, err)
	}
	return page, nil
}

// errStale makes persist list again.
var errStale = errors.New("the continue token has expired")

// newerToken returns the token that continues the list with the current state. It is empty if the
// API server offers none; the list then starts from the first object.
func newerToken(err error) string {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return status.Status().Continue
	}
	return ""
}

func (m *Migrator) writePage(ctx context.Context, p *pass, objects []metav1.PartialObjectMetadata) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(m.Concurrency)
	for i := range objects {
		group.Go(func() error { return m.write(ctx, p, &objects[i]) })
	}
	return group.Wait()
}

// write writes an object unchanged. It returns an error only if it makes no sense to continue with
// other objects.
func (m *Migrator) write(ctx context.Context, p *pass, object *metav1.PartialObjectMetadata) error {
	object.SetGroupVersionKind(kind)
	before := object.ResourceVersion
	patch, err := noopPatch(object)
	if err != nil {
		return err
	}
	options := []client.PatchOption{client.FieldOwner(fieldManager)}
	if m.DryRun {
		options = append(options, client.DryRunAll)
	}
	err = m.persist(ctx, func() error { return m.client.Patch(ctx, object, patch, options...) })
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil && isTransient(err) || ctx.Err() != nil {
		return fmt.Errorf("%s/%s: %w", object.Namespace, object.Name, errors.Join(err, ctx.Err()))
	}
	p.total++
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		p.elsewhere++
	case err != nil:
		p.refused = append(p.refused, fmt.Errorf("  %s/%s: %w", object.Namespace, object.Name, err))
	case object.ResourceVersion != before:
		p.rewritten++
	}
	return nil
}

// noopPatch returns a patch that changes nothing in the object as it was read. If another client
// has written the object meanwhile, the API server answers with a conflict.
func noopPatch(object *metav1.PartialObjectMetadata) (client.Patch, error) {
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": object.UID, "resourceVersion": object.ResourceVersion,
	}})
	if err != nil {
		return nil, err
	}
	return client.RawPatch(types.MergePatchType, text), nil
}

// persist retries after transient errors.
func (m *Migrator) persist(ctx context.Context, try func() error) error {
	backoff := retries
	for {
		err := try()
		if err == nil || !isTransient(err) || backoff.Steps <= 1 {
			return err
		}
		pause := time.NewTimer(backoff.Step())
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return errors.Join(err, ctx.Err())
		}
	}
}

// isTransient reports whether an error has nothing to do with the object. An unavailable conversion
// webhook causes an internal error.
func isTransient(err error) bool {
	checks := []func(error) bool{
		apierrors.IsServerTimeout, apierrors.IsTimeout, apierrors.IsTooManyRequests, apierrors.IsServiceUnavailable,
		apierrors.IsInternalError, utilnet.IsConnectionReset, utilnet.IsConnectionRefused, utilnet.IsProbableEOF, utilnet.IsHTTP2ConnectionLost,
	}
	return errors.Is(err, errStale) || slices.ContainsFunc(checks, func(is func(error) bool) bool { return is(err) })
}
