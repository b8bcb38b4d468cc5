// Package snapshot takes pictures of a namespace and compares them.
package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
)

// Taker takes pictures of namespaces.
type Taker struct {
	// Drawn matches the objects (as kind/name) whose names are derived from something that differs
	// between runs, such as a UID; nil: only generated names differ. The group that
	// matches is the part of the name that stays the same.
	Drawn *regexp.Regexp

	client    dynamic.Interface
	resources []schema.GroupVersionResource
}

// unlooked are resources that record the past or that an operator of applications does not write.
var unlooked = []string{"events", "leases", "endpoints", "endpointslices", "podtemplates", "limitranges", "resourcequotas", "roles", "rolebindings", "csistoragecapacities"}

// NewTaker discovers the resources that a namespace can have.
func NewTaker(d discovery.DiscoveryInterface, client dynamic.Interface) (*Taker, error) {
	lists, err := discovery.ServerPreferredNamespacedResources(d)
	if err != nil {
		return nil, err
	}
	t := &Taker{client: client}
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range list.APIResources {
			if slices.Contains(r.Verbs, "list") && !slices.Contains(unlooked, r.Name) {
				t.resources = append(t.resources, group.WithResource(r.Name))
			}
		}
	}
	return t, nil
}

// Picture is the content of a namespace: the objects by kind and name, without what differs between
// runs.
type Picture struct {
	Objects map[string]map[string]any
	// UIDs are the UIDs of the objects whose names are not generated.
	UIDs map[string]string
	// Passing are the objects that will soon be gone: they are being deleted, or their owners no
	// longer exist.
	Passing []string
}

// Take takes a picture of a namespace.
func (t *Taker) Take(ctx context.Context, namespace string) (Picture, error) {
	p := Picture{Objects: map[string]map[string]any{}, UIDs: map[string]string{}}
	var all []*unstructured.Unstructured
	for _, resource := range t.resources {
		list, err := t.client.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return p, fmt.Errorf("list %s: %w", resource.Resource, err)
		}
		t.order(list.Items)
		for i := range list.Items {
			all = append(all, &list.Items[i])
		}
	}
	p.pass(all)
	// Sort objects that are being deleted last, so that they do not change the numbers of the
	// others.
	slices.SortStableFunc(all, func(a, b *unstructured.Unstructured) int { return cmp.Compare(going(a), going(b)) })
	replacements := t.rename(all)
	replacements = append(replacements, namespace, "<namespace>")
	for _, object := range all {
		p.add(object, strings.NewReplacer(replacements...))
	}
	return p, nil
}

// pass finds the objects that will soon be gone.
func (p *Picture) pass(all []*unstructured.Unstructured) {
	there := map[types.UID]bool{}
	for _, o := range all {
		there[o.GetUID()] = true
	}
	for _, o := range all {
		owners := o.GetOwnerReferences()
		orphan := len(owners) > 0 && !slices.ContainsFunc(owners, func(r metav1.OwnerReference) bool { return there[r.UID] })
		if o.GetDeletionTimestamp() != nil || orphan {
			p.Passing = append(p.Passing, o.GetKind()+"/"+o.GetName())
		}
	}
}

// going returns 1 for an object that is being deleted, and 0 for any other.
func going(o *unstructured.Unstructured) int {
	if o.GetDeletionTimestamp() == nil {
		return 0
	}
	return 1
}

// order sorts pods by node, because their names differ between runs, and a list with drawn names by
// creation time.
func (t *Taker) order(list []unstructured.Unstructured) {
	slices.SortStableFunc(list, func(a, b unstructured.Unstructured) int { return cmp.Compare(nodeOf(&a), nodeOf(&b)) })
	if !slices.ContainsFunc(list, func(o unstructured.Unstructured) bool { return t.draws(&o) }) {
		return
	}
	slices.SortStableFunc(list, func(a, b unstructured.Unstructured) int {
		x, y := a.GetCreationTimestamp(), b.GetCreationTimestamp()
		return cmp.Or(x.Compare(y.Time), cmp.Compare(revisionOf(&a), revisionOf(&b)))
	})
}

// revisionOf returns the number of a ControllerRevision; 0 for any other object.
func revisionOf(o *unstructured.Unstructured) int64 {
	number, _, err := unstructured.NestedInt64(o.Object, "revision")
	if err != nil {
		return 0
	}
	return number
}

