package status

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.com/nginx-operator/internal/kube/budget"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/observe"
)

// foreignPods names pods that receive requests but are not managed; empty if there are none.
func (v *view) foreignPods() string {
	names := v.in.State.ForeignPods
	if len(names) == 0 {
		return ""
	}
	do, have, them, pods := "does", "has", "it", "pod"
	if len(names) > 1 {
		do, have, them, pods = "do", "have", "them", "pods"
	}
	return fmt.Sprintf("; %s %s not belong to the %s but %s the label %s=%s, so the Service sends %s requests: remove the label or delete the %s",
		podNames(names), do, v.in.Workload, have, naming.LabelApplication, v.in.Nginx.Name, them, pods)
}

// notCached says why the operator is slower than usual; empty if it is not.
func (v *view) notCached() string {
	var text strings.Builder
	for _, why := range slices.Sorted(maps.Keys(v.in.State.NotCached)) {
		because := "it is too large for the operator's cache"
		switch why {
		case budget.OfNamespace:
			because = fmt.Sprintf("the objects with the label %s in namespace %s take more than their share of the operator's cache (%d MiB): delete those that no application needs",
				naming.LabelApplication, v.in.Nginx.Namespace, observe.MaxObjectsOfNamespace>>20)
		case budget.OfAll:
			because = fmt.Sprintf("the objects of all applications fill the operator's cache (%d MiB): run one operator for each part of the namespaces (--namespaces)", observe.MaxObjects>>20)
		}
		fmt.Fprintf(&text, "; the operator reads %s from the API server each time, because %s", firstOf(v.in.State.NotCached[why]), because)
	}
	return text.String()
}

// firstOf names objects, and only the first of many. The caches list them in any order, and the status must not change with it.
func firstOf(objects []string) string {
	const most = 3
	objects = slices.Sorted(slices.Values(objects))
	if more := len(objects) - most; more > 1 {
		return fmt.Sprintf("%s and %d more objects", strings.Join(objects[:most], ", "), more)
	}
	return strings.Join(objects, " and ")
}

// podNames names pods, and only the first of many.
func podNames(names []string) string {
	const most = 3
	switch {
	case len(names) == 1:
		return "pod " + names[0]
	case len(names) > most:
		return fmt.Sprintf("pods %s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return "pods " + strings.Join(names, ", ")
}
