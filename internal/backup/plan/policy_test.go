package plan

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/backup/v1alpha1"
)

// TestSelectorIsBounded: a selector of any size, which an earlier schema allowed, costs little: it is not parsed.
func TestSelectorIsBounded(t *testing.T) {
	for name, tt := range map[string]struct {
		values int
		want   bool
	}{
		"as many as there may be": {maxRequirements - 1, true},
		"more":                    {maxRequirements, false},
	} {
		policy := &v1alpha1.NginxBackupPolicy{}
		policy.Spec.Destination.URL = "s3://bucket"
		requirement := metav1.LabelSelectorRequirement{Key: "tier", Operator: metav1.LabelSelectorOpIn}
		for i := range tt.values {
			requirement.Values = append(requirement.Values, fmt.Sprint(i))
		}
		policy.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{requirement}}
		_, selected, err := ParsePolicy(policy)
		if (err == nil) != tt.want || (selected != nil) != tt.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
