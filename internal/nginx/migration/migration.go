// Package migration stores every NginxOperator in the API's storage version, so that an older
// version can be removed from the CRD.
//
// An object is stored in the version that was the storage version when it was last written.
// Writing it again, unchanged, stores it in the current one. Where Kubernetes serves
// storagemigration.k8s.io/v1 (1.37 and later), it does that itself; elsewhere this package does it.
// The older version is removed from the CRD's status.storedVersions only when everything is done:
//
//	the CRD's storage version is the newest that this program knows    else: return an error
//	the API server has noticed that                                    else: wait
//	every object is rewritten                                          in-tree, or page by page
//	another pass would change nothing, and the CRD has not changed
//	since the last pass began                                          else: another pass
//	status.storedVersions := [storage version]
//
// It keeps no state outside of the cluster and no step destroys anything, so it can be interrupted
// at any point and run again.
package migration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	storagemigrationv1 "k8s.io/api/storagemigration/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/kube/pages"
)

// Method is a way to rewrite objects.
type Method string

// The methods.
const (
	// Auto is InTree if the cluster supports it, and Rewrite otherwise.
	Auto Method = "auto"
	// InTree lets Kubernetes rewrite the objects, through a StorageVersionMigration.
	InTree Method = "in-tree"
	// Rewrite writes every object from this program.
	Rewrite Method = "rewrite"
)

// Options are the settings of a migration.
type Options struct {
	Method Method
	// DryRun changes nothing: every write is a dry run of the API server.
	DryRun bool
	// Force rewrites every object even if the CRD states that it is not needed.
	Force bool
	// PageSize is the number of objects per page of a list. Large objects come in smaller pages.
	PageSize int64
	// Concurrency is the number of concurrent writes.
	Concurrency int
	// StartTimeout bounds how long Kubernetes may take to start a StorageVersionMigration.
	StartTimeout time.Duration
}

// DefaultOptions returns the options of the command without flags.
func DefaultOptions() Options {
	// Kubernetes looks for new kinds twice a minute, so a start may take that long.
	return Options{Method: Auto, PageSize: 500, Concurrency: 8, StartTimeout: 90 * time.Second}
}

// Validate returns an error that names each invalid option.
func (o Options) Validate() error {
	var errs []error
	switch o.Method {
	case Auto, InTree, Rewrite:
	default:
		errs = append(errs, fmt.Errorf("--method is %q: it must be %s, %s or %s", o.Method, Auto, InTree, Rewrite))
	}
	if o.PageSize < 1 {
		errs = append(errs, fmt.Errorf("--page-size is %d: it must be at least 1", o.PageSize))
	}
	if o.Concurrency < 1 {
		errs = append(errs, fmt.Errorf("--concurrency is %d: it must be at least 1", o.Concurrency))
	}
	return errors.Join(errs...)
}

// kind is the migrated kind.
var kind = v1alpha2.GroupVersion.WithKind("NginxOperator")

// resource is the plural of kind, and group the CRD's group.
var resource = schema.GroupResource{Group: kind.Group, Resource: "nginxoperators"}

// Migrator migrates the NginxOperators of one cluster.
type Migrator struct {
	Options
	client    client.Client
	discovery discovery.DiscoveryInterface
	out       io.Writer
}

// Scheme returns a scheme with the types that a migration reads or writes. NginxOperators are not
// among them, since only their metadata is read.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{apiextensionsv1.AddToScheme, storagemigrationv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, nil
}

// New returns a Migrator that writes its progress to out.
func New(config *rest.Config, options Options, out io.Writer) (*Migrator, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	// The API server's own priority and fairness is the limit, not the client's rate limiter.
	config.QPS, config.Burst = -1, 0
	config.Wrap(pages.NewTransport)
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	return &Migrator{Options: options, client: c, discovery: d, out: out}, nil
}

// Run migrates the objects. It returns nil if no object is stored in an older version and the CRD
// says so, or if a dry run has found no obstacle.
func (m *Migrator) Run(ctx context.Context) error {
	crd, err := m.readCRD(ctx)
	if err != nil {
		return err
	}
	m.printf("The CRD stores %s; status.storedVersions is %v.", kind.Version, crd.Status.StoredVersions)
	if isDone(crd) && !m.Force {
		m.printf("Nothing to do: no object is stored in an older version.")
		return nil
	}
	if err := m.waitForAPIServer(ctx); err != nil {
		return err
	}
	if m.DryRun {
		return m.rehearse(ctx)
	}
	if err := m.protect(ctx); err != nil {
		return err
	}
	return m.migrate(ctx)
}

func (m *Migrator) migrate(ctx context.Context) error {
	if m.Method == Rewrite {
		return m.rewrite(ctx)
	}
	served, err := m.servesMigrations()
	if err != nil {
		return err
	}
	if !served {
		if m.Method == InTree {
			return fmt.Errorf("the cluster does not serve %s, which came with Kubernetes 1.37: use --method=%s", storagemigrationv1.SchemeGroupVersion, Rewrite)
		}
		m.printf("The cluster does not serve %s: this command rewrites the objects.", storagemigrationv1.SchemeGroupVersion)
		return m.rewrite(ctx)
	}
	err = m.inTree(ctx)
	if err == nil || m.Method == InTree || ctx.Err() != nil {
		return err
	}
	m.printf("%v", err)
	m.printf("This command rewrites the objects instead.")
	return m.rewrite(ctx)
}

// printf prints a line of progress. A failed write does not stop the migration.
func (m *Migrator) printf(format string, values ...any) {
	_, _ = fmt.Fprintf(m.out, format+"\n", values...)
}
