package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/internal/kube/owned"
)

// statefulSetKind is a kind as the operator of a cache tier would declare it.
func statefulSetKind() owned.Kind {
	kind := owned.NewKind[appsv1.StatefulSet](appsv1.SchemeGroupVersion, "StatefulSet", func(owner string) string { return owner })
	kind.Schema = owned.NewSchema(
		owned.Atomic("spec", "selector"),
		owned.PodTemplate("spec", "template"),
		owned.Keyed([]string{"spec", "volumeClaimTemplates"}, "metadata", "name"),
	)
	kind.Recreate = func(_, _ map[string]any, differing []string) bool {
		return slices.ContainsFunc(differing, func(path string) bool { return strings.HasPrefix(path, "spec.volumeClaimTemplates") })
	}
	kind.ExclusivePaths = []owned.ExclusivePath{
		{Path: []string{"spec", "volumeClaimTemplates", owned.EachItem, "spec"}, Keys: []string{"storageClassName"}},
	}
	return kind
}

// cacheIntent is what is applied, and cacheLive the same object with the defaults of the API server.
const (
	cacheIntent = `
spec:
  serviceName: cache
  replicas: 3
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: cache}}
  template:
    metadata: {labels: {app: cache}}
    spec:
      securityContext: {seccompProfile: {type: RuntimeDefault}}
      containers:
      - name: cache
        image: cache:1
        ports: [{name: cache, containerPort: 6379}, {name: cluster, containerPort: 16379}]
        volumeMounts:
        - {name: data, mountPath: /data}
        - {name: data, mountPath: /log, subPath: log}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
  - metadata: {name: spill}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}}`
	cacheLive = `
metadata: {uid: live, resourceVersion: "7"}
spec:
  serviceName: cache
  replicas: 3
  podManagementPolicy: Parallel
  revisionHistoryLimit: 10
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Retain, whenScaled: Retain}
  updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 0}}
  selector: {matchLabels: {app: cache}}
  template:
    metadata: {labels: {app: cache}}
    spec:
      restartPolicy: Always
      securityContext: {seccompProfile: {type: RuntimeDefault}}
      containers:
      - name: injected
        image: sidecar
      - name: cache
        image: cache:1
        imagePullPolicy: IfNotPresent
        ports: [{name: cache, containerPort: 6379, protocol: TCP}, {name: cluster, containerPort: 16379, protocol: TCP}]
        volumeMounts:
        - {name: data, mountPath: /data}
        - {name: data, mountPath: /log, subPath: log}
  volumeClaimTemplates:
  - {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, status: {phase: Pending},
     spec: {accessModes: [ReadWriteOnce], volumeMode: Filesystem, resources: {requests: {storage: 1Gi}}}}
  - {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: spill}, status: {phase: Pending},
     spec: {accessModes: [ReadWriteOnce], volumeMode: Filesystem, resources: {requests: {storage: 2Gi}}}}`
)

func newCacheIntent(t *testing.T) owned.Intent {
	t.Helper()
	config := appsv1ac.StatefulSet("cache", "shop")
	if err := json.Unmarshal([]byte(jsonOf(t, cacheIntent)), config); err != nil {
		t.Fatal(err)
	}
	return owned.Intent{Kind: statefulSetKind(), Name: "cache", Config: config, Meta: config.ObjectMetaApplyConfiguration, Fields: fields(t, cacheIntent)}
}

func jsonOf(t *testing.T, text string) string {
	t.Helper()
	converted, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return string(converted)
}

// cacheObject returns the live object with a change of its text.
func cacheObject(t *testing.T, replace ...string) *appsv1.StatefulSet {
	t.Helper()
	text := strings.NewReplacer(replace...).Replace(cacheLive)
	if len(replace) > 0 && text == cacheLive {
		t.Fatalf("%q changes nothing", replace)
	}
	object := &appsv1.StatefulSet{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields(t, text), object); err != nil {
		t.Fatal(err)
	}
	return object
}

