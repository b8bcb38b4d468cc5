package observe

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/application"
)

func controlledBy(apiVersion, kind, name string, uid types.UID) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, UID: uid, Controller: new(true)}}
}

// TestPodOwners: a pod belongs to an application if UIDs lead to it, by way of its kind of workload. No name, label or owner of
// a name is enough.
func TestPodOwners(t *testing.T) {
	const apps, own = "apps/v1", "own"
	ours := controlledBy(v1alpha2.GroupVersion.String(), v1alpha2.Kind, "web", own)
	set := func(name string, uid types.UID, owners []metav1.OwnerReference) *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: uid, OwnerReferences: owners}}
	}
	cluster := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(
		set("web-1", "set", controlledBy(apps, "Deployment", "web", "workload")),
		set("web-2", "set-before", controlledBy(apps, "Deployment", "web", "deployment-before")),
		set("web-3", "set-orphaned", nil),
		set("web-4", "set-of-stateful", controlledBy(apps, "StatefulSet", "web", "workload")),
		set("shop-1", "set-of-shop", controlledBy(apps, "Deployment", "shop", "shop")),
	).Build()
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "workload", OwnerReferences: ours}}
	stateful := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "workload", OwnerReferences: ours}}
	foreign := deployment.DeepCopy()
	foreign.OwnerReferences = nil
	earlier := deployment.DeepCopy()
	earlier.OwnerReferences = controlledBy(v1alpha2.GroupVersion.String(), v1alpha2.Kind, "web", "before")
	for name, tt := range map[string]struct {
		workload owned.Object
		owners   []metav1.OwnerReference
		want     podOwner
	}{
		"of its ReplicaSet":                            {deployment, controlledBy(apps, "ReplicaSet", "web-1", "set"), ownerApplication},
		"taken out of its ReplicaSet":                  {deployment, nil, ownerForeign},
		"of a ReplicaSet of the name":                  {deployment, controlledBy(apps, "ReplicaSet", "web-1", "another"), ownerUnknown},
		"of a ReplicaSet that does not exist":          {deployment, controlledBy(apps, "ReplicaSet", "web-9", "set"), ownerUnknown},
		"of the Deployment before":                     {deployment, controlledBy(apps, "ReplicaSet", "web-2", "set-before"), ownerUnknown},
		"of a ReplicaSet without a Deployment":         {deployment, controlledBy(apps, "ReplicaSet", "web-3", "set-orphaned"), ownerUnknown},
		"of a ReplicaSet of a StatefulSet":             {deployment, controlledBy(apps, "ReplicaSet", "web-4", "set-of-stateful"), ownerForeign},
		"of another Deployment":                        {deployment, controlledBy(apps, "ReplicaSet", "shop-1", "set-of-shop"), ownerForeign},
		"of a StatefulSet of the name":                 {deployment, controlledBy(apps, "StatefulSet", "web", "liar"), ownerForeign},
		"of a StatefulSet with the UID":                {deployment, controlledBy(apps, "StatefulSet", "web", "workload"), ownerForeign},
		"of a ReplicaSet of another API group":         {deployment, controlledBy("example.com/v1", "ReplicaSet", "web-1", "set"), ownerForeign},
		"of a Job":                                     {deployment, controlledBy("batch/v1", "Job", "web-1", "set"), ownerForeign},
		"of a Deployment that the application lacks":   {foreign, controlledBy(apps, "ReplicaSet", "web-1", "set"), ownerUnknown},
		"of the Deployment of an earlier application":  {earlier, controlledBy(apps, "ReplicaSet", "web-1", "set"), ownerUnknown},
		"without any Deployment":                       {nil, controlledBy(apps, "ReplicaSet", "web-1", "set"), ownerUnknown},
		"of its StatefulSet":                           {stateful, controlledBy(apps, "StatefulSet", "web", "workload"), ownerApplication},
		"of another StatefulSet":                       {stateful, controlledBy(apps, "StatefulSet", "shop", "shop"), ownerForeign},
		"of the StatefulSet before":                    {stateful, controlledBy(apps, "StatefulSet", "web", "before"), ownerUnknown},
		"of a ReplicaSet, not of its StatefulSet":      {stateful, controlledBy(apps, "ReplicaSet", "web-1", "set"), ownerForeign},
		"of its StatefulSet, taken out for inspection": {stateful, nil, ownerForeign},
	} {
		t.Run(name, func(t *testing.T) {
			app := application.Of(&v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: own}})
			state := &State{Owned: map[owned.Key]owned.Object{}}
			if tt.workload != nil {
				state.Owned[owned.Key{Kind: "Workload", Name: "web"}] = tt.workload
			}
			if tt.workload == owned.Object(stateful) {
				app.Stateful = &application.Stateful{}
			}
			o := New(cluster, cluster, cluster, nil, nil)
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-1-x", OwnerReferences: tt.owners}}
			if got, err := o.podOwners(app, state).of(t.Context(), pod); err != nil || got != tt.want {
				t.Errorf("its owner is %s (%v), want %s", got, err, tt.want)
			}
		})
	}
}
