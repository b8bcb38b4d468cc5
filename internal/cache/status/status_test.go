package status

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/cache/tier"
)

var now = time.Date(2026, 11, 25, 8, 0, 0, 0, time.UTC)

// with returns a tier of which all conditions are True but one.
func with(name, condition string, status metav1.ConditionStatus, reason, message string) Tier {
	tier := Tier{Name: name}
	for _, c := range conditions {
		found := metav1.Condition{Type: c, Status: metav1.ConditionTrue, Reason: "Good", Message: "good"}
		if c == condition {
			found = metav1.Condition{Type: c, Status: status, Reason: reason, Message: message}
		}
		meta.SetStatusCondition(&tier.Status.Conditions, found)
	}
	return tier
}

func healthy(name string) Tier { return with(name, "", "", "", "") }

// TestConditions: a condition is that of the tier that is worse, and Ready has the first that is False.
func TestConditions(t *testing.T) {
	const yes, no, unknown = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
	for name, tt := range map[string]struct {
		edge, shards Tier
		invalid      error
		condition    string
		status       metav1.ConditionStatus
		reason       string
		message      string
		ready        metav1.ConditionStatus
		readyReason  string
	}{
		"both are good": {healthy("edge"), healthy("shards"), nil,
			v1alpha1.ConditionUpToDate, yes, "Good", "shards: good; edge: good", yes, v1alpha2.ReasonReady},
		"one is bad": {healthy("edge"), with("shards", v1alpha1.ConditionConfigValid, no, "ConfigRejected", "line 7"), nil,
			v1alpha1.ConditionConfigValid, no, "ConfigRejected", "shards: line 7", no, "ConfigRejected"},
		"one is bad, the other unknown": {with("edge", v1alpha1.ConditionUpToDate, unknown, "InstanceUnreachable", "silent"),
			with("shards", v1alpha1.ConditionUpToDate, no, "RolloutInProgress", "1 of 2"), nil,
			v1alpha1.ConditionUpToDate, no, "RolloutInProgress", "shards: 1 of 2", no, "RolloutInProgress"},
		"both are bad": {with("edge", v1alpha1.ConditionAvailable, no, "MinimumReplicasUnavailable", "1 serves"),
			with("shards", v1alpha1.ConditionAvailable, no, "MinimumReplicasUnavailable", "0 serve"), nil,
			v1alpha1.ConditionAvailable, no, "MinimumReplicasUnavailable", "shards: 0 serve; edge: 1 serves", no, "MinimumReplicasUnavailable"},
		"the edges wait for the shards": {with("edge", v1alpha1.ConditionUpToDate, no, "RolloutInProgress", "it waits"),
			with("shards", v1alpha1.ConditionUpToDate, no, "RolledBack", "refused"), nil,
			v1alpha1.ConditionUpToDate, no, "RolledBack", "shards: refused; edge: it waits", no, "RolledBack"},
		"unknown": {with("edge", v1alpha1.ConditionUpToDate, unknown, "InstanceUnreachable", "silent"), healthy("shards"), nil,
			v1alpha1.ConditionUpToDate, unknown, "InstanceUnreachable", "edge: silent", no, "InstanceUnreachable"},
		"a tier that was not observed": {Tier{Name: "edge"}, healthy("shards"), nil,
			v1alpha1.ConditionAvailable, unknown, "RolloutInProgress", "edge: waits until the shards are available", no, "RolloutInProgress"},
		"a tier that waits is no reason not to accept": {Tier{Name: "edge"}, healthy("shards"), nil,
			v1alpha1.ConditionAccepted, yes, "Good", "shards: good", no, "RolloutInProgress"},
		"a certificate of the edges": {with("edge", v1alpha1.ConditionCertificatesValid, no, "CertificateExpiring", "soon"), healthy("shards"), nil,
			v1alpha1.ConditionCertificatesValid, no, "CertificateExpiring", "edge: soon", no, "CertificateExpiring"},
		"an invalid spec": {healthy("edge"), with("shards", v1alpha1.ConditionUpToDate, no, "RolloutInProgress", "1 of 2"), errors.New("spec.rules[0] is wrong"),
			v1alpha1.ConditionAccepted, no, v1alpha1.ReasonInvalidSpec, "spec.rules[0] is wrong: the pods keep the last configuration", no, v1alpha1.ReasonInvalidSpec},
	} {
		t.Run(name, func(t *testing.T) {
			cache := &v1alpha1.NginxCache{ObjectMeta: metav1.ObjectMeta{Generation: 3}}
			cache.Spec.TLS = []v1alpha1.Certificate{{Name: "shop"}}
			meta.RemoveStatusCondition(&tt.shards.Status.Conditions, v1alpha1.ConditionCertificatesValid)
			next, changed := Compute(Input{Cache: cache, Edge: tt.edge, Shards: tt.shards, Invalid: tt.invalid, Now: now})
			c, ready := meta.FindStatusCondition(next.Conditions, tt.condition), meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionReady)
			if !changed || c.Status != tt.status || c.Reason != tt.reason || c.Message != tt.message || c.ObservedGeneration != 3 {
				t.Errorf("%s is %+v", tt.condition, c)
			}
			if ready.Status != tt.ready || ready.Reason != tt.readyReason {
				t.Errorf("Ready is %+v", ready)
			}
			cache.Status = next
			if _, changed := Compute(Input{Cache: cache, Edge: tt.edge, Shards: tt.shards, Invalid: tt.invalid, Now: now.Add(time.Hour)}); changed {
				t.Error("an hour later the same state is another status")
			}
		})
	}
}

// TestOriginMissing: an origin that does not exist is in the condition, and the tiers stay as they are.
func TestOriginMissing(t *testing.T) {
	next, _ := Compute(Input{Cache: &v1alpha1.NginxCache{}, Edge: healthy("edge"), Shards: healthy("shards"), Origins: tier.Origins{Missing: "it is not there"}, Now: now})
	accepted := meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionAccepted)
	if accepted.Reason != v1alpha1.ReasonOriginNotFound || accepted.Message != "it is not there" || !meta.IsStatusConditionTrue(next.Conditions, v1alpha1.ConditionUpToDate) {
		t.Errorf("%+v", next.Conditions)
	}
}

// TestWithoutCertificates: the condition of the certificates goes when spec.tls does.
func TestWithoutCertificates(t *testing.T) {
	cache := &v1alpha1.NginxCache{}
	cache.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionCertificatesValid, Status: metav1.ConditionFalse}}
	next, _ := Compute(Input{Cache: cache, Edge: healthy("edge"), Shards: healthy("shards"), Now: now})
	if meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionCertificatesValid) != nil || !meta.IsStatusConditionTrue(next.Conditions, v1alpha1.ConditionReady) {
		t.Errorf("%+v", next.Conditions)
	}
}

// TestPods: pods are listed in the order of their ordinals, which is not that of their names.
func TestPods(t *testing.T) {
	tier := healthy("shards")
	for _, name := range []string{"a-shards-10", "a-shards-9", "a-shards-0"} {
		tier.Pods = append(tier.Pods, Pod{Name: name, Node: "n", Config: "r", Ready: true})
	}
	next, _ := Compute(Input{Cache: &v1alpha1.NginxCache{}, Edge: healthy("edge"), Shards: tier, Now: now})
	var names []string
	for _, p := range next.Shards.Pods {
		names = append(names, p.Name)
	}
	if diff := cmp.Diff([]string{"a-shards-0", "a-shards-9", "a-shards-10"}, names); diff != "" {
		t.Error(diff)
	}
}
