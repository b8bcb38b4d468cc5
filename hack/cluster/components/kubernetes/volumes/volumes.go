// Package volumes provisions the volumes of the local cluster's StorageClass.
//
// A volume is a tmpfs on the node that the scheduler has chosen. Unlike a directory it has a size,
// and unlike other file systems it grows while it is mounted without CAP_SYS_RESOURCE, which the
// machine may lack. It is lost with the node, as the whole cluster is.
//
// Each node runs this program, which watches all claims and PersistentVolumes. After each change it
// does everything that is missing on its node:
//
//	a claim without a volume                mount a tmpfs, create the PersistentVolume
//	a claim of more than the capacity       remount, then raise the capacity of both objects
//	a PersistentVolume that is released     unmount, delete the PersistentVolume
//	a tmpfs without a claim or volume       unmount
//
// It remembers nothing, and each step can be repeated. So it can be killed at any time.
package volumes

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// retryAfter is the time from a failure to the next attempt, unless something changes before.
const retryAfter = time.Second

// NewCommand returns the command, which runs until it is terminated.
func NewCommand() *cobra.Command {
	var kubeconfig, node, dir string
	command := &cobra.Command{
		Use:          "volume-provisioner",
		Short:        "Provision, expand and delete the local volumes of one node",
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE: func(command *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(command.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			return run(ctx, kubeconfig, node, folder(dir))
		},
	}
	command.Flags().StringVar(&kubeconfig, "kubeconfig", "", "path of the kubeconfig")
	command.Flags().StringVar(&node, "node", "", "name of this node")
	command.Flags().StringVar(&dir, "dir", "", "directory below which the volumes are mounted")
	return command
}

func run(ctx context.Context, kubeconfig, node string, dir folder) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1 // no limit
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(string(dir), 0o755); err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	core := factory.Core().V1()
	changed := make(chan struct{}, 1)
	for _, informer := range []cache.SharedIndexInformer{core.PersistentVolumeClaims().Informer(), core.PersistentVolumes().Informer()} {
		if _, err := informer.AddEventHandler(notify(changed)); err != nil {
			return err
		}
	}
	p := &provisioner{
		node: node, dir: dir, client: client,
		claims: core.PersistentVolumeClaims().Lister(), existing: core.PersistentVolumes().Lister(),
	}
	factory.Start(ctx.Done())
	for _, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced { // Without complete lists, every volume seems to be superfluous.
			return context.Cause(ctx)
		}
	}
	p.keepReconciling(ctx, changed)
	return nil
}

// notify returns a handler that sends to a channel with room for one message: several changes
// need only one pass.
func notify(changed chan<- struct{}) cache.ResourceEventHandler {
	send := func(any) {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	return cache.ResourceEventHandlerFuncs{AddFunc: send, UpdateFunc: func(_, after any) { send(after) }, DeleteFunc: send}
}

// provisioner provisions the volumes of one node.
type provisioner struct {
	node     string
	dir      folder
	client   kubernetes.Interface
	claims   corev1listers.PersistentVolumeClaimLister
	existing corev1listers.PersistentVolumeLister
}

func (p *provisioner) keepReconciling(ctx context.Context, changed <-chan struct{}) {
	// The first pass finds what a previous program has left, also if there are no objects.
	for retry := time.After(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-retry:
		}
		retry = nil
		if err := p.reconcile(ctx); err != nil {
			log.Print(err)
			retry = time.After(retryAfter)
		}
	}
}

// reconcile makes one pass. What fails for one volume does not affect the others.
func (p *provisioner) reconcile(ctx context.Context) error {
	claims, claimsErr := p.claims.List(labels.Everything())
	existing, existingErr := p.existing.List(labels.Everything())
	entries, err := os.ReadDir(string(p.dir))
	if err := errors.Join(claimsErr, existingErr, err); err != nil {
		return err
	}
	plan := newPlan(p.node, claims, existing)
	var failures []error
	for _, v := range plan.keep {
		failures = append(failures, p.update(ctx, v))
	}
	for _, entry := range entries {
		if !slices.ContainsFunc(plan.keep, func(v volume) bool { return v.name == entry.Name() }) {
			failures = append(failures, p.dir.remove(entry.Name()))
		}
	}
	for _, name := range plan.remove {
		failures = append(failures, p.delete(ctx, name))
	}
	return errors.Join(failures...)
}

// update makes the tmpfs as large as it should be before it reports so.
func (p *provisioner) update(ctx context.Context, v volume) error {
	if err := p.dir.ensure(v.name, v.size.Value()); err != nil {
		return err
	}
	core := p.client.CoreV1()
	if v.create {
		log.Printf("creating %s of %s for %s/%s", v.name, &v.size, v.claim.Namespace, v.claim.Name)
		_, err := core.PersistentVolumes().Create(ctx, newPersistentVolume(v, p.node, p.dir.path(v.name)), metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) { // The lists may be older than the last pass.
			return err
		}
	}
	if v.raise {
		log.Printf("expanding %s to %s", v.name, &v.size)
		patch := fmt.Appendf(nil, `{"spec":{"capacity":{"storage":%q}}}`, &v.size)
		if _, err := core.PersistentVolumes().Patch(ctx, v.name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	if v.report {
		patch := fmt.Appendf(nil, `{"metadata":{"uid":%q},"status":{"capacity":{"storage":%q}}}`, v.claim.UID, &v.size)
		_, err := core.PersistentVolumeClaims(v.claim.Namespace).Patch(ctx, v.claim.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
		return err
	}
	return nil
}

// delete deletes a volume's tmpfs, and then its PersistentVolume.
func (p *provisioner) delete(ctx context.Context, name string) error {
	if err := p.dir.remove(name); err != nil {
		return err
	}
	log.Printf("deleting %s", name)
	if err := p.client.CoreV1().PersistentVolumes().Delete(ctx, name, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}
