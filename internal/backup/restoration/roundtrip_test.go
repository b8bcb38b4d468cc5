package restoration

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"
	"sigs.k8s.io/yaml"

	backupv1alpha1 "example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/snapshot"
)

// TestEveryFieldIsRestored: a spec with values in all fields of the API is restored as it was.
func TestEveryFieldIsRestored(t *testing.T) {
	for seed := range int64(20) {
		nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
		randfill.NewWithSeed(seed).NilChance(0.1).NumElements(1, 2).MaxDepth(12).Funcs(
			func(value *intstr.IntOrString, c randfill.Continue) { *value = intstr.FromInt32(c.Int31()) },
			func(value *resource.Quantity, c randfill.Continue) {
				*value = *resource.NewQuantity(c.Int63n(1000), resource.DecimalSI)
			},
			// JSON decoders of clients round larger numbers.
			func(value *int64, c randfill.Continue) { *value = c.Int63n(1 << 53) },
			func(value *string, c randfill.Continue) { *value = c.String(10) + "x" },
		).Fill(&nginx.Spec)
		saved, err := snapshot.Take(&backupv1alpha1.NginxBackup{}, snapshot.Source{Nginx: nginx}, "test", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		about := info()
		about.Content = nil
		b, err := parse(about, saved.Documents)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Build(aRequest("web", everything), b, Live{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(asText(t, nginx.Spec), asText(t, p.Nginx.Spec)); diff != "" {
			t.Errorf("seed %d, -saved +restored:\n%s", seed, diff)
		}
	}
}

func asText(t *testing.T, value any) string {
	t.Helper()
	text, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
