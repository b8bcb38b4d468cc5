package outcome

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/plan"
	"example.com/nginx-operator/internal/backup/snapshot"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func aBackup() *v1alpha1.NginxBackup {
	return &v1alpha1.NginxBackup{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web-1", Generation: 1,
			Annotations: map[string]string{v1alpha1.AnnotationReason: strings.Repeat("because ", 500)},
		},
		Spec: v1alpha1.NginxBackupSpec{
			Target:      v1alpha1.TargetReference{Name: "web"},
			Destination: v1alpha1.Destination{URL: "s3://backups/nginx?region=eu-central-1"},
		},
	}
}

func aSnapshot() snapshot.Snapshot {
	s := snapshot.Snapshot{
		Info: archive.Info{
			TakenAt: now, Image: "nginx:1.30", ImageDigest: "sha256:1", ConfigRevision: "r2", ServedRevision: "r1",
			Application: archive.Application{UID: "web-uid", Generation: 7},
		},
		State:      snapshot.Fingerprint{Change: "abc", Replicas: 3},
		Volumes:    []snapshot.Volume{{Claim: "films"}},
		Secrets:    []snapshot.Secret{{Name: "gone"}, {Name: "shop-tls"}},
		Recipients: []string{"age1x"},
		ConfigMaps: []string{"conf"},
		Revisions:  4,
	}
	return s
}

func aResult() job.Result {
	at := now.Add(5 * time.Second)
	return job.Result{
		Archive: "shop/web/web-1-0123/data-2.tar.gz", Size: 5 << 20, SHA256: "ab12", Missing: []string{"gone"},
		Skipped: []string{"content/0/current (link that leaves the volume)"},
		Totals:  &archive.Totals{Files: 12, Bytes: 9 << 20, Skipped: 1}, CompletedAt: &at,
	}
}

