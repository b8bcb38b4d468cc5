package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/test/internal/audit"
	"example.com/nginx-operator/test/internal/fleet"
	"example.com/nginx-operator/test/internal/process"
	"example.com/nginx-operator/test/standin"
	"example.com/nginx-operator/test/testenv"
)

const (
	scaleNamespace = "measure-backup"
	scaleFolder    = "folder"
	// scaleObservation is the time between two polls for jobs by the stand-in for Kubernetes. It
	// limits how fast backups are made, but not how many requests they need.
	scaleObservation = 200 * time.Millisecond
	// scalePoll is the time between two checks whether everything is backed up.
	scalePoll = 2 * time.Second
)

// scaleBench is a bare control plane with a stand-in that runs jobs.
type scaleBench struct {
	session *session
	plane   *testenv.ControlPlane
	place   *standin.NodeStorage
	dir     string
	program string
	log     audit.Log
	user    string
	n       int
	starts  int
}

func newScaleBench(ctx context.Context, s *session) (*scaleBench, error) {
	dir, err := os.MkdirTemp("", "measure-backup-scale-")
	if err != nil {
		return nil, err
	}
	s.atEnd(func(context.Context) error { return os.RemoveAll(dir) })
	plane, err := testenv.Start(dir, testenv.Audited)
	if err != nil {
		return nil, err
	}
	s.atEnd(func(context.Context) error { return plane.Stop() })
	b := &scaleBench{
		session: s, plane: plane, dir: dir, log: audit.Log{Path: plane.AuditLog}, user: process.Username(), n: s.count(scaleTargets),
		place: &standin.NodeStorage{Claim: filepath.Join(dir, "claim"), Content: filepath.Join(dir, "content")},
	}
	for _, folder := range []string{b.place.Claim, b.place.Content} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			return nil, err
		}
	}
	if err := plane.InstallCRD(ctx, 0); err != nil {
		return nil, err
	}
	if err := plane.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: scaleNamespace}}); err != nil {
		return nil, err
	}
	account, err := process.CreateAccount(ctx, plane)
	if err != nil {
		return nil, err
	}
	if err := process.WriteKubeconfig(account, b.kubeconfig()); err != nil {
		return nil, err
	}
	b.standIn(ctx)
	b.program, err = process.Build(ctx, dir)
	return b, err
}

// standIn runs the stand-in until the end.
func (b *scaleBench) standIn(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	nodes := standin.New(b.plane.Client, scaleObservation)
	nodes.Add(scaleNamespace, b.place)
	ended := make(chan error, 1)
	go func() { ended <- nodes.Run(ctx) }()
	b.session.atEnd(func(context.Context) error {
		cancel()
		return <-ended
	})
}

func (b *scaleBench) kubeconfig() string { return filepath.Join(b.dir, "operator.kubeconfig") }

// start starts the operator with only the backup controllers.
func (b *scaleBench) start() (*process.Operator, error) {
	b.starts++
	return process.Command{
		Program: b.program, Kubeconfig: b.kubeconfig(), Log: filepath.Join(b.dir, fmt.Sprintf("operator-%d.log", b.starts)),
		Arguments: process.Arguments("--controllers=backup", "--conversion-webhook=false", "--metrics-bind-address=0"),
	}.Start()
}

// createPolicy creates a policy with default settings that backs up all applications in the
// namespace.
func (b *scaleBench) createPolicy(ctx context.Context) error {
	return b.plane.Client.Create(ctx, &v1alpha1.NginxBackupPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: scaleNamespace, Name: "all"},
		Spec: v1alpha1.NginxBackupPolicySpec{
			Selector:    &metav1.LabelSelector{},
			Triggers:    v1alpha1.Triggers{Change: &v1alpha1.ChangeTrigger{}, Scale: &v1alpha1.ChangeTrigger{}},
			Destination: v1alpha1.Destination{URL: "pvc://backups/" + scaleFolder},
		},
	})
}

// change makes the changes of each application one after the other, and changes several
// applications at the same time.
func (b *scaleBench) change(ctx context.Context) error {
	return fleet.Each(ctx, b.n, func(i int) error {
		for change := range scaleChanges {
			patch := fmt.Sprintf(`{"spec":{"forceRedeploy":"change %d"}}`, change)
			if change%2 == 1 {
				patch = fmt.Sprintf(`{"spec":{"replicas":%d}}`, change+1)
			}
			if err := b.plane.Client.Patch(ctx, fleet.Object(scaleNamespace, i), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
				return err
			}
		}
		return nil
	})
}

// await waits until every application's current state is backed up, and the objects of all jobs are
// deleted.
func (b *scaleBench) await(ctx context.Context) error {
	for {
		left, err := b.left(ctx)
		if err != nil || left == "" {
			return err
		}
		if err := pause(ctx, scalePoll); err != nil {
			return errors.Join(err, errors.New(left))
		}
	}
}

func (b *scaleBench) backups(ctx context.Context) ([]v1alpha1.NginxBackup, error) {
	list := &v1alpha1.NginxBackupList{}
	err := b.plane.Client.List(ctx, list, client.InNamespace(scaleNamespace))
	return list.Items, err
}

func (b *scaleBench) applications(ctx context.Context) ([]v1alpha2.NginxOperator, error) {
	list := &v1alpha2.NginxOperatorList{}
	err := b.plane.Client.List(ctx, list, client.InNamespace(scaleNamespace))
	return list.Items, err
}
