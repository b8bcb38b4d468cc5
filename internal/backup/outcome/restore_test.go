package outcome

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/restoration"
)

func aRestore(change ...func(*v1alpha1.NginxRestoreSpec)) *v1alpha1.NginxRestore {
	r := &v1alpha1.NginxRestore{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "back", Generation: 1},
		Spec: v1alpha1.NginxRestoreSpec{
			Backup:     &v1alpha1.BackupReference{Name: "web-1"},
			Items:      []v1alpha1.RestoreItem{v1alpha1.RestoreSpec, v1alpha1.RestoreConfiguration, v1alpha1.RestoreContent},
			OnConflict: v1alpha1.ConflictRefuse,
		},
	}
	for _, c := range change {
		c(&r.Spec)
	}
	return r
}

func dry(spec *v1alpha1.NginxRestoreSpec)       { spec.DryRun = new(true) }
func overwrite(spec *v1alpha1.NginxRestoreSpec) { spec.OnConflict = v1alpha1.ConflictOverwrite }
func contentAlone(spec *v1alpha1.NginxRestoreSpec) {
	spec.Items = []v1alpha1.RestoreItem{v1alpha1.RestoreContent}
}
func specAlone(spec *v1alpha1.NginxRestoreSpec) {
	spec.Items = []v1alpha1.RestoreItem{v1alpha1.RestoreSpec}
}

func contentSummary() restoration.Backup {
	return restoration.Backup{
		Info: archive.Info{
			Image: "nginx:1.30", ImageDigest: "sha256:1", ConfigRevision: "r2", ServedRevision: "r1",
			Application: archive.Application{Name: "web", UID: "web-uid", Generation: 7},
			Secrets:     []archive.Secret{{Name: "shop-tls"}, {Name: "users"}},
		},
		Nginx: &v1alpha2.NginxOperator{Spec: v1alpha2.NginxOperatorSpec{Replicas: new(int32(3))}},
	}
}

func changes(actions ...string) []v1alpha1.RestoreChange {
	var all []v1alpha1.RestoreChange
	for i, action := range actions {
		all = append(all, v1alpha1.RestoreChange{Kind: "ConfigMap", Name: fmt.Sprint(i), Action: action})
	}
	return all
}

func TestRestored(t *testing.T) {
	plan := restoration.Plan{Changes: changes("Create", "Create", "Replace", "None")}
	status := Restored(aRestore(), "new", contentSummary(), plan, now.Add(time.Millisecond))
	conditions := status.Conditions
	status.Conditions = nil
	want := v1alpha1.NginxRestoreStatus{
		ObservedGeneration: 1, Target: "new", Changes: plan.Changes, Secrets: []string{"shop-tls", "users"}, CompletionTime: new(metav1.NewTime(now)),
		Source: &v1alpha1.BackupSource{
			UID: "web-uid", Generation: 7, Replicas: 3, ConfigRevision: "r2", ServedRevision: "r1", Image: "nginx:1.30", ImageDigest: "sha256:1",
		},
	}
	if diff := cmp.Diff(want, status); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	says(t, conditions, v1alpha1.ConditionCompleted, "True", v1alpha1.ReasonCompleted,
		"2 created, 1 replaced, 1 unchanged. Secrets are not restored; check that they exist: shop-tls, users")
	says(t, conditions, v1alpha1.ConditionVerified, "Unknown", v1alpha1.ReasonNotVerified, "has not reported its configuration yet")
}

// TestFilesNotInBackup: a restore names the claims whose files the backup does not have. It is not Verified if the backup
// itself does not say so, and stays so when the application is Ready.
func TestFilesNotInBackup(t *testing.T) {
	r := aRestore()
	r.Status = Restored(r, "web", contentSummary(), restoration.Plan{NotInBackup: []string{"cache"}}, now)
	says(t, r.Status.Conditions, v1alpha1.ConditionCompleted, "True", v1alpha1.ReasonCompleted, "0 unchanged. The backup does not contain the files of PersistentVolumeClaim cache. Secrets")
	says(t, r.Status.Conditions, v1alpha1.ConditionVerified, "Unknown", v1alpha1.ReasonNotVerified, "")
	r.Status = Restored(r, "web", contentSummary(), restoration.Plan{NotInBackup: []string{"cache"}, Forgotten: []string{"uploads"}}, now)
	says(t, r.Status.Conditions, v1alpha1.ConditionCompleted, "True", v1alpha1.ReasonCompleted, "PersistentVolumeClaim uploads, cache")
	says(t, r.Status.Conditions, v1alpha1.ConditionVerified, "False", v1alpha1.ReasonFilesNotInBackup, "uploads")
	r.Status, _ = Verified(r, nil, now.Add(time.Minute))
	says(t, r.Status.Conditions, v1alpha1.ConditionVerified, "False", v1alpha1.ReasonFilesNotInBackup, "uploads")
	r = aRestore(dry)
	r.Status = Restored(r, "web", contentSummary(), restoration.Plan{Forgotten: []string{"uploads"}}, now)
	says(t, r.Status.Conditions, v1alpha1.ConditionCompleted, "True", v1alpha1.ReasonDryRun, "The backup does not contain the files of PersistentVolumeClaim uploads")
}

