package revision

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/rollout"
)

// TestRefusalIsKept: a pod that lost its container to a configuration may be replaced by one that
// does not know about it.
func TestRefusalIsKept(t *testing.T) {
	problems := []instanceapi.Problem{{Message: "out of memory"}}
	in := func(refused, template, config string) *progress {
		candidate := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Name: naming.ConfigMapNext("web"), Annotations: map[string]string{naming.AnnotationConfigRefused: refused},
		}}
		p := &progress{
			Input: Input{
				Nginx: &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Name: "web"}},
				State: observe.State{Owned: map[owned.Key]owned.Object{{Kind: "ConfigMap", Name: candidate.Name}: candidate}},
			},
			selection: &Selection{Run: Revision{Hash: template, Config: Configuration{Config: nginxconf.Config{Revision: config}}}},
		}
		p.Rollout = rollout.Decision{Phase: rollout.Rejected, Fatal: true, Problems: problems}
		p.Next = p.selection.Run.Config
		return p
	}
	kept, err := in("", "t1", "c1").refusal()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(problems, in(kept, "t1", "c1").refusalProblems()); diff != "" {
		t.Error(diff)
	}
	for name, p := range map[string]*progress{
		"another template, with more memory perhaps": in(kept, "t2", "c1"),
		"another configuration":                      in(kept, "t1", "c2"),
		"nonsense":                                   in("{", "t1", "c1"),
	} {
		if got := p.refusalProblems(); got != nil {
			t.Errorf("%s is refused: %v", name, got)
		}
	}
	fine := in("", "t1", "c1")
	fine.Rollout.Fatal = false
	if got, err := fine.refusal(); got != "" || err != nil {
		t.Errorf("what was not refused for good has the annotation %q (%v)", got, err)
	}
}
