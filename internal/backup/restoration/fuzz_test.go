package restoration

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/snapshot"
)

// FuzzParse: of documents from an untrusted source, only objects of the application and its
// namespace are restored, without anything that the API server would act on, such as owners,
// finalizers or a status.
func FuzzParse(f *testing.F) {
	f.Add(application, "conf", "apiVersion: v1\nkind: ConfigMap\nmetadata: {namespace: shop, name: conf}\ndata: {a.conf: server}")
	f.Add(application, "kube-root-ca.crt", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"shop","name":"kube-root-ca.crt"},"data":{"ca.crt":""}}`)
	f.Add(application, "../x", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"kube-system","name":"../x"}}`)
	f.Add("apiVersion: operator.example.com/v1alpha2\nkind: NginxOperator\nmetadata: {namespace: shop, name: web, finalizers: [a/b], ownerReferences: [{name: x}], uid: u}\nstatus: {replicas: 1}", "a", "")
	f.Add("a: &a [1]\nb: *a", "", "")
	f.Add("? {a: 1}\n: !!binary aGk=\n0x1F: 1e400", "", "!!set {a, b}")
	f.Fuzz(func(t *testing.T, nginx, name, configMap string) {
		files := []archive.File{{Path: archive.ApplicationPath, Data: []byte(nginx)}, {Path: archive.ConfigMapsFolder + name + ".yaml", Data: []byte(configMap)}}
		for i := range files {
			text, err := YAMLToJSON(files[i].Data)
			if err != nil {
				return
			}
			if most := 1<<10 + 64*len(files[i].Data); len(text) > most {
				t.Errorf("%d bytes of YAML are %d of JSON", len(files[i].Data), len(text))
			}
			files[i].Data = text
		}
		about := info()
		about.Content = nil
		b, err := Parse(about, files, "shop")
		if err != nil {
			return
		}
		request := Request{Restore: "r1", Target: b.Nginx.Name, Items: []v1alpha1.RestoreItem{v1alpha1.RestoreSpec, v1alpha1.RestoreConfiguration, v1alpha1.RestoreContent}}
		plan, err := Build(request, b, Live{})
		if err != nil {
			return
		}
		checkPlan(t, b.Nginx, plan)
	})
}

func checkPlan(t *testing.T, nginx *v1alpha2.NginxOperator, plan Plan) {
	t.Helper()
	checkMeta(t, &plan.Nginx.ObjectMeta)
	if plan.Nginx.Name != "web" || plan.Nginx.Status.Replicas != 0 || len(plan.Nginx.Status.Conditions) > 0 {
		t.Errorf("%s is restored, with the status %+v", plan.Nginx.Name, plan.Nginx.Status)
	}
	for _, cm := range plan.ConfigMaps {
		checkMeta(t, &cm.ObjectMeta)
		if !slices.Contains(snapshot.ConfigMaps(&nginx.Spec), cm.Name) {
			t.Errorf("ConfigMap %s is restored, which the application does not refer to", cm.Name)
		}
	}
	if len(plan.Volumes) > 0 || len(plan.Conflicts) > 0 {
		t.Errorf("the plan is %+v", plan)
	}
}

func checkMeta(t *testing.T, meta *metav1.ObjectMeta) {
	t.Helper()
	if meta.Namespace != "shop" || len(meta.OwnerReferences)+len(meta.Finalizers) > 0 || meta.UID != "" || meta.ResourceVersion != "" ||
		meta.DeletionTimestamp != nil || meta.Annotations[v1alpha1.AnnotationRestoredBy] != "r1" {
		t.Errorf("what is restored has the metadata %+v", meta)
	}
}

// TestConfigMapsOfOthers: an archive cannot replace a ConfigMap that its application does not refer
// to.
func TestConfigMapsOfOthers(t *testing.T) {
	files := asJSON(t, append(documents(t), asFile(t, "configmaps/kube-root-ca.crt.yaml", configMap("kube-root-ca.crt", "mine"))))
	if _, err := Parse(info(), files, "shop"); err == nil || err.Error() != "the backup has ConfigMap kube-root-ca.crt, which its application does not refer to" {
		t.Errorf("Parse() = %v", err)
	}
}

func asJSON(t *testing.T, files []archive.File) []archive.File {
	t.Helper()
	for i := range files {
		text, err := YAMLToJSON(files[i].Data)
		if err != nil {
			t.Fatal(err)
		}
		files[i].Data = text
	}
	return files
}