func says(t *testing.T, conditions []metav1.Condition, condition string, status metav1.ConditionStatus, reason, words string) {
	t.Helper()
	c := meta.FindStatusCondition(conditions, condition)
	if c == nil || c.Status != status || c.Reason != reason || !strings.Contains(c.Message, words) {
		t.Errorf("%s is %+v, want %s %s: %s", condition, c, status, reason, words)
	}
}

func TestForeseen(t *testing.T) {
	plan := restoration.Plan{Changes: changes("Create", "Replace"), Conflicts: []string{"ConfigMap 1"}}
	status := Restored(aRestore(dry), "web", contentSummary(), plan, now)
	says(t, status.Conditions, v1alpha1.ConditionCompleted, "True", v1alpha1.ReasonDryRun, "Nothing was changed. A restore would change: 1 created, 1 replaced, 0 unchanged. It would be rejected, since these exist with other content: ConfigMap 1")
	says(t, status.Conditions, v1alpha1.ConditionVerified, "Unknown", v1alpha1.ReasonNotVerified, "dry run")
	status = Restored(aRestore(dry, overwrite), "web", contentSummary(), plan, now)
	if c := status.Conditions[0]; strings.Contains(c.Message, "refused") {
		t.Errorf("what may be overwritten is said to be refused: %s", c.Message)
	}
	plan.Blocked = []string{"PersistentVolumeClaim films"}
	status = Restored(aRestore(dry, overwrite), "web", contentSummary(), plan, now)
	says(t, status.Conditions, v1alpha1.ConditionCompleted, "True", v1alpha1.ReasonDryRun, "It would be rejected, since there are directories in place of files: PersistentVolumeClaim films")
}

func TestConflict(t *testing.T) {
	for begun, want := range map[bool]string{false: "Nothing was changed", true: "The restore is incomplete"} {
		if got := Conflict([]string{"ConfigMap a", "NginxOperator b"}, begun); !strings.HasPrefix(got, want) || !strings.Contains(got, ": ConfigMap a, NginxOperator b. To replace them") {
			t.Errorf("begun %v: %s", begun, got)
		}
	}
}

// TestChangesStay: the status keeps the changes that were found before the first change, even if
// the operator starts again and finds fewer.
func TestChangesStay(t *testing.T) {
	for _, n := range []int{3, 64, 70} {
		r := aRestore()
		first, again := changes(slices.Repeat([]string{"Create"}, n)...), changes(slices.Repeat([]string{"None"}, n)...)
		r.Status = Planned(r, "web", contentSummary(), first, v1alpha1.ReasonInProgress, "")
		r.Status = Restored(r, "web", contentSummary(), restoration.Plan{Changes: again}, now)
		if r.Status.Changes[0].Action != "Create" || len(r.Status.Changes) > 64 {
			t.Errorf("of %d changes %d are told, %+v first", n, len(r.Status.Changes), r.Status.Changes[0])
		}
	}
	r := aRestore()
	r.Status = Planned(r, "web", contentSummary(), changes("Create"), v1alpha1.ReasonInProgress, "")
	if r.Status = Restored(r, "web", contentSummary(), restoration.Plan{Changes: changes("None", "Create")}, now); len(r.Status.Changes) != 2 {
		t.Errorf("what became of volumes is not told: %+v", r.Status.Changes)
	}
}

