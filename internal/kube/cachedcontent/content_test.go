package cachedcontent

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"

	"example.com/nginx-operator/internal/boundedjson"
	"example.com/nginx-operator/internal/kube/budget"
)

const megabyte = 1 << 20

// labelled returns a ConfigMap of 1 MB with the label of an application.
func labelled(namespace string, n int, owners ...metav1.OwnerReference) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: fmt.Sprint("cm-", n), UID: types.UID(fmt.Sprint(namespace, n)), ResourceVersion: "7",
		Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"theirs": "x"}, OwnerReferences: owners,
	}, Data: map[string]string{"a": strings.Repeat("x", megabyte)}}
}

func web(apiVersion, kind string) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: "web", UID: "web", Controller: new(true)}
}

func newContent() *Content {
	return New([]string{"app"}, schema.GroupKind{Group: "example.com", Kind: "Web"})
}

// allowed returns an allowance of 10 MB for a namespace, and of 100 MB for all.
func allowed(free int) Allowance {
	return Allowance{Kind: "ConfigMap", Budget: budget.New(10*megabyte, 100*megabyte), Free: free}
}

func transformed(t *testing.T, transform toolscache.TransformFunc, cm *corev1.ConfigMap) *corev1.ConfigMap {
	t.Helper()
	got, err := transform(cm)
	if err != nil {
		t.Fatal(err)
	}
	return got.(*corev1.ConfigMap)
}

// TestContentOfOthers: ConfigMaps that merely have the label are cached without their content.
func TestContentOfOthers(t *testing.T) {
	notController := web("example.com/v1", "Web")
	notController.Controller = nil
	for name, tt := range map[string]struct {
		owners []metav1.OwnerReference
		kept   bool
	}{
		"no owner":            {nil, false},
		"its owner":           {[]metav1.OwnerReference{web("example.com/v1", "Web")}, true},
		"another version":     {[]metav1.OwnerReference{web("example.com/v2", "Web")}, true},
		"another group":       {[]metav1.OwnerReference{web("example.org/v1", "Web")}, false},
		"another kind":        {[]metav1.OwnerReference{web("example.com/v1", "Shop")}, false},
		"not its controller":  {[]metav1.OwnerReference{notController}, false},
		"an impossible group": {[]metav1.OwnerReference{web("a/b/c", "Web")}, false},
	} {
		c := newContent()
		for _, transform := range []toolscache.TransformFunc{
			c.OfOwners(ctrlcache.TransformStripManagedFields()), c.Within(allowed(0), c.OfOwners(ctrlcache.TransformStripManagedFields())),
		} {
			got := transformed(t, transform, labelled("shop", 1, tt.owners...))
			want := labelled("shop", 1, tt.owners...)
			if !tt.kept {
				want.Data, want.Annotations, want.OwnerReferences = nil, nil, Controller(want)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", name, diff)
			}
			if !IsCached(got) {
				t.Errorf("%s: it would be read again and again", name)
			}
		}
	}
}

// transformMany transforms 300 ConfigMaps of one namespace. It returns the last one, how many are cached, and the size of all.
func transformMany(t *testing.T, transform toolscache.TransformFunc, owner metav1.OwnerReference) (last *corev1.ConfigMap, cached, size int) {
	t.Helper()
	for n := range 300 {
		last = transformed(t, transform, labelled("greedy", n, owner))
		size += boundedjson.Size(last)
		if IsCached(last) {
			cached++
		}
	}
	return last, cached, size
}

// TestContentBudget: 300 ConfigMaps of 1 MB with a forged owner take no more than the budget of their namespace, and no other
// namespace loses anything. What is deleted makes room.
func TestContentBudget(t *testing.T) {
	c := newContent()
	allowance := allowed(0)
	transform, owner := c.Within(allowance, c.OfOwners(ctrlcache.TransformStripManagedFields())), web("example.com/v1", "Web")
	last, cached, size := transformMany(t, transform, owner)
	if cached != 9 || size > 11*megabyte {
		t.Errorf("%d ConfigMaps are cached, with %d bytes", cached, size)
	}
	if last.Data != nil || last.ResourceVersion != "7" || last.Labels["app"] != "web" || len(last.OwnerReferences) != 1 {
		t.Errorf("without its content, it is %+v", last)
	}
	if !IsCached(transformed(t, transform, labelled("shop", 1, owner))) {
		t.Error("another namespace loses its content")
	}
	if again := transformed(t, transform, last); IsCached(again) {
		t.Error("without its content, it is taken for cached when it is transformed again")
	}
	deleted := allowance.Deleted()
	deleted.OnDelete(labelled("greedy", 0, owner))
	deleted.OnDelete(toolscache.DeletedFinalStateUnknown{Key: "greedy/cm-1", Obj: labelled("greedy", 1, owner)})
	if !IsCached(transformed(t, transform, labelled("greedy", 400, owner))) {
		t.Error("what was deleted makes no room")
	}
}

