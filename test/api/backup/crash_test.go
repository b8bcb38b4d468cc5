package backup

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/test/internal/part"
	"example.com/nginx-operator/test/standin"
)

// scenario is a process that takes an operator several writes.
type scenario struct {
	// prepare creates the initial state, and begin starts the process.
	prepare, begin func(*bench)
	// backups is the number of backups at its end.
	backups int
	// also checks further results, if not nil.
	also func(*bench) error
}

// firstBackup is a backup by a policy, from its creation to the cleanup after it. The snapshot
// needs two ConfigMaps.
var firstBackup = scenario{
	prepare: func(b *bench) {
		b.largeConfigMap("large")
		b.application("web", v1alpha2.NginxOperatorSpec{Content: []v1alpha2.Content{
			{MountPath: "/srv", ConfigMap: &v1alpha2.ConfigMapReference{Name: "large"}},
		}})
	},
	begin:   func(b *bench) { b.policy(keepLast(2)) },
	backups: 1,
}

// expiry is the end of a backup that retention does not keep.
var expiry = scenario{
	prepare: func(b *bench) {
		nginx := b.application("web", v1alpha2.NginxOperatorSpec{})
		b.policy(keepLast(2))
		b.waitBackups(1)
		edit(b, nginx, func(nginx *v1alpha2.NginxOperator) { nginx.Spec.Replicas = new(int32(2)) })
		b.waitBackups(2)
		b.settled()
	},
	begin: func(b *bench) {
		policy := &v1alpha1.NginxBackupPolicy{}
		policy.Namespace, policy.Name = b.namespace, "all"
		edit(b, policy, func(policy *v1alpha1.NginxBackupPolicy) { policy.Spec.Retention.KeepLast = new(int32(1)) })
	},
	backups: 1,
}

// beforeRollout is a backup that a rollout waits for, and the opening of the gate.
var beforeRollout = scenario{
	prepare: func(b *bench) {
		b.application("web", gated)
		b.policy(beforeRollouts)
		b.settled()
	},
	begin: func(b *bench) {
		nginx := &v1alpha2.NginxOperator{}
		nginx.Namespace, nginx.Name = b.namespace, "web"
		b.wait(nginx, "r1")
	},
	backups: 1,
	also: func(b *bench) error {
		if got := b.opened("web"); got != "r1" {
			return fmt.Errorf("the gate is open for %q", got)
		}
		return nil
	},
}

// discovery is a policy that finds a store with backups.
var discovery = scenario{
	prepare: func(b *bench) {
		expiry.prepare(b)
		b.forget()
	},
	begin:   func(b *bench) { b.policy(keepLast(2), settle(5)) },
	backups: 2,
}

// TestKilledAtEachWrite: the next operator always reaches the same end if an operator is killed at
// its k-th write, for every k, before the write is sent or after it was carried out but before the
// response arrives.
func TestKilledAtEachWrite(t *testing.T) {
	t.Parallel()
	var cases atomic.Int64
	t.Run("cases", func(t *testing.T) {
		for name, s := range map[string]scenario{"first backup": firstBackup, "expiry": expiry, "before a rollout": beforeRollout, "discovery": discovery} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				n := s.undisturbed(t)
				t.Logf("it takes %d writes", n)
				for k := range part.Selected().Positions() {
					if k > n {
						break
					}
					for _, sent := range []bool{false, true} {
						t.Run(fmt.Sprintf("write %d sent %v", k, sent), func(t *testing.T) {
							t.Parallel()
							if s.killedAt(t, k, sent) {
								cases.Add(1)
							}
						})
					}
				}
			})
		}
	})
	t.Logf("the operator was killed %d times", cases.Load())
}

// undisturbed returns how many writes an operator needs that is not killed.
func (s scenario) undisturbed(t *testing.T) int64 {
	t.Helper()
	b := newBench(t)
	s.prepare(b)
	before := len(b.operator.wrote())
	s.begin(b)
	s.end(b)
	return int64(len(b.operator.wrote()) - before)
}

