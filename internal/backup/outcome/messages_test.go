package outcome

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/listing"
	"example.com/nginx-operator/internal/backup/plan"
	"example.com/nginx-operator/internal/backup/progress"
	"example.com/nginx-operator/internal/backup/restoration"
	"example.com/nginx-operator/internal/backup/snapshot"
	"example.com/nginx-operator/test/golden"
)

// TestMessages renders the conditions of the backup kinds.
func TestMessages(t *testing.T) {
	var messages golden.Messages
	add := func(kind string, conditions []metav1.Condition) {
		for _, c := range conditions {
			messages.Add(fmt.Sprintf("condition %s=%s (%s) of an %s", c.Type, c.Status, c.Reason, kind), c.Message)
		}
	}
	addEvents := func(kind string, events []Event) {
		for _, e := range events {
			messages.Add(fmt.Sprintf("event %s %s of an %s", e.Type, e.Reason, kind), e.Note)
		}
	}
	s := aSnapshot()
	done := aBackup()
	done.Status = Completed(done, &s, aResult())
	partial := aSnapshot()
	partial.Info.LeftOut = []archive.LeftOut{{Kind: "PersistentVolumeClaim", Name: "cache", Reason: "Excluded"}, {Kind: "CSI", Name: "share", Reason: "External"}}
	unnamed := aResult()
	unnamed.Missing, unnamed.Skipped = nil, nil
	start := progress.Evaluate(job.Create, nil, nil, now)
	for _, status := range []v1alpha1.NginxBackupStatus{
		done.Status, Completed(done, &s, unnamed), Completed(aBackup(), &partial, unnamed), Missing(done), DataFoundAgain(done), Adopted(done, aResult()),
		ExistingNotVerified(aBackup(), start.Reason, start.Message), Deleting(done, start.Reason, start.Message), Unfinished(aBackup(), start.Reason, start.Message),
	} {
		add("NginxBackup", status.Conditions)
		addEvents("NginxBackup", BackupEvents(nil, status.Conditions))
	}
	addPolicies(add, done)
	dirs := restoration.Plan{Changes: changes("Create", "Replace"), Blocked: []string{"PersistentVolumeClaim films"}}
	conflicts := restoration.Plan{Changes: changes("Create", "Replace"), Conflicts: []string{"ConfigMap pages"}}
	restored := aRestore()
	restored.Status = Restored(restored, "web", contentSummary(), restoration.Plan{Changes: changes("Create", "None")}, now)
	for _, status := range []v1alpha1.NginxRestoreStatus{
		restored.Status, Restored(aRestore(), "web", contentSummary(), restoration.Plan{Forgotten: []string{"uploads"}, NotInBackup: []string{"cache"}}, now),
		Restored(aRestore(dry), "web", contentSummary(), dirs, now), Restored(aRestore(dry), "web", contentSummary(), conflicts, now),
		Planned(aRestore(), "web", contentSummary(), nil, v1alpha1.ReasonConflict, Conflict([]string{"ConfigMap pages"}, false)),
		Planned(aRestore(), "web", contentSummary(), nil, v1alpha1.ReasonConflict, Conflict([]string{"ConfigMap pages"}, true)),
	} {
		add("NginxRestore", status.Conditions)
		addEvents("NginxRestore", RestoreEvents(nil, status.Conditions))
	}
	for _, revision := range []string{"r1", "r9"} {
		nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
		nginx.Status.Config = &v1alpha2.ConfigStatus{StableRevision: revision}
		nginx.Status.Conditions = []metav1.Condition{{Type: v1alpha2.ConditionReady, Status: "True", Reason: "Ready", ObservedGeneration: 2}}
		status, _ := Verified(restored, nginx, now.Add(servedDelay))
		add("NginxRestore", status.Conditions)
		addEvents("NginxRestore", RestoreEvents(restored.Status.Conditions, status.Conditions))
	}
	status, _ := Verified(restored, nil, now.Add(servedDelay))
	add("NginxRestore", status.Conditions)
	messages.Compare(t, "backups.txt")
}

