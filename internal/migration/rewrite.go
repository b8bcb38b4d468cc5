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
)

const (
	// maxPasses bounds the passes over all objects. Two are the rule: one that writes,
	// and one that finds nothing left to write.
	maxPasses = 5
	// maxRefusals is how many refused objects are told by name.
	maxRefusals = 10
	// fieldManager is told to the API server. It comes to own nothing, because an
	// unchanged object changes no owner.
	fieldManager = "nginx-operator-migrate-storage"
)

// retries are made where the API server or a webhook is out of reach for a moment.
var retries = wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 7}

// pass is what one pass over all objects did.
type pass struct {
	// total is how many objects there were, and rewritten how many of them were stored
	// differently afterwards.
	total, rewritten int
	// elsewhere is how many others have changed or deleted in the meantime. What they
	// wrote is stored in the present version.
	elsewhere int
	// refused are the objects that the API server does not take as they are.
	refused []error

	mu sync.Mutex
}

// rewrite writes all objects again, until a pass finds nothing left to do.
func (m *Migrator) rewrite(ctx context.Context) error {
	for n := 1; n <= maxPasses; n++ {
		crd, err := m.readCRD(ctx)
		if err != nil {
			return err
		}
		p, err := m.pass(ctx)
		if err != nil {
			return fmt.Errorf("after %d objects: %w; run this again to go on", p.total, err)
		}
		m.say("Pass %d: %d objects, %d written, %d changed by others meanwhile, %d refused.", n, p.total, p.rewritten, p.elsewhere, len(p.refused))
		if err := p.refusal(); err != nil {
			return err
		}
		// That an object was not written although the API server was asked to proves that
		// it is stored in the version that this API server stores.
		if p.rewritten > 0 {
			continue
		}
		switch err := m.finish(ctx, crd.Generation); {
		case errors.Is(err, errChanged):
			m.say("The CRD was changed meanwhile: once more.")
		case err != nil:
			return err
		default:
			m.say("Done: every object is stored as %s, and status.storedVersions is [%s].", kind.Version, kind.Version)
			return nil
		}
	}
	return fmt.Errorf("after %d passes there is still something to write: do several API servers store different versions, or does somebody change the CRD all the time?", maxPasses)
}

// rehearse tries all writes without making one.
func (m *Migrator) rehearse(ctx context.Context) error {
	p, err := m.pass(ctx)
	if err != nil {
		return fmt.Errorf("after %d objects: %w", p.total, err)
	}
	m.say("Dry run: %d objects would be written again, %d would be refused.", p.total-p.elsewhere-len(p.refused), len(p.refused))
	return p.refusal()
}

// refusal tells of the objects that were refused, the first of them by name.
func (p *pass) refusal() error {
	if len(p.refused) == 0 {
		return nil
	}
	told := p.refused[:min(len(p.refused), maxRefusals)]
	return fmt.Errorf("%d of %d objects are refused by the API server; correct or delete them and run this again:\n%w", len(p.refused), p.total, errors.Join(told...))
}

// pass writes every object once. What somebody creates meanwhile is stored in the
// present version without it.
func (m *Migrator) pass(ctx context.Context) (*pass, error) {
	p := &pass{}
	options := &client.ListOptions{Limit: m.PageSize}
	for {
		page, err := m.page(ctx, options)
		if err != nil {
			return p, err
		}
		if err := m.writePage(ctx, p, page.Items); err != nil {
			return p, err
		}
		if page.Continue == "" {
			return p, nil
		}
		m.say("  %d objects, about %d to go", p.total, ptrOr(page.RemainingItemCount, 0))
		options.Continue = page.Continue
	}
}

func ptrOr(value *int64, fallback int64) int64 {
	if value == nil {
		return fallback
	}
	return *value
}

// page lists the metadata of some objects. A continue token that is too old is replaced
// by the one that the API server offers for it: the list is then not of one moment, but
// nothing is in it twice and nothing that was there all the time is left out
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks).
func (m *Migrator) page(ctx context.Context, options *client.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	page := &metav1.PartialObjectMetadataList{}
	err := m.persist(ctx, func() error {
		page = &metav1.PartialObjectMetadataList{}
		page.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		err := m.client.List(ctx, page, options)
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

// errStale is a reason to list again at once.
var errStale = errors.New("the continue token is too old")

// newerToken is the token that goes on with the present state, empty (which begins from
// the first object) when the API server offers none.
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

// write writes an object as it is. It returns an error only when there is no point in
// going on with others.
func (m *Migrator) write(ctx context.Context, p *pass, object *metav1.PartialObjectMetadata) error {
	object.SetGroupVersionKind(kind)
	before := object.ResourceVersion
	patch, err := unchanged(object)
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

// unchanged is a patch that changes nothing of the object as it was read. A concurrent
// writer wins: the API server answers with a conflict then.
func unchanged(object *metav1.PartialObjectMetadata) (client.Patch, error) {
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": object.UID, "resourceVersion": object.ResourceVersion,
	}})
	if err != nil {
		return nil, err
	}
	return client.RawPatch(types.MergePatchType, text), nil
}

// persist tries again what fails for reasons that pass.
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

// isTransient tells an error that has nothing to do with the object. A conversion
// webhook that is out of reach is an internal error.
func isTransient(err error) bool {
	checks := []func(error) bool{
		apierrors.IsServerTimeout, apierrors.IsTimeout, apierrors.IsTooManyRequests, apierrors.IsServiceUnavailable,
		apierrors.IsInternalError, utilnet.IsConnectionReset, utilnet.IsConnectionRefused, utilnet.IsProbableEOF, utilnet.IsHTTP2ConnectionLost,
	}
	return errors.Is(err, errStale) || slices.ContainsFunc(checks, func(is func(error) bool) bool { return is(err) })
}
