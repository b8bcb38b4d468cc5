package controller_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/listing"
	"example.com/nginx-operator/test/golden"
)

func aPolicy(change ...func(*v1alpha1.NginxBackupPolicySpec)) *v1alpha1.NginxBackupPolicy {
	p := &v1alpha1.NginxBackupPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "daily", UID: "33333333-4444", Generation: 1},
		Spec: v1alpha1.NginxBackupPolicySpec{
			Target:      &v1alpha1.TargetReference{Name: "web"},
			Triggers:    v1alpha1.Triggers{Change: &v1alpha1.ChangeTrigger{}},
			Destination: aBackup().Spec.Destination,
		},
	}
	for _, c := range change {
		c(&p.Spec)
	}
	return p
}

func scheduled(cron, zone string) func(*v1alpha1.NginxBackupPolicySpec) {
	return func(s *v1alpha1.NginxBackupPolicySpec) {
		s.Triggers.Schedule = &v1alpha1.ScheduleTrigger{Cron: cron, TimeZone: zone}
	}
}

// TestPolicyMessages renders what a pass over an NginxBackupPolicy reports.
func TestPolicyMessages(t *testing.T) {
	var messages golden.Messages
	for _, p := range []*v1alpha1.NginxBackupPolicy{
		aPolicy(scheduled("0 25 * * *", "")), aPolicy(scheduled("0 3 * * *", "Europe/Atlantis")),
		aPolicy(func(s *v1alpha1.NginxBackupPolicySpec) { s.Destination.URL = "s3://backups/nginx?color=red" }),
		aPolicy(func(s *v1alpha1.NginxBackupPolicySpec) {
			s.Target, s.Selector = nil, &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: "Within", Values: []string{"web"}}}}
		}),
	} {
		s := newStage(t, &messages, 1, anApplication(), p)
		s.reconcile(p)
		if meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionAccepted) {
			t.Errorf("an invalid policy is accepted: %+v", p.Spec)
		}
	}
	newStageThatRefuses(t, &messages, 1, refuseJobs, anApplication(), aPolicy()).reconcile(aPolicy())
	newStage(t, &messages, 0, anApplication(), aPolicy()).reconcile(aPolicy())
	listOnce(t, &messages)
	failToImport(t, &messages)
	messages.Compare(t, "policies.txt")
}

// listOnce lists a destination in which a known backup is missing and another one is found.
func listOnce(t *testing.T, messages *golden.Messages) {
	t.Helper()
	p, b := aPolicy(scheduled("0 3 * * *", "")), aBackup(completed)
	s := newStage(t, messages, 1, anApplication(), p, b)
	s.policies.ListingPeriod = time.Hour
	s.reconcile(p)
	result := job.Result{Listing: &listing.Report{Backups: 1}, CompletedAt: new(now)}
	result.Listing.AddFound(listing.FoundBackup{Path: "web/web-0-00001111", TakenAt: now.Add(-24 * time.Hour).Unix()})
	result.Listing.AddMissing("web/web-1-01234567")
	s.report(result)
	if after := s.reconcile(p).RequeueAfter; after != time.Hour {
		t.Errorf("the next pass is in %s, but the destination is to be listed in an hour", after)
	}
	if !meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionListed) || p.Status.NextScheduleTime == nil {
		t.Errorf("the policy is not listed, or has no next time: %+v", p.Status)
	}
	found := &v1alpha1.NginxBackupList{}
	if err := s.client.List(t.Context(), found); err != nil || len(found.Items) != 2 {
		t.Errorf("there are %d backups: %v", len(found.Items), err)
	}
}

// failToImport lists a destination with a backup whose object the API server refuses.
func failToImport(t *testing.T, messages *golden.Messages) {
	t.Helper()
	refuseBackups := func(o client.Object) error {
		if _, ok := o.(*v1alpha1.NginxBackup); ok {
			return overQuota(o, v1alpha1.GroupVersion.WithResource("nginxbackups").GroupResource())
		}
		return nil
	}
	p := aPolicy()
	s := newStageThatRefuses(t, messages, 1, refuseBackups, anApplication(), p)
	s.reconcile(p)
	result := job.Result{Listing: &listing.Report{Backups: 1}, CompletedAt: new(now)}
	result.Listing.AddFound(listing.FoundBackup{Path: "web/web-0-00001111", TakenAt: now.Add(-24 * time.Hour).Unix()})
	s.report(result)
	s.reconcile(p)
	if c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionListed); c == nil || c.Reason != v1alpha1.ReasonBackupNotCreated {
		t.Errorf("the listing reports %+v", c)
	}
	s.onlyJob()
}

// TestNginxOperatorPass: a pass over an application creates the backup that a policy requires, once.
func TestNginxOperatorPass(t *testing.T) {
	var messages golden.Messages
	p := aPolicy(func(s *v1alpha1.NginxBackupPolicySpec) {
		s.Triggers = v1alpha1.Triggers{Change: &v1alpha1.ChangeTrigger{SettleSeconds: new(int32(0))}}
	})
	nginx := anApplication()
	s := newStage(t, &messages, 1, nginx, p)
	for range 2 {
		s.reconcile(nginx)
	}
	created := &v1alpha1.NginxBackupList{}
	if err := s.client.List(t.Context(), created); err != nil || len(created.Items) != 1 || created.Items[0].Spec.Target.Name != "web" {
		t.Errorf("created: %+v, %v", created.Items, err)
	}
}