// nodeOf returns the node of a pod; empty: the pod has none.
func nodeOf(o *unstructured.Unstructured) string {
	node, _, err := unstructured.NestedString(o.Object, "spec", "nodeName")
	if err != nil {
		return ""
	}
	return node
}

// draws reports whether Drawn matches an object.
func (t *Taker) draws(o *unstructured.Unstructured) bool {
	return t.Drawn != nil && t.Drawn.MatchString(o.GetKind()+"/"+o.GetName())
}

// rename makes drawn names generated names. It returns pairs of each old name and its replacement.
func (t *Taker) rename(all []*unstructured.Unstructured) (replacements []string) {
	for _, object := range all {
		if t.draws(object) {
			stays := cmp.Or(t.Drawn.FindStringSubmatch(object.GetKind() + "/" + object.GetName())[1:]...)
			replacements = append(replacements, object.GetName(), stays+"*")
			object.SetGenerateName(stays)
		}
	}
	return replacements
}

// isHistory reports whether an object is only a part of the history of a workload: an empty ReplicaSet of a Deployment, or a
// ControllerRevision of a StatefulSet.
func isHistory(object *unstructured.Unstructured) bool {
	owner := metav1.GetControllerOf(object)
	switch {
	case object.GetKind() == "ReplicaSet":
		replicas, found, err := unstructured.NestedInt64(object.Object, "spec", "replicas")
		return found && err == nil && replicas == 0
	case object.GetKind() == "ControllerRevision":
		return owner != nil && owner.Kind == "StatefulSet"
	}
	return false
}

func (p *Picture) add(object *unstructured.Unstructured, replacements *strings.Replacer) {
	if name := object.GetName(); name == "kube-root-ca.crt" || name == "default" && object.GetKind() == "ServiceAccount" {
		return
	}
	if isHistory(object) {
		return
	}
	name := generated(object)
	key := object.GetKind() + "/" + name
	if name == object.GetName() {
		p.UIDs[key] = string(object.GetUID())
	}
	for n := 2; p.Objects[key] != nil; n++ {
		key = fmt.Sprintf("%s/%s#%d", object.GetKind(), name, n)
	}
	p.Objects[key] = plain(object, replacements)
}

// generated returns the name of an object, with "*" for a generated suffix.
func generated(object *unstructured.Unstructured) string {
	if prefix := object.GetGenerateName(); prefix != "" {
		return prefix + "*"
	}
	return object.GetName()
}

// plain returns an object without what differs between runs.
func plain(object *unstructured.Unstructured, replacements *strings.Replacer) map[string]any {
	o := object.DeepCopy()
	o.SetName(generated(object))
	managers := map[string]any{}
	for _, entry := range o.GetManagedFields() {
		// A manager that both applies and updates has two entries.
		managers[entry.Manager+" "+string(entry.Operation)] = true
	}
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "namespace"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	o.Object["managers"] = managers
	// They number the templates that the Deployment had on the way.
	for _, annotation := range []string{"deployment.kubernetes.io/revision", "deployment.kubernetes.io/revision-history"} {
		unstructured.RemoveNestedField(o.Object, "metadata", "annotations", annotation)
	}
	sortConditions(o)
	// It follows the generation, which counts the writes.
	unstructured.RemoveNestedField(o.Object, "status", "observedGeneration")
	for _, field := range []string{"clusterIP", "clusterIPs", "healthCheckNodePort"} {
		unstructured.RemoveNestedField(o.Object, "spec", field)
	}
	clean, ok := scrub(o.Object, replacements).(map[string]any)
	if !ok {
		return nil
	}
	return clean
}

// sortConditions sorts conditions by type, because their list is a map by type.
func sortConditions(o *unstructured.Unstructured) {
	conditions, found, err := unstructured.NestedSlice(o.Object, "status", "conditions")
	if !found || err != nil {
		return
	}
	slices.SortFunc(conditions, func(a, b any) int { return cmp.Compare(typeOf(a), typeOf(b)) })
	_ = unstructured.SetNestedSlice(o.Object, conditions, "status", "conditions") // the field exists
}

