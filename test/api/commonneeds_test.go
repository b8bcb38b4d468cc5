package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/desired"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/revision"
	crds "example.com/nginx-operator/test/external"
	"example.com/nginx-operator/test/plan"
)

// row matches a row of a table with three cells.
var row = regexp.MustCompile(`^\| (.+?) \| (.+?) \| (.*?) ?\|$`)

// need is a row of docs/common-needs.md with an example, which is a spec.
type need struct {
	name, example string
	nginx         *v1alpha2.NginxOperator
}

// site are the files of the ConfigMap to which examples refer.
var site = nginxconf.Files{"site.conf": "server { listen 80; }"}

// TestCommonNeeds: the API server accepts the example of each row of docs/common-needs.md, strictly, and keeps what the
// operator makes of it. Each example changes the objects of the application, and so does each field of it, without
// exception. A row without an example says that there is no field.
func TestCommonNeeds(t *testing.T) {
	install(t, crds.HTTPRoutes)
	install(t, crds.Certificates)
	defer uninstall(t, crds.Certificates)
	defer uninstall(t, crds.HTTPRoutes)
	namespace := newNamespace(t)
	for _, name := range []string{"site", "pages"} {
		must(t, kube.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: site}))
	}
	none, again := create(t, namespace, "none", v1alpha2.NginxOperatorSpec{}), create(t, namespace, "again", v1alpha2.NginxOperatorSpec{})
	needs := commonNeeds(t)
	for i := range needs {
		spec := v1alpha2.NginxOperatorSpec{}
		if err := yaml.UnmarshalStrict([]byte(needs[i].example), &spec); err != nil {
			t.Fatalf("%s: %v", needs[i].example, err)
		}
		needs[i].nginx = create(t, namespace, fmt.Sprintf("need-%02d", i), spec)
	}
	settled(t)
	without := objectsOf(t, none)
	if diff := cmp.Diff(without, objectsOf(t, again)); diff != "" {
		t.Fatalf("two applications with the same spec differ, so the test cannot find a field without an effect:\n%s", diff)
	}
	for _, n := range needs {
		t.Run(n.name, func(t *testing.T) {
			waitDropped(t, n.nginx, "")
			if cmp.Equal(without, objectsOf(t, n.nginx)) {
				t.Errorf("%s changes no object of the application", n.example)
			}
			for _, field := range ignoredFields(t, n) {
				t.Errorf("%s changes no object of the application in %s", field, n.example)
			}
		})
	}
}

// commonNeeds returns the rows of the page that have an example.
func commonNeeds(t *testing.T) []need {
	t.Helper()
	page, err := os.ReadFile("../../docs/common-needs.md")
	must(t, err)
	names, needs := sets.New[string](), []need(nil)
	for line := range strings.Lines(string(page)) {
		cells := row.FindStringSubmatch(strings.TrimSpace(line))
		if cells == nil || cells[1] == "need" || strings.HasPrefix(cells[1], "---") {
			continue
		}
		if names.Has(cells[1]) {
			t.Errorf("two rows are called %q", cells[1])
		}
		names.Insert(cells[1])
		if example := strings.Trim(cells[3], "`"); example != "" {
			needs = append(needs, need{name: cells[1], example: example})
		} else if !strings.HasPrefix(cells[2], "none: ") {
			t.Errorf("there is neither an example nor a reason: %s", cells[2])
		}
	}
	if len(needs) < 30 {
		t.Errorf("the page has only %d rows with examples: the test does not find them", len(needs))
	}
	return needs
}

// objectsOf returns the declared part of all objects of an application, by kind and name, as it would be for an
// application called NAME.
func objectsOf(t *testing.T, nginx *v1alpha2.NginxOperator) map[string]any {
	t.Helper()
	all := map[string]any{}
	kinds := append(desired.DistinctKinds(application.KindDeployment), desired.OptionalKinds(application.KindDeployment)...)
	for _, kind := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GVK)
		must(t, kube.List(t.Context(), list, client.InNamespace(nginx.Namespace), client.MatchingLabels{naming.LabelApplication: nginx.Name}))
		for _, object := range list.Items {
			all[kind.Name+" "+strings.ReplaceAll(object.GetName(), nginx.Name, "NAME")] = declaredPart(t, object.Object, nginx.Name)
		}
	}
	return all
}

