package backup

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/archive"
)

// honest is a declaration that can be restored.
const honest = `{apiVersion: operator.example.com/v1alpha2, kind: NginxOperator, metadata: {namespace: NAMESPACE, name: web}, spec: {config: {configMap: {name: conf}}}}`

// TestRestoreHostile: nothing is written from an intact archive that declares what no backup does
// or what the API server rejects.
func TestRestoreHostile(t *testing.T) {
	t.Parallel()
	const conf = `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: NAMESPACE, name: conf}, data: {a: b}}`
	type documents map[string]string
	tests := []struct {
		name   string
		info   func(*archive.Info)
		files  documents
		reason string
		words  string
	}{
		{"of another namespace", func(i *archive.Info) { i.Namespace = "kube-system" },
			documents{"nginxoperator.yaml": strings.ReplaceAll(honest, "NAMESPACE", "kube-system")}, v1alpha1.ReasonNotUsable, "kube-system"},
		{"application of another namespace", nil, documents{"nginxoperator.yaml": strings.ReplaceAll(honest, "NAMESPACE", "kube-system")}, v1alpha1.ReasonNotUsable, "kube-system/web"},
		{"application of another name", nil, documents{"nginxoperator.yaml": strings.ReplaceAll(honest, "name: web", "name: other")}, v1alpha1.ReasonNotUsable, "/other"},
		{"no application", nil, documents{"configmaps/conf.yaml": conf}, v1alpha1.ReasonNotUsable, "no NginxOperator"},
		{"another kind of application", nil, documents{"nginxoperator.yaml": `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: web}}`}, v1alpha1.ReasonNotUsable, "ClusterRoleBinding"},
		{"a Secret", nil, documents{"nginxoperator.yaml": honest, "configmaps/conf.yaml": strings.ReplaceAll(conf, "ConfigMap", "Secret")}, v1alpha1.ReasonNotUsable, "Secret"},
		{"ConfigMap of another namespace", nil, documents{"nginxoperator.yaml": honest, "configmaps/conf.yaml": strings.ReplaceAll(conf, "NAMESPACE", "kube-system")}, v1alpha1.ReasonNotUsable, "kube-system/conf"},
		{"a ConfigMap that is not the application's", nil, documents{"nginxoperator.yaml": honest, "configmaps/other.yaml": strings.ReplaceAll(conf, "name: conf", "name: other")}, v1alpha1.ReasonNotUsable, "ConfigMap other"},
		{"unknown field", nil, documents{"nginxoperator.yaml": strings.ReplaceAll(honest, "spec: {", "spec: {hostNetwork: true, ")}, v1alpha1.ReasonNotUsable, "hostNetwork"},
		{"a claim that is not the application's", func(i *archive.Info) { i.Content = []archive.Volume{{Claim: "database", MountPath: "/srv"}} },
			documents{"nginxoperator.yaml": honest}, v1alpha1.ReasonNotUsable, "database"},
		{"a name that none has", func(i *archive.Info) { i.Application.Name = strings.Repeat("a", 60) },
			documents{"nginxoperator.yaml": strings.ReplaceAll(honest, "name: web", "name: "+strings.Repeat("a", 60))}, v1alpha1.ReasonNotUsable, "45"},
		{"a name that is none", func(i *archive.Info) { i.Application.Name = "WEB" },
			documents{"nginxoperator.yaml": strings.ReplaceAll(honest, "name: web", "name: WEB"), "configmaps/conf.yaml": conf}, v1alpha1.ReasonWriteRefused, "WEB"},
		{"a spec that is not valid", nil,
			documents{"nginxoperator.yaml": strings.ReplaceAll(honest, "spec: {", "spec: {replicas: -1, "), "configmaps/conf.yaml": conf}, v1alpha1.ReasonWriteRefused, "spec.replicas"},
		{"a ConfigMap that is not valid", nil,
			documents{"nginxoperator.yaml": honest, "configmaps/conf.yaml": strings.ReplaceAll(conf, "a: b", "a b: c")}, v1alpha1.ReasonWriteRefused, "a b"},
		{"a ConfigMap that is too large", nil,
			documents{"nginxoperator.yaml": honest, "configmaps/conf.yaml": strings.ReplaceAll(conf, "a: b", "a: "+strings.Repeat("b", 2<<20))}, v1alpha1.ReasonWriteRefused, "conf"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.claim("planted")
			b.claim("films")
			info := b.info()
			if tt.info != nil {
				tt.info(&info)
			}
			var files []archive.File
			for name, text := range tt.files {
				files = append(files, b.planted(name, text))
			}
			folder := b.plant("evil", info, files...)
			b.unchanged(func() {
				b.restore("back", from(claimURL, folder))
				b.reports(b.waitRestore("back", tt.reason), tt.words)
			})
			if found := b.declared(); len(found) > 0 {
				t.Errorf("there are %s", sorted(found))
			}
		})
	}
}

