package scale

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/test/internal/audit"
	"example.com/nginx-operator/test/internal/bare"
	"example.com/nginx-operator/test/internal/process"
	"example.com/nginx-operator/test/testenv"
)

// plane is a bare control plane for an operator.
type plane struct {
	*testenv.ControlPlane
	dir string
	// watching is an administrator's client.
	watching client.WithWatch
	// account is the configuration of a client with the operator's account.
	account *rest.Config
	log     audit.Log
}

func startPlane(ctx context.Context, namespaces ...string) (*plane, error) {
	dir, err := os.MkdirTemp("", "scale-")
	if err != nil {
		return nil, err
	}
	cp, err := testenv.Start(dir, testenv.Audited)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	p := &plane{ControlPlane: cp, dir: dir, log: audit.Log{Path: cp.AuditLog}}
	if err := p.prepare(ctx, namespaces); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}

// prepare installs what an operator needs.
func (p *plane) prepare(ctx context.Context, namespaces []string) (err error) {
	if err := p.InstallCRD(ctx, 0); err != nil {
		return err
	}
	if p.account, err = process.CreateAccount(ctx, p.ControlPlane); err != nil {
		return err
	}
	if err := process.WriteKubeconfig(p.account, p.kubeconfig()); err != nil {
		return err
	}
	for _, name := range namespaces {
		if err := p.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return err
		}
	}
	p.watching, err = client.NewWithWatch(p.Config, client.Options{Scheme: p.Client.Scheme()})
	return err
}

// kubeconfig returns the path of the kubeconfig for the operator's account.
func (p *plane) kubeconfig() string { return filepath.Join(p.dir, "operator.kubeconfig") }

func (p *plane) stop() error { return errors.Join(p.Stop(), os.RemoveAll(p.dir)) }

// check checks that all objects of all applications exist: missing ones would make the operator
// seem fast.
func (b *bench) check(ctx context.Context, template *bare.Template) error {
	want := map[string]int{}
	for _, kind := range template.Kinds() {
		want[kind.Name] += b.Objects
	}
	for _, kind := range template.Kinds() {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GVK)
		err := b.plane.Client.List(ctx, list, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: naming.OwnedSelector()})
		if err != nil {
			return err
		}
		if len(list.Items) != want[kind.Name] {
			return fmt.Errorf("there are %d objects of kind %s, not %d", len(list.Items), kind.Name, want[kind.Name])
		}
	}
	return nil
}

func merge(patch string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(patch)) }