// killedAt kills the operator at its k-th write. It returns false if there was no such write: the
// number varies a little, because simultaneous changes are reported in one write.
func (s scenario) killedAt(t *testing.T, k int64, sent bool) bool {
	t.Helper()
	b := newBench(t)
	s.prepare(b)
	d := &death{at: k, sent: sent}
	b.operator.death.Store(d)
	s.begin(b)
	b.eventually("killed or done", func() error {
		if d.happened.Load() || s.over(b) == nil {
			return nil
		}
		return fmt.Errorf("under way")
	})
	if !d.happened.Load() {
		b.settled()
	}
	if d.happened.Load() {
		b.restart()
	}
	s.end(b)
	return d.happened.Load()
}

// over returns an error unless the expected end is reached.
func (s scenario) over(b *bench) error {
	found := b.backups()
	if err := allGood(found); err != nil {
		return err
	}
	if left := b.left(); len(found) != s.backups || len(left) > 0 {
		return fmt.Errorf("%d backups, left: %v", len(found), left)
	}
	if s.also != nil {
		if err := s.also(b); err != nil {
			return err
		}
	}
	policy := &v1alpha1.NginxBackupPolicy{}
	if err := kube.Get(b.t.Context(), client.ObjectKey{Namespace: b.namespace, Name: "all"}, policy); err != nil {
		return err
	}
	if !meta.IsStatusConditionTrue(policy.Status.Conditions, v1alpha1.ConditionReady) || int(policy.Status.Backups) != s.backups {
		return fmt.Errorf("the policy says %+v", policy.Status)
	}
	return nil
}

// end waits until the expected end is reached, and checks that it stays so.
func (s scenario) end(b *bench) {
	b.t.Helper()
	b.eventually("everything is as it should be", func() error { return s.over(b) })
	b.settled()
	if err := s.over(b); err != nil {
		b.t.Errorf("it was as it should be, and is not any more: %v", err)
	}
	b.verify()
}

// TestAgentKilledAtEachCall: the next attempt always creates the backup and leaves nothing else, if
// the program that writes a backup is killed at its k-th request to an S3 server, for every k,
// before the request is sent or after it was carried out. In further cases, the server rejects the
// request.
//
// The connection is cut at once and for good, so nothing that the program does afterwards has an
// effect, as if it had been killed.
func TestAgentKilledAtEachCall(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.application("web", v1alpha2.NginxOperatorSpec{})
	servers := &sync.Map{}
	b.place.Fail(func(j *batchv1.Job) standin.Fate {
		server, ok := servers.Load(j.Labels[v1alpha1.LabelBackup])
		if !ok {
			return standin.Fate{}
		}
		o := server.(*objects)
		if !strings.HasSuffix(j.Name, "-c1") {
			o.revive()
			return standin.Fate{}
		}
		return standin.Fate{Cut: o.cut}
	})
	undisturbed := newObjects(t)
	b.backup("undisturbed", "web", undisturbed.url)
	b.waitBackups(1)
	requests := undisturbed.count()
	t.Logf("a backup takes %d requests", requests)
	all := map[string]*objects{"undisturbed": undisturbed}
	for k := range requests {
		for _, how := range []string{"before", "after", "refused"} {
			o := newObjects(t)
			o.at, o.sent, o.refuse = k+1, how == "after", how == "refused"
			name := fmt.Sprintf("%s-%d", how, k+1)
			servers.Store(name, o)
			all[name] = o
			b.backup(name, "web", o.url)
		}
	}
	found := b.waitBackups(1 + 3*requests)
	happened := 0
	for i := range found {
		o := all[found[i].Name]
		if o.happened {
			happened++
		}
		t.Run(found[i].Name, func(t *testing.T) {
			(&bench{t: t}).verifyFiles(found[i:i+1], o.kept())
		})
	}
	if happened != 3*requests {
		t.Errorf("%d of %d cases happened", happened, 3*requests)
	}
	t.Logf("the program was killed %d times, and refused %d times", 2*requests, requests)
}