func TestCompleted(t *testing.T) {
	s := aSnapshot()
	got := Completed(aBackup(), &s, aResult())
	conditions := got.Conditions
	got.Conditions, got.Reason = nil, ""
	want := v1alpha1.NginxBackupStatus{
		ObservedGeneration: 1,
		Source: &v1alpha1.BackupSource{
			UID: "web-uid", Generation: 7, State: "abc", Replicas: 3, ConfigRevision: "r2", ServedRevision: "r1", Image: "nginx:1.30", ImageDigest: "sha256:1",
		},
		Location: "s3://backups/nginx/shop/web/web-1-0123/data-2.tar.gz", Size: "5Mi", SizeBytes: 5 << 20, Digest: "sha256:ab12",
		Contents: &v1alpha1.BackupContents{
			Files: 12, Bytes: 9 << 20, Skipped: 1, ConfigMaps: []string{"conf"}, Claims: []string{"films"}, Revisions: 4,
			Secrets: []string{"gone", "shop-tls"}, EncryptedSecrets: []string{"shop-tls"},
		},
		StartTime: new(metav1.NewTime(now)), CompletionTime: new(metav1.NewTime(now.Add(5 * time.Second))),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, condition := range []string{v1alpha1.ConditionCompleted, v1alpha1.ConditionVerified} {
		if !meta.IsStatusConditionTrue(conditions, condition) {
			t.Errorf("%s is not True", condition)
		}
	}
	if message := conditions[0].Message; !strings.Contains(message, "do not exist: gone") {
		t.Errorf("the message does not name the missing Secret: %s", message)
	}
}

// TestLeftOut: the status lists everything that the archive does not have, and the condition names what may hold data.
func TestLeftOut(t *testing.T) {
	s := aSnapshot()
	s.Info.LeftOut = []archive.LeftOut{
		{Kind: "PersistentVolumeClaim", Name: "cache", Reason: "Excluded"}, {Kind: "EmptyDir", Name: "scratch", Reason: "Ephemeral"}, {Kind: "CSI", Name: "share", Reason: "External"},
	}
	status := Completed(aBackup(), &s, aResult())
	want := []v1alpha1.LeftOut{
		{Kind: "PersistentVolumeClaim", Name: "cache", Reason: v1alpha1.LeftOutExcluded}, {Kind: "EmptyDir", Name: "scratch", Reason: v1alpha1.LeftOutEphemeral},
		{Kind: "CSI", Name: "share", Reason: v1alpha1.LeftOutExternal},
	}
	if diff := cmp.Diff(want, status.Contents.LeftOut); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	says(t, status.Conditions, v1alpha1.ConditionCompleted, "True", v1alpha1.ReasonCompleted, ". Not in the backup: PersistentVolumeClaim cache (Excluded), CSI share (External)")
	for i := range 20 {
		s.Info.LeftOut = append(s.Info.LeftOut, archive.LeftOut{Kind: "CSI", Name: fmt.Sprintf("share-%d", i), Reason: "External"})
	}
	says(t, Completed(aBackup(), &s, aResult()).Conditions, v1alpha1.ConditionCompleted, "True", v1alpha1.ReasonCompleted, "CSI share-7 (External) and 12 more")
}

// TestStatusFits: the status always stays within the bounds of the API.
func TestStatusFits(t *testing.T) {
	s := aSnapshot()
	for i := range 500 {
		name := fmt.Sprintf("name-%d", i)
		s.ConfigMaps = append(s.ConfigMaps, name)
		s.Secrets = append(s.Secrets, snapshot.Secret{Name: name})
		s.Volumes = append(s.Volumes, snapshot.Volume{Claim: name})
		s.Info.LeftOut = append(s.Info.LeftOut, archive.LeftOut{Kind: "CSI", Name: strings.Repeat("a", 13*i), Reason: "External"}, archive.LeftOut{Kind: "CSI", Name: name, Reason: strings.Repeat("b", i)})
	}
	status := Completed(aBackup(), &s, aResult())
	if c := status.Contents; len(c.ConfigMaps) > 64 || len(c.Secrets) > 256 || len(c.EncryptedSecrets) > 256 || len(c.Claims) > 64 || len(c.LeftOut) > 64 || len(status.Reason) > 1024 {
		t.Errorf("%d ConfigMaps, %d Secrets, %d encrypted, %d claims, a reason of %d bytes",
			len(c.ConfigMaps), len(c.Secrets), len(c.EncryptedSecrets), len(c.Claims), len(status.Reason))
	}
}

func TestCompletedWithoutSnapshot(t *testing.T) {
	before := aBackup()
	before.Status = Recorded(before, aSnapshot(), v1alpha1.ReasonInProgress, "it is being written")
	status := Completed(before, nil, aResult())
	if status.Source == nil || status.Source.State != "abc" || !meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionCompleted) {
		t.Errorf("what was recorded is lost: %+v", status)
	}
}

func TestFailing(t *testing.T) {
	b := aBackup()
	if Failing(b) != nil {
		t.Error("a new backup fails")
	}
	b.Status = Unfinished(b, v1alpha1.ReasonInProgress, "it is being written")
	if Failing(b) != nil {
		t.Error("a backup under way fails")
	}
	b.Status = Unfinished(b, v1alpha1.ReasonStoreDenied, "wrong key")
	if c := Failing(b); c == nil || c.Message != "wrong key" {
		t.Errorf("it fails with %+v", c)
	}
	b.Status = Completed(b, nil, aResult())
	if Failing(b) != nil {
		t.Error("a completed backup fails")
	}
}

func TestRounded(t *testing.T) {
	for size, want := range map[int64]int64{0: 0, 9999: 9999, 10_000: 10 << 10, 1<<20 + 1: 1025 << 10, 999 << 20: 999 << 20, 5 << 40: 5 << 40} {
		if got := rounded(size); got != want {
			t.Errorf("%d is rounded to %d, want %d", size, got, want)
		}
	}
}