// TestStatefulSet: a kind that no operator here owns is compared by what it declares.
func TestStatefulSet(t *testing.T) {
	cacheOwner := &metav1.ObjectMeta{Namespace: "shop", Name: "cache", UID: "ours"}
	intent := newCacheIntent(t)
	hash, err := hashIntent(intent.Fields)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		replace []string
		// dropped is what the object records as not kept.
		dropped string
		want    Action
		fields  []string
	}{
		"as applied": {want: Leave},
		"claim templates in another order": {
			replace: []string{"{name: data}, status", "{name: spill}, status", "{name: spill}, status", "{name: data}, status", "1Gi", "2Gi", "2Gi", "1Gi"}, want: Leave},
		"a claim template was changed": {replace: []string{"2Gi", "3Gi"}, want: Recreate, fields: []string{"spec.volumeClaimTemplates[spill].spec.resources.requests.storage"}},
		"a claim template is missing":  {replace: []string{"{name: spill}", "{name: other}"}, want: Recreate, fields: []string{"spec.volumeClaimTemplates[spill]"}},
		"a claim template got a class": {
			replace: []string{"volumeMode: Filesystem, resources: {requests: {storage: 2Gi}}", "storageClassName: slow, resources: {requests: {storage: 2Gi}}"},
			want:    Recreate, fields: []string{"spec.volumeClaimTemplates[spill].spec.storageClassName"}},
		"a port was changed":     {replace: []string{"containerPort: 6379", "containerPort: 1"}, want: Heal, fields: []string{"spec.template.spec.containers[cache].ports[cache].containerPort"}},
		"a mount was changed":    {replace: []string{"subPath: log", "subPath: other"}, want: Heal, fields: []string{"spec.template.spec.containers[cache].volumeMounts[data]"}},
		"the selector narrowed":  {replace: []string{"selector: {matchLabels: {app: cache}}", "selector: {matchLabels: {app: cache, a: b}}"}, want: Heal, fields: []string{"spec.selector"}},
		"a profile of two types": {replace: []string{"{type: RuntimeDefault}", "{type: RuntimeDefault, localhostProfile: a}"}, want: Heal, fields: []string{"spec.template.spec.securityContext.seccompProfile"}},
		"a field that was not kept": {replace: []string{"podManagementPolicy: Parallel", "podManagementPolicy: OrderedReady"},
			dropped: "spec.podManagementPolicy", want: Leave, fields: []string{"spec.podManagementPolicy"}},
	} {
		t.Run(name, func(t *testing.T) {
			live := cacheObject(t, tt.replace...)
			live.Annotations = map[string]string{settings.HashAnnotation: hash, settings.DroppedAnnotation: hash + " " + tt.dropped}
			live.OwnerReferences = []metav1.OwnerReference{{UID: cacheOwner.UID, Controller: new(true)}}
			changes, err := settings.Compare(cacheOwner, []owned.Intent{intent}, map[owned.Key]owned.Object{intent.Key(): live})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.fields, changes[0].DroppedFields); diff != "" || changes[0].Action != tt.want {
				t.Errorf("%s, want %s; fields -want +got:\n%s", changes[0].Action, tt.want, diff)
			}
		})
	}
}

