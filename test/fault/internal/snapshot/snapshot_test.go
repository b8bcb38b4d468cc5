package snapshot

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func picture(objects ...map[string]any) Picture {
	p := Picture{Objects: map[string]map[string]any{}, UIDs: map[string]string{}}
	for _, fields := range objects {
		p.add(&unstructured.Unstructured{Object: fields}, strings.NewReplacer("case-1", "<namespace>"))
	}
	return p
}

// configMap returns a ConfigMap whose metadata differ between runs.
func configMap(name, uid, text string) map[string]any {
	return map[string]any{
		"kind": "ConfigMap",
		"metadata": map[string]any{
			"name": name, "namespace": "case-1", "uid": uid, "resourceVersion": uid, "creationTimestamp": "2026-11-21T12:00:00Z",
			"annotations": map[string]any{"by": "owner 01234567-89ab-cdef-0123-456789abcde" + uid, "in": "case-1", "at": "2026-11-21T12:00:0" + uid + "Z"},
		},
		"data": map[string]any{"site.conf": text},
	}
}

func TestDifferences(t *testing.T) {
	want := picture(configMap("a", "1", "x"), configMap("b", "1", "x"))
	tests := map[string]struct {
		got  Picture
		mask Mask
		want []string
	}{
		"the same":      {got: picture(configMap("a", "2", "x"), configMap("b", "3", "x"))},
		"another value": {got: picture(configMap("a", "1", "y"), configMap("b", "1", "x")), want: []string{"ConfigMap/a.data.site.conf is y, not x"}},
		"missing":       {got: picture(configMap("a", "1", "x")), want: []string{"ConfigMap/b is missing"}},
		"too many": {
			got:  picture(configMap("a", "1", "x"), configMap("b", "1", "x"), configMap("c", "1", "x")),
			want: []string{"ConfigMap/c should not exist"},
		},
		"learned": {
			got:  picture(configMap("a", "1", "y"), configMap("b", "1", "x")),
			mask: Mask{Learned: map[string]bool{"ConfigMap/a.data.site.conf": true}},
		},
		"means": {
			got:  picture(configMap("a", "1", "y"), configMap("b", "1", "y")),
			mask: Mask{Means: regexp.MustCompile(`site\.conf$`)},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Differences(want, tt.got, tt.mask)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestGenerated: objects with generated names are distinguished by a number.
func TestGenerated(t *testing.T) {
	pod := func(name string) map[string]any {
		return map[string]any{"kind": "Pod", "metadata": map[string]any{"name": name, "generateName": "web-", "uid": name}}
	}
	two := picture(pod("web-a"), pod("web-b"))
	if diff := Differences(two, picture(pod("web-x"), pod("web-y")), Mask{}); diff != nil {
		t.Error(diff)
	}
	if diff := Differences(two, picture(pod("web-x")), Mask{}); len(diff) != 1 {
		t.Error(diff)
	}
}

func TestVolatile(t *testing.T) {
	mask, err := Volatile(picture(configMap("a", "1", "x")), picture(configMap("a", "1", "y")))
	if diff := cmp.Diff(map[string]bool{"ConfigMap/a.data.site.conf": true}, mask); err != nil || diff != "" {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	if _, err := Volatile(picture(configMap("a", "1", "x")), picture()); err == nil {
		t.Error("an object that is there only once is volatile")
	}
}

func TestReplaced(t *testing.T) {
	before := picture(configMap("a", "1", "x"), configMap("b", "1", "x"), configMap("c", "1", "x"))
	after := picture(configMap("a", "1", "x"), configMap("b", "2", "x"))
	if diff := cmp.Diff([]string{"ConfigMap/b"}, Replaced(before, after)); diff != "" {
		t.Errorf("replaced: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"ConfigMap/a"}, NotRecreated(before, after)); diff != "" {
		t.Errorf("kept: -want +got:\n%s", diff)
	}
}

// backup returns a backup whose name stands for one derived from a UID, created at the given
// second.
func backup(name, second, reason string) unstructured.Unstructured {
	return unstructured.Unstructured{Object: map[string]any{
		"kind":     "NginxBackup",
		"metadata": map[string]any{"name": name, "uid": name, "creationTimestamp": "2026-11-21T12:00:0" + second + "Z"},
		"status":   map[string]any{"reason": reason, "location": "pvc://backups/" + name + "/data"},
	}}
}

// TestDrawn: objects with drawn names are compared in the order of their creation.
func TestDrawn(t *testing.T) {
	taker := &Taker{Drawn: regexp.MustCompile(`^NginxBackup/(web-)[0-9a-f]{4}$`)}
	take := func(list ...unstructured.Unstructured) Picture {
		p := Picture{Objects: map[string]map[string]any{}, UIDs: map[string]string{}}
		taker.order(list)
		var all []*unstructured.Unstructured
		for i := range list {
			all = append(all, &list[i])
		}
		replacer := strings.NewReplacer(taker.rename(all)...)
		for _, object := range all {
			p.add(object, replacer)
		}
		return p
	}
	want := take(backup("manual", "1", "by hand"), backup("web-01ab", "2", "first"), backup("web-00ff", "3", "second"))
	got := take(backup("manual", "1", "by hand"), backup("web-aaaa", "2", "first"), backup("web-bbbb", "3", "second"))
	if found := Differences(want, got, Mask{}); len(found) > 0 {
		t.Errorf("%q", found)
	}
	if len(want.UIDs) != 1 || want.Objects["NginxBackup/web-*#2"]["status"].(map[string]any)["location"] != "pvc://backups/web-*/data" {
		t.Errorf("%+v", want)
	}
	got = take(backup("manual", "1", "by hand"), backup("web-aaaa", "3", "first"), backup("web-bbbb", "2", "second"))
	if found := Differences(want, got, Mask{}); len(found) != 2 {
		t.Errorf("of another order: %q", found)
	}
}

// TestPassing: objects that are being deleted and objects whose owners no longer exist are passing.
func TestPassing(t *testing.T) {
	object := func(name, deleted string, owners ...any) *unstructured.Unstructured {
		meta := map[string]any{"name": name, "uid": name, "ownerReferences": owners}
		if deleted != "" {
			meta["deletionTimestamp"] = deleted
		}
		return &unstructured.Unstructured{Object: map[string]any{"kind": "Pod", "metadata": meta}}
	}
	owner := func(uid string) any {
		return map[string]any{"apiVersion": "batch/v1", "kind": "Job", "name": uid, "uid": uid}
	}
	var p Picture
	p.pass([]*unstructured.Unstructured{
		object("job", ""), object("ending", "2026-11-21T12:00:00Z"), object("owned", "", owner("job")), object("orphan", "", owner("gone")),
		object("shared", "", owner("gone"), owner("job")),
	})
	if diff := cmp.Diff([]string{"Pod/ending", "Pod/orphan"}, p.Passing); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
