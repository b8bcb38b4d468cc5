package api

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/api/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/conversion"
)

// hidden returns an annotation as a client of v1alpha1 could write it.
func hidden(spec string) map[string]string {
	return map[string]string{conversion.AnnotationSpec: spec}
}

// TestHiddenSpecIsValidated: a v1alpha2 spec that is written manually where v1alpha1's schema does
// not see it is validated.
func TestHiddenSpecIsValidated(t *testing.T) {
	namespace := newNamespace(t)
	tests := []struct {
		name, spec string
		// want is part of the error message. If empty, the object is accepted.
		want string
	}{
		{name: "valid", spec: `{"image":"nginx:1.30","ports":[{"name":"web","port":80},{"name":"admin","port":81}]}`},
		{name: "no JSON", spec: `{`, want: "does not contain a v1alpha2 spec"},
		{name: "endless quantity", spec: `{"resources":{"limits":{"cpu":"1e-99999999999"}}}`, want: "is not a quantity"},
		{name: "image", spec: `{"image":"nginx latest"}`, want: "must be an image reference"},
		{name: "both configurations", spec: `{"config":{"files":{"a.conf":""},"configMap":{"name":"a"}}}`, want: "exactly one of config.files and config.configMap"},
		{name: "same port twice", spec: `{"ports":[{"name":"a","port":80},{"name":"b","port":80}]}`, want: "same port number and protocol"},
		{name: "same name twice", spec: `{"ports":[{"name":"a","port":80},{"name":"a","port":81}]}`, want: "Duplicate value"},
		{name: "reserved mount path", spec: `{"content":[{"mountPath":"/tmp","configMap":{"name":"a"}}]}`, want: "folder that nginx or the operator uses"},
		{name: "volume of the operator", spec: `{"podTemplate":{"volumeMounts":[{"name":"instance","mountPath":"/x"}]}}`, want: "must be the name of a volume of podTemplate.volumes"},
		{name: "sidecar as root", spec: `{"podTemplate":{"containers":[{"name":"a","image":"b","runAsUser":0}]}}`, want: "greater than or equal to 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			old := asV1Alpha1(namespace, strings.ReplaceAll(strings.ToLower(tt.name), " ", "-"))
			old.Annotations = hidden(tt.spec)
			checkRefusal(t, kube.Create(t.Context(), old, client.DryRunAll), tt.want)
			checkRefusal(t, kube.Create(t.Context(), old), tt.want)

			edited := asV1Alpha1(namespace, old.Name+"-edited")
			must(t, kube.Create(t.Context(), edited))
			patch := client.MergeFrom(edited.DeepCopy())
			edited.Annotations = hidden(tt.spec)
			checkRefusal(t, kube.Patch(t.Context(), edited, patch), tt.want)
			if err := get(t, asV1Alpha2(namespace, old.Name)); (tt.want != "") != apierrors.IsNotFound(err) {
				t.Errorf("after its creation, reading it says: %v", err)
			}
			must(t, get(t, asV1Alpha2(namespace, edited.Name)))
		})
	}
}

func checkRefusal(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("refused: %v", err)
	case want != "" && err == nil:
		t.Errorf("accepted, want an error that says %q", want)
	case want != "" && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), conversion.AnnotationSpec)):
		t.Errorf("error does not say %q and name the annotation: %v", want, err)
	}
}

func asV1Alpha2(namespace, name string) *v1alpha2.NginxOperator {
	return &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// TestMergedObjectMayBeInvalid: a client can stop applying a port that another client also applies.
// The API server converts an intermediate object without that port, in which the default port has
// the number of another port, but the stored object is valid.
func TestMergedObjectMayBeInvalid(t *testing.T) {
	namespace := newNamespace(t)
	apply := func(version, owner, spec string) {
		t.Helper()
		obj := &unstructured.Unstructured{}
		must(t, yaml.Unmarshal([]byte(`{apiVersion: operator.example.com/`+version+`, kind: NginxOperator, spec: `+spec+`}`), obj))
		obj.SetNamespace(namespace)
		obj.SetName("web")
		must(t, kube.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner(owner)))
	}
	apply("v1alpha1", "old", `{port: 8080}`)
	apply("v1alpha2", "new", `{ports: [{name: http, port: 8080}, {name: admin, port: 80}]}`)
	apply("v1alpha1", "old", `{replicas: 3}`)

	nginx := asV1Alpha2(namespace, "web")
	must(t, get(t, nginx))
	if *nginx.Spec.Replicas != 3 || len(nginx.Spec.Ports) != 2 || nginx.Spec.Ports[0].Port != 8080 || nginx.Spec.Ports[1].Port != 80 {
		t.Errorf("replicas = %d, ports = %+v", *nginx.Spec.Replicas, nginx.Spec.Ports)
	}
}

// TestInvalidObjectCanBeDeleted: an object with an invalid hidden spec, which is possible only
// while it is being deleted, can be read in every version, and a client of v1alpha1 can remove its
// finalizer.
func TestInvalidObjectCanBeDeleted(t *testing.T) {
	namespace := newNamespace(t)
	old := asV1Alpha1(namespace, "web")
	old.Finalizers = []string{"example.com/wait"}
	must(t, kube.Create(t.Context(), old))
	must(t, kube.Delete(t.Context(), old))
	must(t, get(t, old))
	patch := client.MergeFrom(old.DeepCopy())
	old.Annotations = hidden(`{"image":"nginx latest"}`)
	must(t, kube.Patch(t.Context(), old, patch))

	nginx := asV1Alpha2(namespace, "web")
	must(t, get(t, nginx))
	if nginx.Spec.Image == nil || *nginx.Spec.Image != "nginx latest" {
		t.Errorf("image = %v", nginx.Spec.Image)
	}
	must(t, kube.List(t.Context(), &v1alpha1.NginxOperatorList{}, client.InNamespace(namespace)))
	must(t, get(t, old))
	patch = client.MergeFrom(old.DeepCopy())
	old.Finalizers = nil
	must(t, kube.Patch(t.Context(), old, patch))
	if err := get(t, nginx); !apierrors.IsNotFound(err) {
		t.Errorf("after the last finalizer: %v", err)
	}
}

// warnings records the warnings of the API server.
type warnings struct{ texts []string }

func (w *warnings) HandleWarningHeader(_ int, _ string, text string) { w.texts = append(w.texts, text) }

// TestV1Alpha1IsDeprecated: a client of the old version gets a warning that names the new version,
// and a client of the new version gets none.
func TestV1Alpha1IsDeprecated(t *testing.T) {
	namespace := newNamespace(t)
	must(t, kube.Create(t.Context(), asV1Alpha2(namespace, "web")))
	warned := &warnings{}
	config := rest.CopyConfig(plane.Config)
	config.WarningHandler = warned
	reader, err := client.New(config, client.Options{Scheme: kube.Scheme()})
	must(t, err)

	must(t, reader.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "web"}, &v1alpha2.NginxOperator{}))
	if len(warned.texts) > 0 {
		t.Errorf("reading v1alpha2 is warned of: %q", warned.texts)
	}
	must(t, reader.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "web"}, &v1alpha1.NginxOperator{}))
	if len(warned.texts) != 1 || !strings.Contains(warned.texts[0], "v1alpha1 NginxOperator is deprecated: use operator.example.com/v1alpha2") {
		t.Errorf("reading v1alpha1 is warned of by %q, want one warning that names v1alpha2", warned.texts)
	}
}