// TestRestoreFits: the status stays within the bounds of the API, whatever the archive holds.
func TestRestoreFits(t *testing.T) {
	b := contentSummary()
	long := strings.Repeat("ä", 2000)
	b.Info.Application.UID, b.Info.ConfigRevision, b.Info.ServedRevision, b.Info.Image, b.Info.ImageDigest = long, long, long, long, long
	b.Info.Secrets = nil
	for range 1000 {
		b.Info.Secrets = append(b.Info.Secrets, archive.Secret{Name: strings.Repeat("s", 253)})
	}
	plan := restoration.Plan{Changes: changes(slices.Repeat([]string{"Replace"}, 500)...), Conflicts: slices.Repeat([]string{long}, 20)}
	for i := range plan.Changes {
		plan.Changes[i].Difference = long
	}
	status := Restored(aRestore(dry), "web", b, plan, now)
	source := status.Source
	for _, tt := range []struct {
		field string
		text  string
		most  int
	}{
		{"uid", source.UID, 64},
		{"configRevision", source.ConfigRevision, 64},
		{"servedRevision", source.ServedRevision, 64},
		{"image", source.Image, 512},
		{"imageDigest", source.ImageDigest, 512},
		{"difference", status.Changes[0].Difference, 1024},
		{"message", status.Conditions[0].Message, 32768},
	} {
		if n := utf8.RuneCountInString(tt.text); n > tt.most || n == 0 || !utf8.ValidString(tt.text) {
			t.Errorf("%s has %d characters, %d are possible", tt.field, n, tt.most)
		}
	}
	if len(status.Secrets) != 256 || len(status.Changes) != 64 {
		t.Errorf("%d Secrets, %d changes", len(status.Secrets), len(status.Changes))
	}
}

func TestOver(t *testing.T) {
	for reason, want := range map[string]bool{
		v1alpha1.ReasonDestinationInvalid: true, v1alpha1.ReasonDamaged: true, v1alpha1.ReasonNotUsable: true, v1alpha1.ReasonConflict: true,
		v1alpha1.ReasonInProgress: false, v1alpha1.ReasonBackupNotFound: false, v1alpha1.ReasonBackupNotCompleted: false,
		v1alpha1.ReasonStoreDenied: false, v1alpha1.ReasonWriteRefused: false, v1alpha1.ReasonTargetDeleting: false, v1alpha1.ReasonJobFailed: false,
	} {
		r := aRestore()
		r.Status = Unrestored(r, reason, "")
		if RestoreFinished(r) != want || Unproven(r, now) || Waits(r) != (reason == v1alpha1.ReasonTargetDeleting) {
			t.Errorf("%s: over %v, unproven %v, waits %v", reason, RestoreFinished(r), Unproven(r, now), Waits(r))
		}
		says(t, r.Status.Conditions, v1alpha1.ConditionVerified, "Unknown", v1alpha1.ReasonNotVerified, "The restore is not complete")
	}
	if r := aRestore(); RestoreFinished(r) || Unproven(r, now) || Waits(r) {
		t.Error("a new restore is over, or waits")
	}
	r := aRestore()
	r.Status = Restored(r, "web", contentSummary(), restoration.Plan{}, now)
	if !RestoreFinished(r) || !Unproven(r, now) {
		t.Error("a completed restore is not over, or proven")
	}
	r = aRestore(dry)
	r.Status = Restored(r, "web", contentSummary(), restoration.Plan{}, now)
	if !RestoreFinished(r) || Unproven(r, now) {
		t.Error("a dry run is not over, or unproven")
	}
}

