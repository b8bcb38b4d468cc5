package job

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/listing"
	"example.com/nginx-operator/internal/backup/restoration"
	"example.com/nginx-operator/internal/backup/snapshot"
	"example.com/nginx-operator/internal/kube/podsettings"
	"example.com/nginx-operator/test/golden"
)

func aBackup(url, secret string) *v1alpha1.NginxBackup {
	b := &v1alpha1.NginxBackup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1a2b3c4d5e", UID: "01234567-89ab-cdef-0123-456789abcdef"},
		Spec: v1alpha1.NginxBackupSpec{
			Target:      v1alpha1.TargetReference{Name: "web"},
			Destination: v1alpha1.Destination{URL: url},
		},
	}
	if secret != "" {
		b.Spec.Destination.Secret = &v1alpha1.SecretReference{Name: secret}
	}
	return b
}

var testPods = PodOptions{Image: "nginx-operator:test"}

// TestPodOptions: jobs have the Secrets for registries, and no ids where the platform assigns them.
func TestPodOptions(t *testing.T) {
	j, err := ForDelete(aBackup("pvc://backups/shop", ""), 1, PodOptions{Settings: podsettings.Settings{
		ImagePullSecrets: []string{"mirror"}, PlatformAssignsIDs: true,
	}})
	if err != nil {
		t.Fatal(err)
	}
	pod := j.Spec.Template.Spec
	if diff := cmp.Diff([]corev1.LocalObjectReference{{Name: "mirror"}}, pod.ImagePullSecrets); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if s := pod.SecurityContext; s.RunAsUser != nil || s.RunAsGroup != nil || s.FSGroup != nil || !*s.RunAsNonRoot {
		t.Errorf("the platform would refuse %+v", s)
	}
}

var everything = snapshot.Snapshot{
	Volumes:     []snapshot.Volume{{Claim: "films", MountPath: "/srv/films"}, {Claim: "pages", MountPath: "/srv/pages"}},
	Secrets:     []snapshot.Secret{{Name: "htpasswd", UsedFor: "volume b"}, {Name: "shop-tls", UsedFor: "tls shop", Certificate: true}},
	Tolerations: []corev1.Toleration{{Key: "disks", Operator: corev1.TolerationOpExists}},
}

// TestJobs: every kind of job equals a reviewed file.
func TestJobs(t *testing.T) {
	encrypted := everything
	encrypted.Recipients = []string{"age1x"}
	existing := aBackup("pvc://backups/shop", "")
	existing.Spec.Existing = &v1alpha1.ExistingBackup{Path: "shop/web/web-old-89abcdef"}
	tests := []struct {
		name     string
		backup   *v1alpha1.NginxBackup
		snapshot snapshot.Snapshot
		task     Task
	}{
		{"create-s3", aBackup("s3://backups/shop?region=eu-central-1", "s3"), everything, Create},
		{"create-claim", aBackup("pvc://backups", ""), snapshot.Snapshot{}, Create},
		{"create-encrypted", aBackup("gs://backups", "gcs"), encrypted, Create},
		{"delete-claim", aBackup("pvc://backups/shop", ""), snapshot.Snapshot{}, Delete},
		{"delete-existing", existing, snapshot.Snapshot{}, Delete},
		{"adopt-existing", existing, snapshot.Snapshot{}, VerifyExisting},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j, err := ForDelete(tt.backup, 3, testPods)
			if tt.task == VerifyExisting {
				j, err = ForVerifyExisting(tt.backup, 3, testPods)
			}
			if tt.task == Create {
				j, err = ForCreate(tt.backup, tt.snapshot, []string{"web-snapshot", "web-snapshot-2"}, 3, testPods)
			}
			if err != nil {
				t.Fatal(err)
			}
			text, err := yaml.Marshal(j)
			if err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, "testdata/"+tt.name+".yaml", string(text))
			if Attempt(j) != 3 {
				t.Errorf("attempt %d, want 3", Attempt(j))
			}
		})
	}
}

func aRestore(dryRun bool, policy v1alpha1.ConflictPolicy) *v1alpha1.NginxRestore {
	return &v1alpha1.NginxRestore{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-back", UID: "76543210-89ab-cdef-0123-456789abcdef"},
		Spec:       v1alpha1.NginxRestoreSpec{DryRun: &dryRun, OnConflict: policy},
	}
}

