package caches

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/boundedjson"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/revision"
	"example.com/nginx-operator/test/plan"
)

// newPool returns a pool as the nginx operator uses it.
func newPool() *ValuePool {
	return NewValuePool(naming.LabelApplication, func(obj any) []metav1.Condition {
		if nginx, ok := obj.(*v1alpha2.NginxOperator); ok {
			return nginx.Status.Conditions
		}
		return nil
	})
}

// share passes a watched object through a pool's transformation and checks that the result
// is equal.
func share[T runtime.Object](t *testing.T, p *ValuePool, obj T) T {
	t.Helper()
	before := obj.DeepCopyObject()
	after, err := p.Sharing(ctrlcache.TransformStripManagedFields())(obj)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("sharing changes an object (-before +after):\n%s", diff)
	}
	return after.(T)
}

// ownedObject returns the objects of an application, each decoded separately.
func ownedObject(t *testing.T, nginx *v1alpha2.NginxOperator) []owned.Object {
	t.Helper()
	planned, _, err := plan.Fresh(nginx, revision.Options{DefaultImage: "nginx", InstanceImage: "operator"})
	if err != nil {
		t.Fatal(err)
	}
	var objects []owned.Object
	for _, intent := range planned.Intents {
		if !intent.ShouldExist() {
			continue
		}
		object := intent.Kind.New()
		text, err := json.Marshal(intent.Fields)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, object); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, object)
	}
	return objects
}

func application(name string, resources *corev1.ResourceRequirements) *v1alpha2.NginxOperator {
	return &v1alpha2.NginxOperator{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("uid-" + name)},
		Spec:       v1alpha2.NginxOperatorSpec{Resources: resources},
	}
}

func TestObjectsOfAnApplicationShareTheirMetadata(t *testing.T) {
	p := newPool()
	objects := ownedObject(t, application("web", nil))
	first := share(t, p, objects[0])
	for _, object := range objects[1:] {
		object = share(t, p, object)
		if !sameMap(first.GetLabels(), object.GetLabels()) {
			t.Errorf("%T has labels of its own", object)
		}
		if &first.GetOwnerReferences()[0] != &object.GetOwnerReferences()[0] {
			t.Errorf("%T has owner references of its own", object)
		}
	}
	other := share(t, p, ownedObject(t, application("api", nil))[0])
	if sameMap(first.GetLabels(), other.GetLabels()) {
		t.Error("two applications have the same labels")
	}
}

func TestConditionsShareStrings(t *testing.T) {
	p := newPool()
	decoded := func() *metav1.Condition {
		nginx := application("web", nil)
		nginx.Status.Conditions = []metav1.Condition{{
			Type: strings.Clone("Ready"), Status: metav1.ConditionStatus(strings.Clone("True")), Reason: strings.Clone("Ready"), Message: strings.Clone("It serves"),
		}}
		return &share(t, p, nginx).Status.Conditions[0]
	}
	one, other := decoded(), decoded()
	for what, words := range map[string][2]string{
		"type": {one.Type, other.Type}, "status": {string(one.Status), string(other.Status)},
		"reason": {one.Reason, other.Reason}, "message": {one.Message, other.Message},
	} {
		if unsafe.StringData(words[0]) != unsafe.StringData(words[1]) {
			t.Errorf("each has a %s of its own", what)
		}
	}
}

func TestPodTemplatesShareTheirContainers(t *testing.T) {
	limit := func(text string) *corev1.ResourceRequirements {
		return &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(text)}}
	}
	p := newPool()
	web, api := share(t, p, deploymentOf(t, "web", nil)), share(t, p, deploymentOf(t, "api", nil))
	if &web.Spec.Template.Spec.Containers[0] != &api.Spec.Template.Spec.Containers[0] ||
		&web.Spec.Template.Spec.InitContainers[0] != &api.Spec.Template.Spec.InitContainers[0] {
		t.Error("two applications have the same containers twice")
	}
	if !sameMap(web.Spec.Selector.MatchLabels, web.Spec.Template.Spec.TopologySpreadConstraints[0].LabelSelector.MatchLabels) {
		t.Error("the selectors of an application are there twice")
	}
	// The same amount in different spellings: drift detection compares spellings.
	for _, text := range []string{"1000Mi", "1048576k"} {
		d := share(t, p, deploymentOf(t, "limited", limit(text)))
		if got := d.Spec.Template.Spec.Containers[0].Resources.Limits.Memory().String(); got != text {
			t.Errorf("a limit of %s has become one of %s", text, got)
		}
	}
}

func TestPoolIsBounded(t *testing.T) {
	p := newPool()
	for i := range 2*mostShared + 1 {
		name := fmt.Sprint(i)
		sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: naming.Labels(name), Annotations: map[string]string{name: "a"},
			OwnerReferences: []metav1.OwnerReference{{UID: types.UID(name)}},
		}}
		if _, err := p.Sharing(ctrlcache.TransformStripManagedFields())(sa); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []int{len(p.labels.values), len(p.owners.values), len(p.words.values)} {
		if n > mostShared {
			t.Errorf("a table has %d entries, at most %d are allowed", n, mostShared)
		}
	}
}

// TestPoolIsBoundedInBytes: an object whose values change all the time, or are huge, leaves little in the pool.
func TestPoolIsBoundedInBytes(t *testing.T) {
	p := newPool()
	share := p.Sharing(ctrlcache.TransformStripManagedFields())
	for i := range 200 {
		name := fmt.Sprint(i)
		for _, size := range []int{100, 10 << 10, 300 << 10} {
			text := strings.Repeat("x", size) + name
			labels := naming.Labels(name)
			for j := range size / 50 {
				labels[fmt.Sprintf("example.com/%030d", j)] = "a"
			}
			deployment := deploymentOf(t, "web", nil)
			deployment.ObjectMeta = metav1.ObjectMeta{
				Labels: labels, Annotations: map[string]string{text: "a"}, OwnerReferences: []metav1.OwnerReference{{UID: types.UID(text)}},
			}
			deployment.Spec.Template.Spec.Containers[0].Args = []string{text}
			if _, err := share(deployment); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, size := range map[string]int{
		"labels": boundedjson.Size(p.labels.values), "owners": boundedjson.Size(p.owners.values),
		"containers": boundedjson.Size(p.containers.values), "words": boundedjson.Size(p.words.values),
	} {
		if size > 2*mostBytes || size == 0 {
			t.Errorf("%s take %d bytes, at most about %d are allowed", name, size, mostBytes)
		}
	}
}

func deploymentOf(t *testing.T, name string, resources *corev1.ResourceRequirements) *appsv1.Deployment {
	t.Helper()
	for _, object := range ownedObject(t, application(name, resources)) {
		if d, ok := object.(*appsv1.Deployment); ok {
			return d
		}
	}
	t.Fatal("there is no Deployment")
	return nil
}

func sameMap(a, b map[string]string) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}