func typeOf(condition any) string {
	if fields, ok := condition.(map[string]any); ok {
		if name, ok := fields["type"].(string); ok {
			return name
		}
	}
	return ""
}

var (
	uids  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	times = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	ips   = regexp.MustCompile(`\b127\.\d+\.\d+\.\d+\b`)
)

// scrub replaces UIDs, times, IP addresses and the given texts in all strings.
func scrub(value any, replacements *strings.Replacer) any {
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			v[key] = scrub(item, replacements)
		}
	case []any:
		for i, item := range v {
			v[i] = scrub(item, replacements)
		}
	case string:
		v = uids.ReplaceAllString(v, "<uid>")
		v = times.ReplaceAllString(v, "<time>")
		v = ips.ReplaceAllString(v, "<ip>")
		return replacements.Replace(v)
	}
	return value
}

// Mask selects paths that are not compared: Learned are those that differ between undisturbed runs,
// Means those that show how the state was reached, and Past those that depend on earlier states.
// Means and Past also hide whole objects.
type Mask struct {
	Learned     map[string]bool
	Means, Past *regexp.Regexp
	// chance hides names that depend on chance.
	chance *regexp.Regexp
}

func (m Mask) hides(path string) bool {
	return m.Learned[path] || slices.ContainsFunc([]*regexp.Regexp{m.Means, m.Past, m.chance}, func(hidden *regexp.Regexp) bool {
		return hidden != nil && hidden.MatchString(path)
	})
}

// Differences returns where two pictures differ: the path with both values.
func Differences(want, got Picture, mask Mask) []string {
	var all []string
	if collided(want) != collided(got) {
		mask.chance = chance
	}
	for _, key := range slices.Sorted(maps.Keys(want.Objects)) {
		if got.Objects[key] == nil {
			if !mask.hides(key) {
				all = append(all, key+" is missing")
			}
			continue
		}
		compare(key, want.Objects[key], got.Objects[key], func(path string, a, b any) {
			if !mask.hides(path) {
				all = append(all, fmt.Sprintf("%s is %v, not %v", path, b, a))
			}
		})
	}
	for _, key := range slices.Sorted(maps.Keys(got.Objects)) {
		if want.Objects[key] == nil && !mask.hides(key) {
			all = append(all, key+" should not exist")
		}
	}
	return all
}

// Volatile returns the paths in which two pictures of the same journey differ. It returns an error
// if an object is in only one of them.
func Volatile(a, b Picture) (map[string]bool, error) {
	var errs []error
	for _, pair := range [][2]Picture{{a, b}, {b, a}} {
		for key := range pair[0].Objects {
			if pair[1].Objects[key] == nil {
				errs = append(errs, fmt.Errorf("%s exists in only one of two undisturbed runs", key))
			}
		}
	}
	mask := map[string]bool{}
	for key := range a.Objects {
		compare(key, a.Objects[key], b.Objects[key], func(path string, _, _ any) { mask[path] = true })
	}
	return mask, errors.Join(errs...)
}

// compare calls differ with the path of each difference between two values.
func compare(path string, a, b any, differ func(path string, a, b any)) {
	switch a := a.(type) {
	case map[string]any:
		other, ok := b.(map[string]any)
		if !ok {
			differ(path, a, b)
			return
		}
		keys := map[string]any{}
		maps.Copy(keys, a)
		maps.Copy(keys, other)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			compare(path+"."+key, a[key], other[key], differ)
		}
	case []any:
		other, ok := b.([]any)
		if !ok || len(a) != len(other) {
			differ(path, a, b)
			return
		}
		for i := range a {
			compare(fmt.Sprintf("%s[%d]", path, i), a[i], other[i], differ)
		}
	default:
		if a != b {
			differ(path, a, b)
		}
	}
}

// NotRecreated returns the objects without generated names that are in both pictures with the same UID.
func NotRecreated(before, after Picture) []string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(before.UIDs)) {
		if uid := after.UIDs[key]; uid != "" && uid == before.UIDs[key] {
			all = append(all, key)
		}
	}
	return all
}

// Replaced returns the objects without generated names that are in both pictures with different
// UIDs.
func Replaced(before, after Picture) []string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(before.UIDs)) {
		if uid := after.UIDs[key]; uid != "" && uid != before.UIDs[key] {
			all = append(all, key)
		}
	}
	return all
}