// TestRestoreJobs: every kind of job of a restore equals a reviewed file.
func TestRestoreJobs(t *testing.T) {
	s3 := RestoreSource{Destination: aBackup("s3://backups/shop?region=eu-central-1", "s3").Spec.Destination, Key: "shop/web/web-1-01234567", SHA256: "ab12"}
	claim := RestoreSource{Destination: aBackup("pvc://backups/shop", "").Spec.Destination, Key: "shop/web/web-1-01234567"}
	plan := restoration.Plan{
		Volumes:     []restoration.Volume{{Index: 0, Claim: "films"}, {Index: 2, Claim: "copies"}},
		Tolerations: everything.Tolerations,
	}
	tests := []struct {
		name    string
		restore *v1alpha1.NginxRestore
		source  RestoreSource
		task    Task
	}{
		{"read-s3", aRestore(false, v1alpha1.ConflictRefuse), s3, Read},
		{"read-claim", aRestore(false, v1alpha1.ConflictRefuse), claim, Read},
		{"extract-s3", aRestore(false, v1alpha1.ConflictRefuse), s3, Extract},
		{"extract-claim-overwrite", aRestore(false, v1alpha1.ConflictOverwrite), claim, Extract},
		{"match-s3", aRestore(false, v1alpha1.ConflictRefuse), s3, Match},
		{"match-claim", aRestore(true, v1alpha1.ConflictOverwrite), claim, Match},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j, err := ForRead(tt.restore, tt.source, 3, testPods)
			if tt.task == Extract {
				j, err = ForExtract(tt.restore, tt.source, plan, "web", 3, testPods)
			}
			if tt.task == Match {
				j, err = ForCompareVolumes(tt.restore, tt.source, plan, "web", 3, testPods)
			}
			if err != nil {
				t.Fatal(err)
			}
			text, err := yaml.Marshal(j)
			if err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, "testdata/"+tt.name+".yaml", string(text))
			if Attempt(j) != 3 || j.Labels[LabelTask] != string(tt.task) || j.Spec.Template.Labels[LabelTask] != string(tt.task) {
				t.Errorf("attempt %d, labels %v", Attempt(j), j.Labels)
			}
		})
	}
	bad := RestoreSource{Destination: aBackup("s3://backups/../x", "").Spec.Destination}
	if _, err := ForRead(aRestore(false, ""), bad, 1, PodOptions{Image: "x"}); err == nil {
		t.Error("a destination that leaves its folder makes a job that reads")
	}
	if _, err := ForExtract(aRestore(false, ""), bad, plan, "web", 1, PodOptions{Image: "x"}); err == nil {
		t.Error("a destination that leaves its folder makes a job that extracts")
	}
}

func aPolicy(name string) *v1alpha1.NginxBackupPolicy {
	return &v1alpha1.NginxBackupPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: "01234567-89ab-cdef-0123-456789abcdef", Generation: 4},
		Spec:       v1alpha1.NginxBackupPolicySpec{Destination: v1alpha1.Destination{URL: "pvc://backups"}},
	}
}

// TestForList: the job that lists equals a reviewed file and gets the known backups. Its names are
// valid for every policy name.
func TestForList(t *testing.T) {
	for _, name := range []string{"all", strings.Repeat("a", 63)} {
		policy := aPolicy(name)
		pieces, err := KnownPieces(policy, listing.Known{"web/web-1-01234567": listing.Expected})
		if err != nil {
			t.Fatal(err)
		}
		j, err := ForList(policy, pieces, mostAttempts, testPods)
		if err != nil {
			t.Fatal(err)
		}
		if problems := append(validation.IsDNS1123Label(j.Name), validation.IsDNS1123Subdomain(pieces[0].Name)...); len(problems) > 0 {
			t.Errorf("%s, %s: %v", j.Name, pieces[0].Name, problems)
		}
		if !Lists(j, policy) {
			t.Error("the job is not one of the policy as it is")
		}
		policy.Generation++
		if Lists(j, policy) {
			t.Error("the job is one of a policy that is another")
		}
		if name == "all" {
			text, err := yaml.Marshal(j)
			if err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, "testdata/list-claim.yaml", string(text))
		}
	}
}