// declaredPart returns an object without its identity, its status, and the operator's own annotations: a hash in one of
// them could differ for a field that has no effect.
func declaredPart(t *testing.T, object map[string]any, name string) map[string]any {
	t.Helper()
	text, err := json.Marshal(object)
	must(t, err)
	declared := map[string]any{}
	must(t, json.Unmarshal([]byte(strings.ReplaceAll(string(text), name, "NAME")), &declared))
	delete(declared, "status")
	// The trust file has the application's name and UID in it.
	if data, ok := declared["binaryData"].(map[string]any); ok {
		delete(data, instanceapi.FileTrust)
	}
	withoutNoise(declared)
	return declared
}

// withoutNoise removes what differs for each object, at any depth.
func withoutNoise(value map[string]any) {
	if metadata, ok := value["metadata"].(map[string]any); ok {
		maps.DeleteFunc(metadata, func(key string, _ any) bool { return key != "labels" && key != "annotations" })
	}
	for key, v := range value {
		switch v := v.(type) {
		case map[string]any:
			withoutNoise(v)
		case []any:
			for _, item := range v {
				if item, ok := item.(map[string]any); ok {
					withoutNoise(item)
				}
			}
		}
		if strings.HasPrefix(key, naming.Prefix) || slices.Contains([]string{"clusterIP", "clusterIPs"}, key) && v != corev1.ClusterIPNone {
			delete(value, key)
		}
	}
}

// ignoredFields returns the fields of an example without which the same objects are built.
func ignoredFields(t *testing.T, n need) []string {
	t.Helper()
	example := map[string]any{}
	must(t, yaml.Unmarshal([]byte(n.example), &example))
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&n.nginx.Spec)
	must(t, err)
	all := builtObjects(t, n.nginx.Name, spec)
	var ignored []string
	eachField(example, spec, "", func(path string) {
		if cmp.Equal(all, builtObjects(t, n.nginx.Name, spec)) {
			ignored = append(ignored, path)
		}
	})
	return ignored
}

// eachField calls check without one field of the example after the other in the spec, at any depth.
func eachField(example, spec any, path string, check func(path string)) {
	switch example := example.(type) {
	case map[string]any:
		fields, ok := spec.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(example)) {
			at := strings.TrimPrefix(path+"."+key, ".")
			value, there := fields[key]
			if !ok || !there {
				check(at + " (which the API server drops)")
				continue
			}
			delete(fields, key)
			check(at)
			fields[key] = value
			eachField(example[key], value, at, check)
		}
	case []any:
		for i, item := range example {
			if items, ok := spec.([]any); ok && i < len(items) {
				eachField(item, items[i], path+"[]", check)
			}
		}
	}
}

// builtObjects returns the objects of an application with a spec, or the error that there are none.
func builtObjects(t *testing.T, name string, spec map[string]any) map[string]any {
	t.Helper()
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(spec, &nginx.Spec))
	input := revision.Input{Nginx: nginx, Options: revision.Options{DefaultImage: "nginx", InstanceImage: "nginx-operator"}}
	if c := nginx.Spec.Config; c != nil && c.ConfigMap != nil {
		input.State.Source = &observe.Source{Name: c.ConfigMap.Name, Found: c.ConfigMap.Name == "site", Files: site}
	}
	planned, blocked, err := plan.Of(input)
	if err != nil {
		return map[string]any{"error": err.Error()}
	}
	all := map[string]any{"blocked": fmt.Sprint(blocked)}
	for _, intent := range planned.Intents {
		if intent.ShouldExist() {
			all[intent.Kind.Name+" "+intent.Name] = declaredPart(t, intent.Fields, name)
		}
	}
	return all
}