// TestStatefulSetReplacements: what cannot be merged is replaced where its key is, and nothing is replaced by an item
// that only has the same name.
func TestStatefulSetReplacements(t *testing.T) {
	intent := newCacheIntent(t)
	for name, tt := range map[string]struct {
		replace []string
		want    []string
	}{
		"a port":           {[]string{"containerPort: 16379", "containerPort: 1"}, []string{"replace /spec/template/spec/containers/1"}},
		"a claim template": {[]string{"2Gi", "3Gi"}, []string{"replace /spec/volumeClaimTemplates/1"}},
		"a selector":       {[]string{"selector: {matchLabels: {app: cache}}", "selector: {matchLabels: {app: cache, a: b}}"}, []string{"replace /spec/selector"}},
	} {
		t.Run(name, func(t *testing.T) {
			patch, err := settings.replacements(intent, cacheObject(t, tt.replace...))
			if err != nil {
				t.Fatal(err)
			}
			var steps []operation
			if err := json.Unmarshal(patch, &steps); err != nil || len(steps) < 2 {
				t.Fatalf("%s: %v", patch, err)
			}
			var got []string
			for _, step := range steps[2:] {
				got = append(got, step.Op+" "+step.Path)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	mounts := `a: [{name: data, mountPath: /data}, {name: data, mountPath: /log, subPath: log}]`
	if steps := replaceIn(nil, "", fields(t, mounts), fields(t, strings.Replace(mounts, "subPath: log", "subPath: x", 1))); len(steps) > 0 {
		t.Errorf("two mounts of one volume: %v", steps)
	}
}

// forgetful is an API server that stores objects without their declared podManagementPolicy.
type forgetful struct {
	client.Client
	t *testing.T
	// refuses is the answer to each write; nil if it succeeds.
	refuses error
	// annotations are those of each write.
	annotations []map[string]string
}

func (f *forgetful) Patch(_ context.Context, object client.Object, patch client.Patch, _ ...client.PatchOption) error {
	body, err := patch.Data(object)
	if err != nil {
		return err
	}
	var written metav1.PartialObjectMetadata
	if err := json.Unmarshal(body, &written); err != nil {
		return err
	}
	f.annotations = append(f.annotations, written.Annotations)
	if f.refuses != nil {
		return f.refuses
	}
	stored, ok := object.(*appsv1.StatefulSet)
	if !ok {
		return fmt.Errorf("%T is written", object)
	}
	*stored = *cacheObject(f.t, "podManagementPolicy: Parallel", "podManagementPolicy: OrderedReady", "{name: spill}", "{name: other}")
	return nil
}

// TestStatefulSetRecordsDroppedFields: fields that the API server does not store are recorded in the object.
func TestStatefulSetRecordsDroppedFields(t *testing.T) {
	server := &forgetful{t: t}
	cacheOwner := &metav1.ObjectMeta{Namespace: "shop", Name: "cache", UID: "ours"}
	changes, err := settings.Compare(cacheOwner, []owned.Intent{newCacheIntent(t)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	outcome := Outcome{Applied: map[owned.Key]owned.Object{}}
	if err := New(server, server, settings).Apply(t.Context(), cacheOwner, changes, &outcome); err != nil {
		t.Fatal(err)
	}
	want := []string{"StatefulSet spec.podManagementPolicy", "StatefulSet spec.volumeClaimTemplates[spill]"}
	if diff := cmp.Diff(want, outcome.DroppedFields); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	record := changes[0].Hash + " spec.podManagementPolicy spec.volumeClaimTemplates[spill]"
	if len(server.annotations) != 2 || server.annotations[1][settings.DroppedAnnotation] != record {
		t.Errorf("the object is written with %v, want the record %s", server.annotations, record)
	}
}

// TestStatefulSetImmutableField: a change of a field that is immutable is refused once, and left to the user.
func TestStatefulSetImmutableField(t *testing.T) {
	immutable := field.ErrorList{field.Forbidden(field.NewPath("spec"), "updates to statefulset spec for fields other than 'replicas' are forbidden")}
	server := &forgetful{t: t, refuses: apierrors.NewInvalid(appsv1.SchemeGroupVersion.WithKind("StatefulSet").GroupKind(), "cache", immutable)}
	cacheOwner := &metav1.ObjectMeta{Namespace: "shop", Name: "cache", UID: "ours"}
	intent := newCacheIntent(t)
	live := cacheObject(t, "serviceName: cache", "serviceName: earlier")
	live.OwnerReferences = []metav1.OwnerReference{{UID: cacheOwner.UID, Controller: new(true)}}
	changes, err := settings.Compare(cacheOwner, []owned.Intent{intent}, map[owned.Key]owned.Object{intent.Key(): live})
	if err != nil || changes[0].Action != Update {
		t.Fatalf("%s: %v", changes[0].Action, err)
	}
	outcome := Outcome{Applied: map[owned.Key]owned.Object{}}
	if err := New(server, server, settings).Apply(t.Context(), cacheOwner, changes, &outcome); err != nil {
		t.Fatal(err)
	}
	if outcome.Refused.Reason != ReasonRejected || !strings.Contains(outcome.Refused.Message, "updates to statefulset spec") || len(server.annotations) != 1 {
		t.Errorf("%d writes, refused: %+v", len(server.annotations), outcome.Refused)
	}
}
