package pages

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// server returns a reader that has a number of ConfigMaps, and serves as many of them as are requested.
func server(t *testing.T, has int) client.Reader {
	t.Helper()
	return interceptor.NewClient(fake.NewFakeClient(), interceptor.Funcs{
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			wanted := (&client.ListOptions{}).ApplyOptions(options)
			if wanted.Limit == 0 || wanted.Namespace != "shop" {
				return fmt.Errorf("%d objects of namespace %q are requested", wanted.Limit, wanted.Namespace)
			}
			first, _ := strconv.Atoi(wanted.Continue)
			last := min(first+int(wanted.Limit), has)
			page := corev1.ConfigMapList{}
			for i := first; i < last; i++ {
				page.Items = append(page.Items, corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: strconv.Itoa(i)}})
			}
			if last < has {
				page.Continue = strconv.Itoa(last)
			}
			page.DeepCopyInto(list.(*corev1.ConfigMapList))
			return nil
		},
	})
}

// TestPages: all objects are read, few at a time, until an error.
func TestPages(t *testing.T) {
	for _, has := range []int{0, 1, size, size + 1, 3 * size} {
		var names []string
		list := &corev1.ConfigMapList{}
		err := Of(server(t, has))(t.Context(), list, func() error {
			if len(list.Items) > size {
				t.Errorf("%d objects are read at once", len(list.Items))
			}
			for _, item := range list.Items {
				names = append(names, item.Name)
			}
			return nil
		}, client.InNamespace("shop"))
		if err != nil || len(names) != has || len(slices.Compact(names)) != has {
			t.Errorf("of %d objects, %v are read: %v", has, names, err)
		}
	}
	failed, calls := errors.New("failed"), 0
	err := Of(server(t, 3*size))(t.Context(), &corev1.ConfigMapList{}, func() error {
		calls++
		return failed
	}, client.InNamespace("shop"))
	if !errors.Is(err, failed) || calls != 1 {
		t.Errorf("after an error, %d pages are read: %v", calls, err)
	}
}
