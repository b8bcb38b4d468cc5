package podsettings

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type groups struct {
	names []string
	err   error
}

func (g groups) ServerGroups() (*metav1.APIGroupList, error) {
	list := &metav1.APIGroupList{}
	for _, name := range g.names {
		list.Groups = append(list.Groups, metav1.APIGroup{Name: name})
	}
	return list, g.err
}

// TestDetect: a cluster with SecurityContextConstraints is OpenShift. A cluster that does not answer is none.
func TestDetect(t *testing.T) {
	for _, tt := range []struct {
		cluster groups
		want    string
	}{
		{groups{names: []string{"apps"}}, Kubernetes},
		{groups{names: []string{"apps", "security.openshift.io"}}, OpenShift},
		{groups{err: errors.New("refused")}, ""},
	} {
		got, err := Detect(tt.cluster)
		if got != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("%+v is %q (%v), want %q", tt.cluster, got, err, tt.want)
		}
	}
}
