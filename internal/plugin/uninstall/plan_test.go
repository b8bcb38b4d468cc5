package uninstall

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/nginx-operator/internal/plugin/installation"
	"example.com/nginx-operator/internal/plugin/manifests"
)

// present is a cluster with an operator, an application and a backup whose data the operator deletes.
func present() Present {
	d := appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: manifests.Namespace, Name: manifests.Deployment}}
	d.Status.AvailableReplicas = 2
	return Present{
		Operators: []installation.Operator{{Deployment: d, Method: installation.Manifests}},
		Definitions: []apiextensionsv1.CustomResourceDefinition{{
			ObjectMeta: metav1.ObjectMeta{Name: "nginxoperators.operator.example.com"},
			Status:     apiextensionsv1.CustomResourceDefinitionStatus{StoredVersions: []string{"v1alpha2"}},
		}},
		Objects: map[schema.GroupKind][]metav1.PartialObjectMetadata{
			applicationKinds[2]: {{ObjectMeta: metav1.ObjectMeta{Name: "web"}}},
			backupKinds[2]:      {{ObjectMeta: metav1.ObjectMeta{Name: "web-1", Finalizers: []string{"data"}}}},
		},
	}
}

func TestDecideRefuses(t *testing.T) {
	keep, remove := Choice{KeepApplications: true}, Choice{DeleteApplications: true}
	for name, tt := range map[string]struct {
		change func(p *Present)
		choice Choice
		want   string
	}{
		"no decision":    {func(*Present) {}, Choice{}, "the cluster has 1 NginxOperator objects: --keep-applications leaves them"},
		"both":           {func(*Present) {}, Choice{KeepApplications: true, DeleteApplications: true}, "not both"},
		"no application": {func(p *Present) { delete(p.Objects, applicationKinds[2]) }, Choice{}, ""},
		"keep":           {func(*Present) {}, keep, ""},
		"delete":         {func(*Present) {}, remove, ""},
		"old objects": {func(p *Present) { p.Definitions[0].Status.StoredVersions = []string{"v1alpha1", "v1alpha2"} }, keep,
			"may be stored as v1alpha1 and v1alpha2"},
		"old objects that are deleted": {func(p *Present) { p.Definitions[0].Status.StoredVersions = []string{"v1alpha1", "v1alpha2"} }, remove, ""},
		"definitions of applications":  {func(*Present) {}, Choice{KeepApplications: true, DeleteDefinitions: true}, "--delete-crds would delete 1 NginxOperator objects"},
		"definitions of backups":       {func(*Present) {}, Choice{DeleteApplications: true, DeleteDefinitions: true}, "--delete-crds would delete 1 NginxBackup objects"},
		"everything":                   {func(*Present) {}, Choice{DeleteApplications: true, DeleteBackups: true, DeleteDefinitions: true}, ""},
		"data without an operator": {func(p *Present) { p.Operators[0].Deployment.Status.AvailableReplicas = 0 }, Choice{DeleteApplications: true, DeleteBackups: true},
			"no operator runs that deletes the data of backups"},
		"Helm": {func(p *Present) { p.Operators[0].Method, p.Operators[0].HelmRelease = installation.Helm, "mine" }, remove,
			"helm uninstall mine -n nginx-operator-system"},
		"OLM":           {func(p *Present) { p.Operators[0].Method = installation.OLM }, remove, "Uninstalling by OLM"},
		"one namespace": {func(p *Present) { p.Operators[0].Namespaces = []string{"shop"} }, remove, "For one namespace"},
		"nothing":       {func(p *Present) { *p = Present{} }, remove, "the operator is not installed"},
	} {
		t.Run(name, func(t *testing.T) {
			p := present()
			tt.change(&p)
			_, err := Decide(p, tt.choice, nil)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestDecide: what the operator helps to delete comes first, and its own objects in the reverse order of their creation.
func TestDecide(t *testing.T) {
	installed, err := manifests.Render(manifests.Options{})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := Decide(present(), Choice{DeleteApplications: true, DeleteBackups: true, DeleteDefinitions: true}, installed)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, kind := range plan.Kinds {
		kinds = append(kinds, kind.Kind)
	}
	if diff := cmp.Diff([]string{"NginxCachePurge", "NginxCache", "NginxOperator", "NginxBackupPolicy", "NginxRestore", "NginxBackup"}, kinds); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	first, last := plan.Objects[0].GetKind(), plan.Objects[len(plan.Objects)-1].GetKind()
	if first != "Deployment" || last != "Namespace" || len(plan.Objects)+4 != len(installed) {
		t.Errorf("the objects are deleted from %s to %s", first, last)
	}
	if diff := cmp.Diff([]string{"the namespace nginx-operator-system is deleted with everything in it, unless it has PersistentVolumeClaims"}, plan.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

func TestNotes(t *testing.T) {
	plan, err := Decide(present(), Choice{KeepApplications: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"1 NginxOperator objects stay, and nginx continues to serve, unmanaged",
		"1 NginxBackup objects stay. Without an operator, a backup with a finalizer cannot be deleted",
		"the CustomResourceDefinitions stay. Until an operator runs again, v1alpha2 can be read and written, and v1alpha1 cannot",
		"the namespace nginx-operator-system is deleted with everything in it, unless it has PersistentVolumeClaims",
	}
	if diff := cmp.Diff(want, plan.Notes); diff != "" || len(plan.Kinds) > 0 || len(plan.Definitions) > 0 {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}