func addPolicies(add func(string, []metav1.Condition), done *v1alpha1.NginxBackup) {
	target := plan.Target{Nginx: &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, State: snapshot.Fingerprint{Change: "abc", Replicas: 3}}
	policy := func(spec v1alpha1.NginxBackupPolicySpec) *v1alpha1.NginxBackupPolicy {
		spec.Destination = done.Spec.Destination
		return &v1alpha1.NginxBackupPolicy{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Spec: spec}
	}
	changed := v1alpha1.Triggers{Change: &v1alpha1.ChangeTrigger{}}
	gated := v1alpha1.Triggers{BeforeRollout: &v1alpha1.BeforeRolloutTrigger{Gate: "backup"}}
	denied := aBackup()
	denied.Status = Unfinished(denied, v1alpha1.ReasonStoreDenied, "write s3://backups/nginx/shop/web/web-1-0123/data-1-x7k2m4qz.tar.gz: AccessDenied: Access Denied.")
	for _, tt := range []struct {
		spec    v1alpha1.NginxBackupPolicySpec
		targets []plan.Target
		backups []*v1alpha1.NginxBackup
	}{
		{v1alpha1.NginxBackupPolicySpec{Triggers: changed}, []plan.Target{target}, []*v1alpha1.NginxBackup{done}},
		{v1alpha1.NginxBackupPolicySpec{Triggers: changed}, []plan.Target{target}, nil},
		{v1alpha1.NginxBackupPolicySpec{Triggers: changed}, []plan.Target{target}, []*v1alpha1.NginxBackup{denied}},
		{v1alpha1.NginxBackupPolicySpec{Triggers: gated}, []plan.Target{target}, nil},
		{v1alpha1.NginxBackupPolicySpec{Triggers: changed}, nil, nil},
		{v1alpha1.NginxBackupPolicySpec{Triggers: changed, Target: &v1alpha1.TargetReference{Name: "shop"}}, nil, nil},
		{v1alpha1.NginxBackupPolicySpec{Triggers: changed, Suspend: new(true)}, []plan.Target{target}, nil},
	} {
		add("NginxBackupPolicy", OfPolicy(policy(tt.spec), tt.targets, tt.backups).Conditions)
	}
	p := policy(v1alpha1.NginxBackupPolicySpec{Triggers: changed})
	ListingInProgress(p, &p.Status)
	add("NginxBackupPolicy", p.Status.Conditions)
	report := listing.Report{Backups: 3}
	_, err := listing.ParsePath("shop/web/copy")
	report.Skip("web/copy", err.Error())
	Listed(p, &p.Status, &report, time.Unix(0, 0))
	add("NginxBackupPolicy", p.Status.Conditions)
}

// TestEveryReasonHasAMessage: each reason of the API is in a golden file of a package that reports it,
// and so on the message page.
func TestEveryReasonHasAMessage(t *testing.T) {
	var goldens strings.Builder
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && filepath.Base(filepath.Dir(path)) == "messages" {
			goldens.WriteString(golden.Read(t, path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	reasons := reasonsOfAPI(t)
	if len(reasons) < 40 {
		t.Fatalf("the API has %d reasons: %v", len(reasons), reasons)
	}
	for name, reason := range reasons {
		if !strings.Contains(goldens.String(), "("+reason+")") {
			t.Errorf("no message of %s is rendered by a test: see TestMessages here, in agent and in controller", name)
		}
	}
}

// reasonsOfAPI returns the constants of the API whose names begin with Reason.
func reasonsOfAPI(t *testing.T) map[string]string {
	t.Helper()
	sources, err := filepath.Glob("../../../api/backup/v1alpha1/*.go")
	if err != nil {
		t.Fatal(err)
	}
	reasons := map[string]string{}
	for _, source := range sources {
		file, err := parser.ParseFile(token.NewFileSet(), source, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			spec, ok := node.(*ast.ValueSpec)
			if !ok || !strings.HasPrefix(spec.Names[0].Name, "Reason") {
				return true
			}
			value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			reasons[spec.Names[0].Name] = value
			return true
		})
	}
	return reasons
}