func TestOfPolicy(t *testing.T) {
	policy := func(change ...func(*v1alpha1.NginxBackupPolicySpec)) *v1alpha1.NginxBackupPolicy {
		p := &v1alpha1.NginxBackupPolicy{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Spec: v1alpha1.NginxBackupPolicySpec{
			Triggers:    v1alpha1.Triggers{Change: &v1alpha1.ChangeTrigger{}},
			Destination: aBackup().Spec.Destination,
		}}
		for _, c := range change {
			c(&p.Spec)
		}
		return p
	}
	target := plan.Target{Nginx: &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, State: snapshot.Fingerprint{Change: "abc", Replicas: 3}}
	s := aSnapshot()
	good := aBackup()
	good.Status = Completed(good, &s, aResult())
	old := good.DeepCopy()
	old.Status.Source.State = "another"
	denied := aBackup()
	denied.Status = Unfinished(denied, v1alpha1.ReasonStoreDenied, "wrong key")
	gated := func(s *v1alpha1.NginxBackupPolicySpec) {
		s.Triggers = v1alpha1.Triggers{BeforeRollout: &v1alpha1.BeforeRolloutTrigger{Gate: "backup"}}
	}
	held := plan.Target{Nginx: &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Name: "web"}}}
	held.Nginx.Spec.Rollout = &v1alpha2.Rollout{Gates: []string{"backup"}}
	held.Nginx.Status.WaitingRollout = &v1alpha2.WaitingRollout{Revision: "r2", Gates: []string{"backup"}, Since: metav1.Now()}
	tests := []struct {
		name    string
		policy  *v1alpha1.NginxBackupPolicy
		targets []plan.Target
		backups []*v1alpha1.NginxBackup
		status  metav1.ConditionStatus
		reason  string
		message string
	}{
		{"as it should be", policy(), []plan.Target{target}, []*v1alpha1.NginxBackup{good}, "True", v1alpha1.ReasonUpToDate, ""},
		{"no backup yet", policy(), []plan.Target{target}, nil, "False", v1alpha1.ReasonBackupPending, "1 of 1"},
		{"an old backup", policy(), []plan.Target{target}, []*v1alpha1.NginxBackup{old}, "False", v1alpha1.ReasonBackupPending, "1 of 1"},
		{"failing", policy(), []plan.Target{target}, []*v1alpha1.NginxBackup{good, denied}, "False", v1alpha1.ReasonBackupFailing, "web: StoreDenied: wrong key"},
		{"rollouts do not wait", policy(gated), []plan.Target{target}, nil, "False", v1alpha1.ReasonGateNotDeclared, "Rollouts of web do not wait for a backup: add backup to spec.rollout.gates"},
		{"a rollout waits", policy(gated), []plan.Target{held}, nil, "False", v1alpha1.ReasonBackupPending, "1 of 1"},
		{"a rollout waits for what fails", policy(gated), []plan.Target{held}, []*v1alpha1.NginxBackup{denied}, "False", v1alpha1.ReasonBackupFailing,
			"web, whose rollout waits for a backup: StoreDenied: wrong key"},
		{"no targets", policy(), nil, []*v1alpha1.NginxBackup{good}, "False", v1alpha1.ReasonNoTargets, "selector"},
		{"no such target", policy(func(s *v1alpha1.NginxBackupPolicySpec) { s.Target = &v1alpha1.TargetReference{Name: "shop"} }), nil, nil, "False", v1alpha1.ReasonNoTargets, "NginxOperator shop"},
		{"suspended", policy(func(s *v1alpha1.NginxBackupPolicySpec) { s.Suspend = new(true) }), []plan.Target{target}, nil, "False", v1alpha1.ReasonSuspended, "spec.suspend"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status := OfPolicy(tt.policy, tt.targets, tt.backups)
			c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
			if c == nil || c.Status != tt.status || c.Reason != tt.reason || !strings.Contains(c.Message, tt.message) {
				t.Errorf("Ready is %+v", c)
			}
			if int(status.Targets) != len(tt.targets) || status.ObservedGeneration != 2 {
				t.Errorf("%d targets, generation %d", status.Targets, status.ObservedGeneration)
			}
		})
	}
	bad := Refused(policy(), v1alpha1.ReasonScheduleInvalid, "no such day")
	if meta.IsStatusConditionTrue(bad.Conditions, v1alpha1.ConditionAccepted) || meta.IsStatusConditionTrue(bad.Conditions, v1alpha1.ConditionReady) {
		t.Error("a policy that cannot be understood is accepted")
	}
}