// TestNamesAreLegal: the longest name of a backup leads to valid names of jobs, which are also
// labels of their pods.
func TestNamesAreLegal(t *testing.T) {
	b := aBackup("pvc://backups", "")
	b.Name = strings.Repeat("a", 56)
	for _, attempt := range []int{1, mostAttempts} {
		j, err := ForDelete(b, attempt, PodOptions{Image: "x"})
		if err != nil {
			t.Fatal(err)
		}
		if problems := validation.IsDNS1123Label(j.Name); len(problems) > 0 {
			t.Errorf("%s: %v", j.Name, problems)
		}
	}
	// The jobs of a backup and of a restore with the same name have different names.
	names := map[string]bool{}
	for _, task := range []Task{Create, Delete, Read, Extract} {
		names[fmt.Sprintf("%.1s", task)] = true
	}
	if len(names) != 4 {
		t.Errorf("two tasks have jobs of the same names: %v", names)
	}
	if Next(mostAttempts) != 1 || Next(0) != 1 || Next(1) != 2 {
		t.Error("attempts are not numbered one after the other")
	}
}

func TestBadDestination(t *testing.T) {
	if _, err := ForDelete(aBackup("s3://backups/../x", ""), 1, PodOptions{Image: "x"}); err == nil {
		t.Error("a destination that leaves its folder makes a job")
	}
}

func TestPieces(t *testing.T) {
	s := everything
	s.Info.Name = "web-1a2b3c4d5e"
	pieces, err := SnapshotConfigMaps(aBackup("pvc://backups", ""), s)
	if err != nil {
		t.Fatal(err)
	}
	last := pieces[len(pieces)-1]
	if last.Name != "web-1a2b3c4d5e-snapshot" {
		t.Errorf("the last ConfigMap is %s", last.Name)
	}
	read, names, err := DecodeSnapshotHeader(last)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s, read); diff != "" {
		t.Errorf("-before +after:\n%s", diff)
	}
	if len(names) != len(pieces) {
		t.Errorf("the head names %v, there are %d", names, len(pieces))
	}
	last.Data = map[string]string{headKey: `{"snapshot":{"tolerations":[` + strings.Repeat("{},", 300_000) + `{}]}}`}
	if _, _, err := DecodeSnapshotHeader(last); err == nil || !strings.Contains(err.Error(), "items") {
		t.Errorf("a head with many tolerations: %v", err)
	}
	last.Data = nil
	if _, _, err := DecodeSnapshotHeader(last); err == nil {
		t.Error("a ConfigMap without a head is taken for a snapshot")
	}
}

// volumes returns n volumes with counts of maximal length and examples made of characters that are
// escaped.
func volumes(n int, example string) []restoration.VolumeComparison {
	most := int64(1_000_000)
	var all []restoration.VolumeComparison
	for i := range n {
		all = append(all, restoration.VolumeComparison{Index: i, Same: most, Missing: most, Differs: most, Blocked: most, Examples: strings.Repeat(example, 999)})
	}
	return all
}

func TestResult(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	path := t.TempDir() + "/result"
	tests := []struct {
		name   string
		task   Task
		result Result
	}{
		{"success", Create, Result{Archive: "a/b.tar.gz", Size: 9, SHA256: "ab", Totals: &archive.Totals{Files: 1}, CompletedAt: &at}},
		{"failure", Read, Result{Failure: &Failure{Reason: "StoreDenied", Message: "no"}}},
		{"a long failure", Create, Result{Failure: &Failure{Reason: "StoreDenied", Message: strings.Repeat("\x00", 9999)}}},
		{"a long success", Create, Result{
			Archive: "a/b.tar.gz", SHA256: "ab", Totals: &archive.Totals{Files: 1}, CompletedAt: &at,
			Skipped: slices.Repeat([]string{strings.Repeat("\x00", 999)}, 9), Missing: slices.Repeat([]string{strings.Repeat("x", 253)}, 9),
		}},
		{"a restore", Extract, Result{Volumes: []restoration.VolumeComparison{{Index: 0, Missing: 3}}, CompletedAt: &at}},
		{"a restore with much to tell", Match, Result{Volumes: volumes(1, "ä\x00<"), CompletedAt: &at}},
		{"a restore of as many volumes as an application can have", Extract, Result{Volumes: volumes(16, "\x00"), CompletedAt: &at}},
		{"a deletion", Delete, Result{Deleted: true, CompletedAt: &at}},
		{"a listing", List, Result{Listing: &listing.Report{Backups: 3}, CompletedAt: &at}},
		{"an adopted one with long texts", VerifyExisting, Result{
			Archive: "a/b.tar.gz", SHA256: "ab", Totals: &archive.Totals{Files: 1}, CompletedAt: &at,
			Existing: NewExisting(archive.Info{
				Name: strings.Repeat("<", 253), Namespace: strings.Repeat("x", 63), Image: strings.Repeat("<", 4096), ImageDigest: strings.Repeat("<", 4096),
				Reason: strings.Repeat("\n", 4096), ConfigRevision: strings.Repeat("<", 256),
			}, v1alpha1.BackupContents{ConfigMaps: slices.Repeat([]string{strings.Repeat("<", 253)}, 99), Claims: slices.Repeat([]string{strings.Repeat("x", 4096)}, 99)}),
		}},
		{"an adopted one whose every text is long", VerifyExisting, Result{
			Archive: "a/b.tar.gz", SHA256: "ab", Totals: &archive.Totals{Files: 1}, CompletedAt: &at,
			Existing: NewExisting(archive.Info{
				Name: strings.Repeat("x", 253), Namespace: strings.Repeat("x", 63), Policy: strings.Repeat("<", 4096), Trigger: strings.Repeat("<", 4096),
				Image: strings.Repeat("<", 5), ImageDigest: "<", Reason: "<<<",
			}, v1alpha1.BackupContents{}),
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.result.Write(path); err != nil {
				t.Fatal(err)
			}
			read, err := ParseResult(tt.task, golden.Read(t, path))
			if err != nil {
				t.Fatal(err)
			}
			if (read.Failure == nil) != (tt.result.Failure == nil) || read.Archive != tt.result.Archive || len(read.Volumes) != len(tt.result.Volumes) {
				t.Errorf("written %+v, read %+v", tt.result, read)
			}
		})
	}
	long := `{"failure":{"reason":"StoreDenied","message":"no"}}` + strings.Repeat(" ", 10*resultLimit)
	for _, message := range []string{"", "panic: runtime error: index out of range [3] with length 3", "{}", `{"archive":"x"}`, long} {
		for _, task := range tasks {
			if _, err := ParseResult(task, message); err == nil {
				t.Errorf("%q is taken for a result of the task %s", message, task)
			}
		}
	}
}

