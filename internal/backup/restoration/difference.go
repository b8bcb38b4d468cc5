package restoration

import (
	"bytes"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	"example.com/nginx-operator/api/v1alpha2"
)

// sameConfigMap reports whether two ConfigMaps have the same content. Their metadata is not
// compared.
func sameConfigMap(a, b *corev1.ConfigMap) bool {
	return apiequality.Semantic.DeepEqual(a.Data, b.Data) && apiequality.Semantic.DeepEqual(a.BinaryData, b.BinaryData)
}

// differentKeys names the keys of a ConfigMap that change.
func differentKeys(before, after *corev1.ConfigMap) string {
	keys := differences(before.Data, after.Data, func(a, b string) bool { return a == b })
	keys = append(keys, differences(before.BinaryData, after.BinaryData, bytes.Equal)...)
	slices.Sort(keys)
	return listed(slices.Compact(keys))
}

// differentFields names the fields of a spec that change, one level deep.
func differentFields(before, after *v1alpha2.NginxOperatorSpec) string {
	a, errA := runtime.DefaultUnstructuredConverter.ToUnstructured(before)
	b, errB := runtime.DefaultUnstructuredConverter.ToUnstructured(after)
	if errA != nil || errB != nil {
		// Both were decoded from JSON, so only a programming error leads here.
		return "spec"
	}
	fields := differences(a, b, func(a, b any) bool { return apiequality.Semantic.DeepEqual(a, b) })
	for i := range fields {
		fields[i] = "spec." + fields[i]
	}
	return listed(fields)
}

// differences returns the sorted keys whose values differ or that only one of the maps has.
func differences[V any](a, b map[string]V, same func(V, V) bool) []string {
	var keys []string
	for key, value := range a {
		if other, both := b[key]; !both || !same(value, other) {
			keys = append(keys, key)
		}
	}
	for key := range b {
		if _, both := a[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// listLimit bounds the number of names that are listed.
const listLimit = 10

func listed(names []string) string {
	text := strings.Join(names[:min(len(names), listLimit)], ", ")
	if len(names) > listLimit {
		text += ", …"
	}
	return text
}
