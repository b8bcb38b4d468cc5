package hostile

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/test/hostile"
)

// outcome is what the operator reports about an accepted resource.
type outcome struct {
	reason, message string
	uid             string
}

// reporting maps a kind to the condition that reports the outcome.
var reporting = map[string]string{"NginxOperator": "Accepted", "NginxBackupPolicy": "Accepted", "NginxBackup": "Completed", "NginxRestore": "Completed", "NginxCache": "Accepted", "NginxCachePurge": "Complete"}

func key(c hostile.Case) string { return c.Kind.Name + "/" + c.Object }

// waitReported waits until the operator has reported on every accepted resource.
func waitReported(t *testing.T, s sender, accepted []hostile.Case) map[string]outcome {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		reported := map[string]outcome{}
		for _, kind := range []hostile.Kind{hostile.Nginx, hostile.Backup, hostile.Policy, hostile.Restore, hostile.Cache, hostile.Purge} {
			addOutcomes(t, s, kind, reported)
		}
		var missing []string
		for _, c := range accepted {
			if _, is := reported[key(c)]; !is {
				missing = append(missing, c.Name)
			}
		}
		if len(missing) == 0 {
			return reported
		}
		if time.Now().After(deadline) {
			t.Fatalf("the operator has not reported on %d resources: %.2000s", len(missing), strings.Join(missing, "\n"))
		}
		time.Sleep(500 * time.Millisecond)
	}
}

// addOutcomes adds the outcomes of the resources of a kind that the operator has observed.
func addOutcomes(t *testing.T, s sender, kind hostile.Kind, reported map[string]outcome) {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: kind.Group, Version: kind.Version, Kind: kind.Name + "List"})
	if err := plane.Client.List(t.Context(), list, client.InNamespace(s.namespace)); err != nil {
		t.Fatal(err)
	}
	for _, object := range list.Items {
		conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range conditions {
			condition := c.(map[string]any)
			if condition["type"] == reporting[kind.Name] && condition["observedGeneration"] == object.GetGeneration() {
				reported[kind.Name+"/"+object.GetName()] = outcome{
					reason: fmt.Sprint(condition["reason"]), message: fmt.Sprint(condition["message"]), uid: string(object.GetUID()),
				}
			}
		}
	}
}

// How many writes of an object are allowed in a window of a few seconds while nothing changes: a
// write that the API server has rejected is retried every half minute.
const (
	window = 5 * time.Second
	mostly = 2
)

// waitQuiet waits until no object is written repeatedly.
func waitQuiet(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		from := len(writes.all())
		time.Sleep(window)
		again := map[string]int{}
		worst := ""
		for _, write := range writes.all()[from:] {
			if again[write]++; again[write] > again[worst] {
				worst = write
			}
		}
		if again[worst] <= mostly {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the operator does not come to rest: %d times in %s: %s", again[worst], window, worst)
		}
	}
}

// checkPlaces checks that the operator has written only to the namespace of the resources and its
// own.
func checkPlaces(t *testing.T, s sender) {
	t.Helper()
	for _, write := range writes.all() {
		inside := false
		for _, place := range []string{
			"/namespaces/" + s.namespace + "/", "/namespaces/nginx-operator-system/", "/namespaces/default/",
			"/customresourcedefinitions/nginxoperators.operator.example.com",
		} {
			inside = inside || strings.Contains(write, place)
		}
		if !inside {
			t.Errorf("the operator writes elsewhere: %s", write)
		}
	}
}