// TestInventedReasons: a user's pod cannot choose a reason, which labels a metric of the operator.
func TestInventedReasons(t *testing.T) {
	for reason, want := range map[string]string{
		v1alpha1.ReasonStoreDenied: v1alpha1.ReasonStoreDenied, v1alpha1.ReasonCompleted: v1alpha1.ReasonJobFailed,
		v1alpha1.ReasonInProgress: v1alpha1.ReasonJobFailed, "": v1alpha1.ReasonJobFailed, "Invented17": v1alpha1.ReasonJobFailed,
		"no reason\n": v1alpha1.ReasonJobFailed, strings.Repeat("a", 4000): v1alpha1.ReasonJobFailed,
	} {
		text, err := json.Marshal(Result{Failure: &Failure{Reason: reason, Message: "why"}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseResult(Create, string(text))
		if err != nil || got.Failure == nil || *got.Failure != (Failure{Reason: want, Message: "why"}) {
			t.Errorf("%.20q: %+v (%v), want the reason %s", reason, got.Failure, err, want)
		}
	}
}

// TestResultOfAnotherTask: a result that is complete for some tasks is refused for all others.
func TestResultOfAnotherTask(t *testing.T) {
	const at = `"completedAt":"2026-11-21T12:00:00Z"`
	for message, want := range map[string][]Task{
		`{"deleted":true,` + at + `}`:                               {Delete},
		`{"archive":"a","sha256":"ab","totals":{},` + at + `}`:      {Create, VerifyExisting},
		`{"volumes":[{"index":0}],` + at + `}`:                      {Match, Extract},
		`{"listing":{"backups":3},` + at + `}`:                      {List},
		`{"failure":{"reason":"StoreDenied","message":"no entry"}}`: tasks,
		// Each lacks a part.
		`{"archive":"a","totals":{},` + at + `}`:    nil,
		`{"archive":"a","sha256":"ab",` + at + `}`:  nil,
		`{"sha256":"ab","totals":{},` + at + `}`:    nil,
		`{"archive":"a","sha256":"ab","totals":{}}`: nil,
		`{"deleted":true}`:                          nil,
		`{"deleted":false,` + at + `}`:              nil,
		`{"volumes":[],` + at + `}`:                 nil,
		`{"volumes":[{"index":0}],"listing":{}}`:    nil,
		`{"listing":null,` + at + `}`:               nil,
	} {
		for _, task := range append([]Task{"", "another"}, tasks...) {
			known := slices.Contains(want, task) || want != nil && len(want) == len(tasks)
			if _, err := ParseResult(task, message); (err == nil) != known {
				t.Errorf("%s is a result of the task %q: %t, want %t", message, task, err == nil, known)
			}
		}
	}
}