func TestVerified(t *testing.T) {
	serving := func(revision string, change ...func(*v1alpha2.NginxOperator)) *v1alpha2.NginxOperator {
		nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
		nginx.Status.Config = &v1alpha2.ConfigStatus{StableRevision: revision}
		nginx.Status.Conditions = []metav1.Condition{{Type: v1alpha2.ConditionReady, Status: "True", Reason: "Ready", ObservedGeneration: 2}}
		for _, c := range change {
			c(nginx)
		}
		return nginx
	}
	older := func(nginx *v1alpha2.NginxOperator) { nginx.Generation = 3 }
	crashing := func(nginx *v1alpha2.NginxOperator) {
		nginx.Status.Conditions[0].Status, nginx.Status.Conditions[0].Reason, nginx.Status.Conditions[0].Message = "False", "Unavailable", "no pod serves"
	}
	silent := func(nginx *v1alpha2.NginxOperator) { nginx.Status = v1alpha2.NginxOperatorStatus{} }
	notServed := contentSummary()
	notServed.Info.ServedRevision = ""
	unknown := contentSummary()
	unknown.Info.ConfigRevision, unknown.Info.ServedRevision = "", ""
	tests := []struct {
		name    string
		restore *v1alpha1.NginxRestore
		backup  restoration.Backup
		nginx   *v1alpha2.NginxOperator
		status  metav1.ConditionStatus
		reason  string
		words   string
	}{
		{"serves it", aRestore(), contentSummary(), serving("r1"), "True", v1alpha1.ReasonVerified, "r1"},
		{"nothing was served", aRestore(), notServed, serving("r2"), "True", v1alpha1.ReasonVerified, "r2"},
		{"serves another", aRestore(), contentSummary(), serving("r9"), "False", v1alpha1.ReasonServesAnother, "serves configuration r9. The backup contains r2 and r1"},
		{"serves what was being rolled out", aRestore(), contentSummary(), serving("r2"), "True", v1alpha1.ReasonVerified, "r2"},
		{"nothing was known yet", aRestore(), unknown, serving("r9"), "True", v1alpha1.ReasonVerified, "r9"},
		{"serves another, which was not restored", aRestore(specAlone), contentSummary(), serving("r9"), "True", v1alpha1.ReasonVerified, "r9"},
		{"is not ready", aRestore(), contentSummary(), serving("r1", crashing), "False", v1alpha1.ReasonNotReady, "Unavailable: no pod serves"},
		{"speaks of before", aRestore(), contentSummary(), serving("r1", older), "Unknown", v1alpha1.ReasonNotVerified, "has not reported its configuration yet"},
		{"says nothing", aRestore(), contentSummary(), serving("r1", silent), "Unknown", v1alpha1.ReasonNotVerified, "has not reported its configuration yet"},
		{"is gone", aRestore(), contentSummary(), nil, "False", v1alpha1.ReasonNotReady, "NginxOperator web does not exist any more"},
		{"was not restored, its files were", aRestore(contentAlone), contentSummary(), nil, "True", v1alpha1.ReasonVerified, "files"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.restore.Status = Restored(tt.restore, "web", tt.backup, restoration.Plan{}, now)
			status, after := Verified(tt.restore, tt.nginx, now.Add(servedDelay))
			says(t, status.Conditions, v1alpha1.ConditionVerified, tt.status, tt.reason, tt.words)
			if after != 0 {
				t.Errorf("it is looked at again after %s", after)
			}
		})
	}
}

// TestVerifiedTooEarly: if only a ConfigMap of an application was restored, it is not verified
// until the operator has had time to see the ConfigMap.
func TestVerifiedTooEarly(t *testing.T) {
	changes := func(kinds ...string) restoration.Plan {
		p := restoration.Plan{Changes: []v1alpha1.RestoreChange{{Kind: v1alpha2.Kind, Name: "web", Action: "None"}}}
		for _, kind := range kinds {
			p.Changes = append(p.Changes, v1alpha1.RestoreChange{Kind: kind, Name: "x", Action: "Replace"})
		}
		return p
	}
	tests := []struct {
		name   string
		plan   restoration.Plan
		serves string
		age    time.Duration
		reason string
		after  time.Duration
	}{
		{"a ConfigMap, a moment ago", changes("ConfigMap"), "r1", time.Second, v1alpha1.ReasonNotVerified, observationDelay - time.Second},
		{"a ConfigMap, a while ago", changes("ConfigMap"), "r1", observationDelay, v1alpha1.ReasonVerified, 0},
		{"the application as well", changes("ConfigMap", v1alpha2.Kind), "r1", time.Second, v1alpha1.ReasonVerified, 0},
		{"files alone", changes("PersistentVolumeClaim"), "r1", time.Second, v1alpha1.ReasonVerified, 0},
		{"serves another still", changes("ConfigMap"), "r9", observationDelay, v1alpha1.ReasonNotVerified, servedDelay - observationDelay},
		{"serves another after all", changes("ConfigMap"), "r9", servedDelay, v1alpha1.ReasonServesAnother, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := aRestore()
			r.Status = Restored(r, "web", contentSummary(), tt.plan, now)
			nginx := &v1alpha2.NginxOperator{}
			nginx.Status.Config = &v1alpha2.ConfigStatus{StableRevision: tt.serves}
			nginx.Status.Conditions = []metav1.Condition{{Type: v1alpha2.ConditionReady, Status: "True", Reason: "Ready"}}
			status, after := Verified(r, nginx, now.Add(tt.age))
			c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionVerified)
			if c.Reason != tt.reason || after != tt.after {
				t.Errorf("%s: %s, again after %s; want %s, after %s", c.Reason, c.Message, after, tt.reason, tt.after)
			}
		})
	}
	r := aRestore()
	r.Status = Restored(r, "web", contentSummary(), restoration.Plan{}, now)
	if !Unproven(r, now.Add(time.Minute)) || Unproven(r, now.Add(readinessTimeout)) {
		t.Error("it is looked at for ever what a restored application serves")
	}
}
