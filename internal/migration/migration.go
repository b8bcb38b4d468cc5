// Package migration brings every stored NginxOperator into the API's storage version,
// so that an older version can be taken out of the CRD one day.
//
// An object is stored in the version that was the storage version when it was written
// last. Writing it again, unchanged, stores it in the present one. Kubernetes does that
// itself where it serves storagemigration.k8s.io/v1 (1.37 and later); elsewhere this
// package does it. Only when all of it is done does the CRD's status.storedVersions
// lose the older version:
//
//	the CRD stores the version that this program knows as the newest   else: refuse
//	the API server has noticed that                                    else: wait
//	every object is written again                                      in-tree, or page by page
//	nothing is left that a further pass would change, and the CRD is
//	the same as before that pass                                       else: another pass
//	status.storedVersions := [storage version]
//
// Nothing is remembered outside of the cluster and no step destroys anything, so it can
// be interrupted anywhere and run again.
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
)

// Method is how objects are written again.
type Method string

// The methods there are.
const (
	// Auto is InTree where the cluster can do it, and Rewrite otherwise.
	Auto Method = "auto"
	// InTree lets Kubernetes do it by a StorageVersionMigration.
	InTree Method = "in-tree"
	// Rewrite writes every object from here.
	Rewrite Method = "rewrite"
)

// Options are the settings of a migration.
type Options struct {
	Method Method
	// DryRun changes nothing. Every write is tried as a dry run of the API server.
	DryRun bool
	// Force writes every object again even where the CRD tells that there is no need.
	Force bool
	// PageSize is how many objects are listed at a time.
	PageSize int64
	// Concurrency is how many objects are written at the same time.
	Concurrency int
	// StartTimeout is how long Kubernetes may take to begin with a
	// StorageVersionMigration.
	StartTimeout time.Duration
}

// DefaultOptions are those of the command without flags.
func DefaultOptions() Options {
	// Kubernetes looks for new kinds twice a minute, so a minute is no sign of trouble.
	return Options{Method: Auto, PageSize: 500, Concurrency: 8, StartTimeout: 90 * time.Second}
}

// Validate tells what is wrong with the options.
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

// kind is what is migrated.
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

// Scheme knows the types that a migration reads or writes. NginxOperators are not among
// them: it looks at nothing but their metadata.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{apiextensionsv1.AddToScheme, storagemigrationv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, nil
}

// New returns a Migrator that tells its progress to out.
func New(config *rest.Config, options Options, out io.Writer) (*Migrator, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	// The API server's own fairness is the limit, not a counter in the client.
	config.QPS, config.Burst = -1, 0
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

// Run migrates. It returns nil when nothing is stored in an older version any more and
// the CRD says so, or when a dry run has found nothing that would stand in the way.
func (m *Migrator) Run(ctx context.Context) error {
	crd, err := m.readCRD(ctx)
	if err != nil {
		return err
	}
	m.say("The CRD stores %s; status.storedVersions is %v.", kind.Version, crd.Status.StoredVersions)
	if isDone(crd) && !m.Force {
		m.say("Nothing to do: no object is stored in an older version.")
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
		m.say("The cluster does not serve %s: the objects are written again from here.", storagemigrationv1.SchemeGroupVersion)
		return m.rewrite(ctx)
	}
	err = m.inTree(ctx)
	if err == nil || m.Method == InTree || ctx.Err() != nil {
		return err
	}
	m.say("%v", err)
	m.say("The objects are written again from here instead.")
	return m.rewrite(ctx)
}

// say tells a line of progress. That nobody can read it is no reason to stop.
func (m *Migrator) say(format string, values ...any) {
	_, _ = fmt.Fprintf(m.out, format+"\n", values...)
}