// TestRestoreBound: metadata that binds objects to others is not restored from an archive.
func TestRestoreBound(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	bound := `name: web, finalizers: [example.com/never], resourceVersion: "7", uid: another, ownerReferences: [{apiVersion: v1, kind: Pod, name: gone, uid: gone}]`
	folder := b.plant("evil", b.info(),
		b.planted("nginxoperator.yaml", strings.NewReplacer("name: web", bound, "name: conf", "name: web").Replace(honest)),
		b.planted("configmaps/web.yaml", `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: NAMESPACE, `+bound+`}}`))
	b.restore("back", from(claimURL, folder))
	b.waitRestore("back", v1alpha1.ReasonCompleted)
	b.each(func(object client.Object) {
		if len(object.GetFinalizers())+len(object.GetOwnerReferences()) > 0 {
			t.Errorf("%s has %v, and belongs to %v", object.GetName(), object.GetFinalizers(), object.GetOwnerReferences())
		}
	})
	if names := sorted(b.declared()); names != "ConfigMap web, NginxOperator web" {
		t.Errorf("there are %s", names)
	}
}

// TestRestoreUnusable: a backup that cannot be restored here is reported at once and not retried.
// Missing data is waited for.
func TestRestoreUnusable(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	backup := b.open()
	folder := folderOf(backup)
	archives, err := filepath.Glob(filepath.Join(b.place.Claim, "folder", folder, "data-*"))
	must(t, err)
	whole, err := os.ReadFile(archives[0])
	must(t, err)
	record := filepath.Join(b.place.Claim, "folder", folder, "backup.json")
	b.unchanged(func() {
		b.restore("elsewhere", from(claimURL, "kube-system/web/saved"))
		b.reports(b.waitRestore("elsewhere", v1alpha1.ReasonNotUsable), "kube-system")
		b.restore("no-bucket", from("s3://backups/../x", folder))
		b.waitRestore("no-bucket", v1alpha1.ReasonDestinationInvalid)
		b.restore("no-folder", from(claimURL, folder+"-x"))
		b.reports(b.waitRestore("no-folder", v1alpha1.ReasonBackupNotFound), folder+"-x")

		must(t, os.WriteFile(archives[0], append(whole[:len(whole)-1:len(whole)-1], whole[len(whole)-1]^1), 0o600))
		b.restore("damaged")
		b.waitRestore("damaged", v1alpha1.ReasonDamaged)
		must(t, os.WriteFile(archives[0], whole[:len(whole)/2], 0o600))
		b.restore("half")
		b.waitRestore("half", v1alpha1.ReasonDamaged)
		must(t, os.WriteFile(archives[0], whole, 0o600))

		text, err := os.ReadFile(record)
		must(t, err)
		must(t, os.WriteFile(record, text[:len(text)/2], 0o600))
		b.restore("half-a-record")
		b.waitRestore("half-a-record", v1alpha1.ReasonDamaged)
		must(t, os.WriteFile(record, text, 0o600))

		// Another backup, which is intact, has been put in its place.
		other := b.plant("other", b.info(), b.planted("nginxoperator.yaml", honest))
		must(t, os.Rename(filepath.Join(b.place.Claim, "folder", folder), filepath.Join(b.place.Claim, "aside")))
		must(t, os.Rename(filepath.Join(b.place.Claim, "folder", other), filepath.Join(b.place.Claim, "folder", folder)))
		b.restore("another")
		b.reports(b.waitRestore("another", v1alpha1.ReasonDamaged), strings.TrimPrefix(backup.Status.Digest, "sha256:"))
	})
}

