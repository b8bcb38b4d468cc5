package manager

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "example.com/nginx-operator/api/backup/v1alpha1"
	cachev1alpha1 "example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/boundedjson"
	"example.com/nginx-operator/internal/kube/cachedcontent"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/desired"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/observe"
)

// maxIdentity is the most that an object takes without its content, in bytes.
const maxIdentity = 3 << 10

// TestCachedObjectsAreBounded: 300 large objects of any kind in one namespace take no more than its budget, with whatever owner.
// Kubernetes bounds neither the labels nor the owners of an object.
func TestCachedObjectsAreBounded(t *testing.T) {
	const objects = 300
	labels := map[string]string{naming.LabelApplication: "web", job.LabelTask: string(job.Create)}
	for i := range 2_000 {
		labels[fmt.Sprintf("example.com/%s-%d", strings.Repeat("x", 40), i)] = strings.Repeat("x", 60)
	}
	options := Options{Controllers: []string{ControllerNginx, ControllerBackup, ControllerCache}}
	byObject := options.cacheOptions(newContent()).ByObject
	if len(byObject) < 15 {
		t.Fatalf("only %d kinds are cached", len(byObject))
	}
	for _, declared := range []client.Object{
		&backupv1alpha1.NginxBackup{}, &backupv1alpha1.NginxBackupPolicy{}, &backupv1alpha1.NginxRestore{}, &cachev1alpha1.NginxCachePurge{},
	} {
		byObject[declared] = ctrlcache.ByObject{Transform: options.cacheOptions(newContent()).DefaultTransform}
	}
	for of, how := range byObject {
		switch of.(type) {
		case *v1alpha2.NginxOperator, *cachev1alpha1.NginxCache:
			continue // A ResourceQuota bounds their number: what users declare is read as a whole.
		case *apiextensionsv1.CustomResourceDefinition, *corev1.Secret:
			continue // Of these, one is cached, by its name.
		}
		for name, owner := range owners {
			t.Run(reflect.TypeOf(of).Elem().Name()+" of "+name, func(t *testing.T) {
				labels := labels
				if len(owner.UID) < len(long) {
					labels = map[string]string{naming.LabelApplication: "web", job.LabelTask: string(job.Create)}
				}
				size := 0
				for i := range objects {
					got, err := how.Transform(large(of, i, labels, owner))
					if err != nil {
						t.Fatal(err)
					}
					size += boundedjson.Size(got)
				}
				if size > observe.MaxObjectsOfNamespace+objects*maxIdentity {
					t.Errorf("they take %d MiB", size>>20)
				}
			})
		}
	}
}

// TestTransformations: each kind has a transformation of its own. The default removes metadata that other users need.
func TestTransformations(t *testing.T) {
	options := Options{Controllers: []string{ControllerNginx, ControllerBackup, ControllerCache}}
	for of, how := range options.cacheOptions(newContent()).ByObject {
		if how.Transform == nil {
			t.Errorf("%T has none", of)
		}
	}
}

// TestTrimDeclared: of the metadata of what users declare, what is the operator's is kept, up to a size. A patch of finalizers that
// are not in the cache is refused.
func TestTrimDeclared(t *testing.T) {
	finalizers := []string{backupv1alpha1.Finalizer, "example.com/theirs"}
	backup := &backupv1alpha1.NginxBackup{ObjectMeta: metav1.ObjectMeta{
		Name: "a", GenerateName: "a", ManagedFields: []metav1.ManagedFieldsEntry{{}}, Finalizers: slices.Clone(finalizers),
		Labels: map[string]string{backupv1alpha1.LabelPolicy: "p", "example.com/theirs": "x"}, Annotations: map[string]string{"theirs": "x"},
	}}
	want := &backupv1alpha1.NginxBackup{ObjectMeta: metav1.ObjectMeta{
		Name: "a", Finalizers: finalizers, Labels: map[string]string{backupv1alpha1.LabelPolicy: "p"},
	}}
	got, err := trimDeclared(backup)
	if diff := cmp.Diff(any(want), got); diff != "" || err != nil || !cachedcontent.HasAllFinalizers(backup) {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	for i := range 10_000 {
		backup.Finalizers = append(backup.Finalizers, fmt.Sprintf("x%d.operator.example.com/theirs", i))
		backup.Labels[fmt.Sprintf("operator.example.com/x%d", i)] = "x"
	}
	if _, err := trimDeclared(backup); err != nil || len(backup.Labels) > 0 || cachedcontent.HasAllFinalizers(backup) || !slices.Equal(backup.Finalizers, finalizers[:1]) {
		t.Errorf("%v, %d labels, finalizers %.100q", err, len(backup.Labels), backup.Finalizers)
	}
}

// TestReferencesAreBounded: of all ConfigMaps, which no budget bounds, little is kept with whatever owner.
func TestReferencesAreBounded(t *testing.T) {
	for name, owner := range owners {
		owner.Kind = cachev1alpha1.Kind
		meta := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name: cachev1alpha1.PurgesName(owner.Name), OwnerReferences: []metav1.OwnerReference{owner},
		}}
		if got, err := trimReference(meta); err != nil || boundedjson.Size(got) > maxIdentity+len(meta.Name) {
			t.Errorf("%s: %v, %d bytes", name, err, boundedjson.Size(got))
		}
	}
}

