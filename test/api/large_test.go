package api

import (
	"encoding/base64"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/conversion"
)

// large returns an application with inline files of a total length, which cannot be compressed, and an annotation of a length.
func large(namespace, name string, files, annotation int) *v1alpha2.NginxOperator {
	random := rand.New(rand.NewSource(1))
	text := func(length int) string {
		raw := make([]byte, length)
		random.Read(raw)
		return base64.StdEncoding.EncodeToString(raw)[:length]
	}
	nginx := asV1Alpha2(namespace, name)
	nginx.Spec.Config = &v1alpha2.Config{Files: map[string]v1alpha2.ConfigFile{"a.conf": "server { listen 80; }"}}
	for i := 0; files > 0; i++ {
		nginx.Spec.Config.Files[fmt.Sprintf("%d.txt", i)] = v1alpha2.ConfigFile(text(min(files, 256<<10)))
		files -= 256 << 10
	}
	if annotation > 0 {
		nginx.Annotations = map[string]string{"example.com/a": text(annotation)}
	}
	return nginx
}

// TestLargeObjectsAsV1Alpha1: clients of v1alpha1 can list and change objects of every size. A single one that cannot be
// converted would fail their lists in the whole cluster.
func TestLargeObjectsAsV1Alpha1(t *testing.T) {
	namespace := newNamespace(t)
	const room = 256<<10 - len("example.com/a")
	for name, size := range map[string]struct{ files, annotation int }{
		"small": {10, 10}, "applied": {135 << 10, 135 << 10}, "edge": {250 << 10, 10 << 10}, "large": {900 << 10, 0}, "largest": {1200 << 10, 0},
		"annotated": {10, room}, "no-room": {300 << 10, room}, "nearly-no-room": {300 << 10, room - len(conversion.AnnotationSpec) - 10},
	} {
		want := large(namespace, name, size.files, size.annotation)
		must(t, kube.Create(t.Context(), want))
		must(t, kube.List(t.Context(), &v1alpha1.NginxOperatorList{}))
		t.Run(name, func(t *testing.T) {
			old := asV1Alpha1(namespace, name)
			must(t, get(t, old))
			must(t, kube.Patch(t.Context(), old, merge(`{"spec":{"replicas":3}}`)))
			must(t, kube.Patch(t.Context(), old, merge(`{"metadata":{"labels":{"a":"b"}}}`)))
			setScale(t, old, 4)
			eventually(t, "the whole object is updated", func() error {
				if err := get(t, old); err != nil {
					return err
				}
				old.Spec.Port = new(int32(8080))
				return kube.Update(t.Context(), old)
			})
			got := asV1Alpha2(namespace, name)
			must(t, get(t, got))
			if *got.Spec.Replicas != 4 || got.Spec.Ports[0].Port != 8080 {
				t.Errorf("%d replicas, port %d", *got.Spec.Replicas, got.Spec.Ports[0].Port)
			}
			if !apiequality.Semantic.DeepEqual(got.Spec.Config, want.Spec.Config) || got.Annotations["example.com/a"] != want.Annotations["example.com/a"] {
				t.Error("the files or the annotations have changed")
			}
			if _, left := got.Annotations[conversion.AnnotationSpec]; left {
				t.Error("the annotation is in the stored object")
			}
			copied := old.DeepCopy()
			copied.ObjectMeta = metav1.ObjectMeta{Namespace: namespace, Name: name + "-copy", Annotations: old.Annotations}
			must(t, kube.Create(t.Context(), copied))
			must(t, kube.Delete(t.Context(), copied))
		})
	}
	must(t, kube.DeleteAllOf(t.Context(), &v1alpha1.NginxOperator{}, client.InNamespace(namespace)))
}

// TestManyLargeObjectsAsV1Alpha1: a list may be larger than what the conversion webhook takes at once, because the API server
// converts the objects one by one.
func TestManyLargeObjectsAsV1Alpha1(t *testing.T) {
	namespace := newNamespace(t)
	const number = 12
	for i := range number {
		must(t, kube.Create(t.Context(), large(namespace, fmt.Sprintf("large-%d", i), 1000<<10, 0)))
	}
	list := &v1alpha1.NginxOperatorList{}
	must(t, kube.List(t.Context(), list, client.InNamespace(namespace)))
	if len(list.Items) != number {
		t.Errorf("the list has %d objects", len(list.Items))
	}
	must(t, kube.DeleteAllOf(t.Context(), &v1alpha2.NginxOperator{}, client.InNamespace(namespace)))
}

func setScale(t *testing.T, old *v1alpha1.NginxOperator, replicas int32) {
	t.Helper()
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
	must(t, kube.SubResource("scale").Update(t.Context(), old, client.WithSubResourceBody(scale)))
}

// TestClientsThatDropTheField: a client that was built before v1alpha1 had the field sends an object without it. It is refused
// with the reason, and nothing is lost.
func TestClientsThatDropTheField(t *testing.T) {
	namespace := newNamespace(t)
	for name, annotation := range map[string]int{"web": 0, "no-room": 256<<10 - len("example.com/a")} {
		want := large(namespace, name, 300<<10, annotation)
		must(t, kube.Create(t.Context(), want))
		waitObserved(t, want)
		old := asV1Alpha1(namespace, name)
		must(t, get(t, old))
		old.Spec.V1Alpha2Spec = nil
		old.Spec.Replicas = new(int32(3))
		err := kube.Update(t.Context(), old)
		if err == nil || !strings.Contains(err.Error(), "spec.v1alpha2Spec is missing") {
			t.Errorf("%s: the answer is %v", name, err)
		}
		got := asV1Alpha2(namespace, name)
		must(t, get(t, got))
		if !apiequality.Semantic.DeepEqual(got.Spec, want.Spec) {
			t.Errorf("%s: the spec has changed", name)
		}
		must(t, kube.Delete(t.Context(), got))
	}
	old := asV1Alpha1(namespace, "copy")
	old.Annotations = map[string]string{conversion.AnnotationSpec: "in spec.v1alpha2Spec"}
	if err := kube.Create(t.Context(), old); err == nil || !strings.Contains(err.Error(), "spec.v1alpha2Spec is missing") {
		t.Errorf("a copy without the field: %v", err)
	}
}