// TestRestoreAdmission: a rejection by admission or a quota is reported with its message, nothing
// is restored partially, and the restore completes once the rejection ends.
func TestRestoreAdmission(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		refused string
		object  func(*bench) client.Object
	}{
		{"NginxOperator web", func(b *bench) client.Object { return &v1alpha2.NginxOperator{ObjectMeta: b.object("web")} }},
		{"ConfigMap pages", func(b *bench) client.Object { return &corev1.ConfigMap{ObjectMeta: b.object("pages")} }},
	} {
		t.Run(tt.refused, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.open()
			before := b.declared()
			b.burn()
			object := tt.object(b)
			lift := b.forbid(object, fmt.Sprintf("object.metadata.name != %q", object.GetName()))
			b.restore("back")
			r := b.waitRestore("back", v1alpha1.ReasonWriteRefused)
			b.reports(r, tt.refused, "not in this test")
			if len(r.Status.Changes) == 0 {
				t.Error("it does not tell what would be changed")
			}
			b.same(map[string]any{})
			b.has("films", map[string]string{})
			lift()
			b.waitRestore("back", v1alpha1.ReasonCompleted)
			b.same(before)
			b.has("films", films)
		})
	}
}

// TestRestoreOvertaken: if a user creates another application while the restore cannot write its
// own, that application is left alone, and the restore still reports what it has changed.
func TestRestoreOvertaken(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.open()
	b.burn()
	saved := &v1alpha2.NginxOperator{ObjectMeta: b.object("web"), Spec: v1alpha2.NginxOperatorSpec{Replicas: new(int32(2))}}
	// A dry run is not rejected, so files and ConfigMaps are restored.
	b.forbid(saved, "request.dryRun || object.spec.replicas != 2")
	b.restore("back")
	b.reports(b.waitRestore("back", v1alpha1.ReasonWriteRefused), "NginxOperator web", "not in this test")
	b.has("films", films)
	b.application("web", v1alpha2.NginxOperatorSpec{Replicas: new(int32(7))})
	b.unchanged(func() {
		b.reports(b.waitRestore("back", v1alpha1.ReasonConflict), "The restore is incomplete", "NginxOperator web")
	})
}

// forbid makes the API server reject objects of the example's kind for which an expression is
// false, until lift is called.
func (b *bench) forbid(example client.Object, expression string) (lift func()) {
	b.t.Helper()
	mapping, err := kube.RESTMapper().RESTMapping(kindOf(b.t, example).GroupKind())
	must(b.t, err)
	group, resource := mapping.Resource.Group, mapping.Resource.Resource
	full := b.namespace + "-" + resource
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: full},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"*"}, Resources: []string{resource}},
				},
			}}},
			Validations: []admissionregistrationv1.Validation{{Expression: expression, Message: "not in this test"}},
		},
	}
	must(b.t, kube.Create(b.t.Context(), policy))
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: full},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: full, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			MatchResources: &admissionregistrationv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{corev1.LabelMetadataName: b.namespace},
			}},
		},
	}
	must(b.t, kube.Create(b.t.Context(), binding))
	b.eventually("the policy is enforced", func() error {
		object := example.DeepCopyObject().(client.Object)
		if err := kube.Create(b.t.Context(), object); err != nil {
			return nil //nolint:nilerr // it is what is waited for
		}
		must(b.t, kube.Delete(b.t.Context(), object))
		return fmt.Errorf("it is not")
	})
	return func() {
		must(b.t, kube.Delete(b.t.Context(), binding))
		must(b.t, kube.Delete(b.t.Context(), policy))
	}
}

func kindOf(t *testing.T, object client.Object) schema.GroupVersionKind {
	t.Helper()
	kind, err := kube.GroupVersionKindFor(object)
	must(t, err)
	return kind
}