// TestPodOfTwoCaches: a pod that two caches hold is charged for both, and each gives back what it charged.
func TestPodOfTwoCaches(t *testing.T) {
	content := newContent()
	application := content.pods()
	jobs := jobPods(content)
	pod := func() *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "both", UID: "both", ResourceVersion: "7", Annotations: map[string]string{"theirs": strings.Repeat("x", 60<<10)},
			Labels: map[string]string{naming.LabelApplication: "web", job.LabelTask: string(job.Create)},
		}}
	}
	kept, err := content.Within(jobs, content.UpTo(maxPod, trimJobPod))(pod())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := application(pod()); err != nil {
		t.Fatal(err)
	}
	if used, size := content.running.Used(), int64(boundedjson.Size(kept)); used < size {
		t.Errorf("%d bytes are charged, and one cache alone keeps %d", used, size)
	}
}

// TestOptionalObjectsAreBounded: large objects of a kind that the cluster may lack take no more than the budget of a namespace,
// with whatever owner. Those of other owners are cached without their content.
func TestOptionalObjectsAreBounded(t *testing.T) {
	const objects = 300
	annotations := map[string]string{"a": strings.Repeat("x", 250<<10)}
	rules := make([]any, 500)
	for i := range rules {
		rules[i] = map[string]any{"matches": []any{map[string]any{"path": map[string]any{}}}}
	}
	for _, kind := range desired.OptionalKinds(application.KindDeployment) {
		for name, fill := range map[string]func(*unstructured.Unstructured){
			"annotations": func(u *unstructured.Unstructured) { u.SetAnnotations(annotations) },
			"a spec":      func(u *unstructured.Unstructured) { u.Object["spec"] = map[string]any{"rules": rules} },
			"no owner": func(u *unstructured.Unstructured) {
				u.Object["spec"] = map[string]any{"rules": rules}
				u.SetOwnerReferences(nil)
			},
		} {
			transform, allowance := newContent().ofKind(kind)
			size, last := 0, (*unstructured.Unstructured)(nil)
			for i := range objects {
				object := kind.New().(*unstructured.Unstructured)
				large := large(object, i, map[string]string{naming.LabelApplication: "web"}, owners["an NginxOperator"]).(*unstructured.Unstructured)
				large.SetGroupVersionKind(kind.GVK)
				fill(large)
				got, err := transform(large)
				if err != nil {
					t.Fatal(err)
				}
				last = got.(*unstructured.Unstructured)
				size += boundedjson.Size(last)
			}
			if size > observe.MaxObjectsOfNamespace+objects*maxIdentity || allowance.Budget.Used() > observe.MaxObjectsOfNamespace {
				t.Errorf("%s with %s: they take %d MiB", kind.Name, name, size>>20)
			}
			if last.Object["spec"] != nil || last.GroupVersionKind() != kind.GVK || observe.ApplicationLabel(last)[0] != "web" {
				t.Errorf("%s with %s: the last one is %v", kind.Name, name, last.Object)
			}
		}
	}
}

// owners are controllers that a user can name.
var owners = map[string]metav1.OwnerReference{
	"an NginxOperator":  {APIVersion: v1alpha2.GroupVersion.String(), Kind: v1alpha2.Kind, Name: "web", UID: "forged", Controller: new(true)},
	"a long UID":        {APIVersion: v1alpha2.GroupVersion.String(), Kind: v1alpha2.Kind, Name: "web", UID: types.UID(long), Controller: new(true)},
	"a long name":       {APIVersion: v1alpha2.GroupVersion.String(), Kind: v1alpha2.Kind, Name: long, UID: "forged", Controller: new(true)},
	"a long kind":       {APIVersion: v1alpha2.GroupVersion.String(), Kind: long, Name: "web", UID: "forged", Controller: new(true)},
	"a long apiVersion": {APIVersion: long + "/v1", Kind: v1alpha2.Kind, Name: "web", UID: "forged", Controller: new(true)},
}

var long = strings.Repeat("x", 200<<10)

// large returns an object of a kind with labels and an owner.
func large(of client.Object, number int, labels map[string]string, owner metav1.OwnerReference) client.Object {
	if _, ok := of.(*appsv1.ReplicaSet); ok {
		of = &metav1.PartialObjectMetadata{}
	}
	object, _ := reflect.TypeAssert[client.Object](reflect.New(reflect.TypeOf(of).Elem()))
	object.SetNamespace("shop")
	object.SetName(fmt.Sprint("large-", number))
	object.SetUID(types.UID(fmt.Sprint("uid-", number)))
	object.SetOwnerReferences([]metav1.OwnerReference{owner})
	object.SetLabels(maps.Clone(labels))
	object.SetGenerateName(long)
	object.SetFinalizers([]string{long})
	object.SetSelfLink(long)
	switch o := object.(type) {
	case *corev1.PersistentVolumeClaim:
		o.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
		for name := range labels {
			o.Spec.Resources.Requests[corev1.ResourceName(name)] = resource.MustParse("1")
		}
		o.Spec.Resources.Limits = o.Spec.Resources.Requests
	case *autoscalingv2.HorizontalPodAutoscaler:
		o.Spec.ScaleTargetRef.Name = long
	}
	return object
}