// TestFreeObjects: objects of up to a size take nothing of the budget.
func TestFreeObjects(t *testing.T) {
	allowance, owner := allowed(2*megabyte), web("example.com/v1", "Web")
	transform := newContent().Within(allowance, ctrlcache.TransformStripManagedFields())
	_, cached, _ := transformMany(t, transform, owner)
	if used := allowance.Budget.Used(); cached != 300 || used != 0 {
		t.Errorf("%d small ConfigMaps are cached, and take %d bytes of the budget", cached, used)
	}
	grown := labelled("greedy", 1, owner)
	grown.Data["b"] = strings.Repeat("x", 3*megabyte)
	if !IsCached(transformed(t, transform, grown)) || allowance.Budget.Used() < 4*megabyte {
		t.Errorf("a large one takes %d bytes of the budget", allowance.Budget.Used())
	}
	if transformed(t, transform, labelled("greedy", 1, owner)); allowance.Budget.Used() != 0 {
		t.Errorf("when it has become small, it takes %d bytes of the budget", allowance.Budget.Used())
	}
}

// TestMetadataOfOthers: without its content, an object takes no memory for labels, annotations and owners without number.
func TestMetadataOfOthers(t *testing.T) {
	c := newContent()
	large := labelled("shop", 1, web("example.org/v1", "Web"))
	for n := range 10_000 {
		large.Labels[fmt.Sprint("label-", n)], large.Annotations[fmt.Sprint("annotation-", n)] = "x", "x"
		large.OwnerReferences = append(large.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "Secret", Name: fmt.Sprint(n)})
	}
	strip := ctrlcache.TransformStripManagedFields()
	for name, transform := range map[string]toolscache.TransformFunc{
		"of owners": c.OfOwners(strip), "within a budget": c.Within(allowed(0), c.OfOwners(strip)), "up to a size": c.UpTo(4<<10, strip),
	} {
		got := transformed(t, transform, large.DeepCopy())
		if size := boundedjson.Size(got); size > 2<<10 {
			t.Errorf("%s: it takes %d bytes", name, size)
		}
		if got.Labels["app"] != "web" || got.UID != large.UID || !metav1.IsControlledBy(got, &metav1.ObjectMeta{UID: "web"}) {
			t.Errorf("%s: it is %+v", name, got.ObjectMeta)
		}
	}
	small := labelled("shop", 2)
	small.Data = nil
	if got := transformed(t, c.UpTo(4<<10, strip), small); !IsCached(got) || got.Annotations == nil {
		t.Errorf("an object within the size is %+v", got.ObjectMeta)
	}
}

// TestMarkOfUser: a user cannot mark an object as one without its content, and so keep what it has taken of the budget.
func TestMarkOfUser(t *testing.T) {
	c, owner := newContent(), web("example.com/v1", "Web")
	allowance := allowed(0)
	transform := c.Within(allowance, c.OfOwners(ctrlcache.TransformStripManagedFields()))
	_ = transformed(t, transform, labelled("shop", 1, owner))
	marked := labelled("shop", 1, owner)
	marked.Annotations["operator.example.com/not-cached"] = string(TooLarge)
	if got := transformed(t, transform, marked); got.Data == nil && allowance.Budget.Used() > megabyte {
		t.Errorf("without its content, it takes %d bytes of the budget", allowance.Budget.Used())
	}
}

// TestRelabelledQuickly: an object whose label is removed and added again stays charged, although the handler of its deletion
// runs after the cache has it again. When it is deleted, nothing remains charged.
func TestRelabelledQuickly(t *testing.T) {
	c, owner := newContent(), web("example.com/v1", "Web")
	for _, name := range []string{"kept", "refused"} {
		allowance := allowed(0)
		transform := c.Within(allowance, c.OfOwners(ctrlcache.TransformStripManagedFields()))
		version := func(resourceVersion string) *corev1.ConfigMap {
			cm := labelled("shop", 1, owner)
			cm.ResourceVersion = resourceVersion
			if name == "refused" {
				cm.Data["b"] = strings.Repeat("x", 10*megabyte)
			}
			return transformed(t, transform, cm)
		}
		_, unlabelled, again := version("7"), version("8"), version("9")
		used, refused := allowance.Budget.Used(), allowance.Budget.Refused("shop")
		allowance.Deleted().OnDelete(unlabelled)
		if allowance.Budget.Used() != used || allowance.Budget.Refused("shop") != refused {
			t.Errorf("%s: %d bytes of the cached object are not charged", name, used-allowance.Budget.Used())
		}
		allowance.Deleted().OnDelete(again)
		if allowance.Budget.Used() != 0 || allowance.Budget.Refused("shop") != 0 {
			t.Errorf("%s: the deleted object takes %d bytes of the budget", name, allowance.Budget.Used())
		}
	}
}

// TestUnstructured: an unstructured object counts with its content, and keeps what identifies it without the content.
func TestUnstructured(t *testing.T) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(labelled("shop", 1, web("example.com/v1", "Web")))
	if err != nil {
		t.Fatal(err)
	}
	large := &unstructured.Unstructured{Object: fields}
	large.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	c, allowance := newContent(), allowed(0)
	allowance.Budget = budget.New(megabyte, 2*megabyte)
	got, err := c.Within(allowance, c.OfOwners(ctrlcache.TransformStripManagedFields()))(large.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	bare := got.(*unstructured.Unstructured)
	if bare.Object["data"] != nil || NotCached(bare) != budget.OfNamespace {
		t.Errorf("without its content, it is %v", bare.Object)
	}
	if bare.GroupVersionKind() != large.GroupVersionKind() || bare.GetUID() != large.GetUID() || bare.GetLabels()["app"] != "web" || !metav1.IsControlledBy(bare, &metav1.ObjectMeta{UID: "web"}) {
		t.Errorf("it is not identified: %v", bare.Object)
	}
}
