package view

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/plugin/console/fleet"
)

// Listed is an application of a list.
type Listed struct {
	Nginx v1alpha2.NginxOperator `json:"application"`
	// Traffic is that of the last minute; nil: it is not known.
	Traffic *ApplicationTraffic `json:"traffic,omitempty"`
}

// List are the applications that a user asks for.
type List struct {
	Items []Listed `json:"items"`
	// Total is how many applications there are before they are filtered.
	Total int `json:"total"`
	// Measured is set if their traffic was asked for. LeftOut is the number of applications whose pods were not asked, because
	// at most MostPods are.
	Measured bool `json:"-"`
	LeftOut  int  `json:"leftOut,omitempty"`
	MostPods int  `json:"-"`
	// Silent says why pods that were queried cannot be read.
	Silent []string `json:"silent,omitempty"`
	// Forbidden are the resources that the user may not read.
	Forbidden []string `json:"forbidden,omitempty"`
}

// ApplicationTraffic is what the pods of an application have served.
type ApplicationTraffic struct {
	Traffic
	// Pods is how many pods run, and Answering how many of them say what they have served.
	Pods      int `json:"pods"`
	Answering int `json:"answering"`
}

// State returns what an application needs from its user.
func State(a *v1alpha2.NginxOperator) fleet.State {
	return fleet.StateOf(Reported(a), a.Status.WaitingRollout != nil, a.Spec.Suspend != nil && *a.Spec.Suspend)
}

// ReadListedTraffic adds the traffic to applications, in their order, until a number of pods has been asked. It returns how many
// applications with pods are left out, and why pods cannot be read.
func ReadListedTraffic(ctx context.Context, measurer Measurer, applications []Listed, pods []corev1.Pod, mostPods int) (leftOut int, silent []string, err error) {
	order := make([]client.ObjectKey, 0, len(applications))
	for i := range applications {
		order = append(order, client.ObjectKeyFromObject(&applications[i].Nginx))
	}
	chosen, leftOut := BoundPods(order, pods, mostPods)
	windows, err := readWindows(ctx, measurer, chosen)
	if err != nil {
		return 0, nil, err
	}
	found := sumWindows(chosen, windows)
	for i, key := range order {
		applications[i].Traffic = found[key]
	}
	return leftOut, reasons(windows), nil
}

// BoundPods returns the pods of the first applications that have at most a number of pods, and how many applications with pods
// are left out. All pods of an application are returned, or none.
func BoundPods(applications []client.ObjectKey, pods []corev1.Pod, most int) (chosen []corev1.Pod, leftOut int) {
	of := map[client.ObjectKey][]corev1.Pod{}
	for i := range pods {
		key := applicationKey(&pods[i])
		of[key] = append(of[key], pods[i])
	}
	for _, key := range applications {
		switch own := of[key]; {
		case len(chosen)+len(own) <= most:
			chosen = append(chosen, own...)
		default:
			leftOut++
		}
	}
	return chosen, leftOut
}

// applicationKey returns the application of a pod.
func applicationKey(pod *corev1.Pod) client.ObjectKey {
	return client.ObjectKey{Namespace: pod.Namespace, Name: pod.Labels[v1alpha2.LabelNginxOperator]}
}

// ApplicationKeys returns the applications of pods, each once and sorted by their names.
func ApplicationKeys(pods []corev1.Pod) []client.ObjectKey {
	keys := make([]client.ObjectKey, 0, len(pods))
	for i := range pods {
		keys = append(keys, applicationKey(&pods[i]))
	}
	slices.SortFunc(keys, func(a, b client.ObjectKey) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return slices.Compact(keys)
}

// OfApplications returns the pods of applications.
func OfApplications(pods []corev1.Pod, applications []v1alpha2.NginxOperator) []corev1.Pod {
	wanted := map[client.ObjectKey]bool{}
	for i := range applications {
		wanted[client.ObjectKeyFromObject(&applications[i])] = true
	}
	return slices.DeleteFunc(pods, func(p corev1.Pod) bool { return !wanted[applicationKey(&p)] })
}

// sumWindows adds up what pods have served by application.
func sumWindows(pods []corev1.Pod, windows []reading[instanceapi.RequestWindow]) map[client.ObjectKey]*ApplicationTraffic {
	found, sums := map[client.ObjectKey]*ApplicationTraffic{}, map[client.ObjectKey]*instanceapi.RequestWindow{}
	for i := range pods {
		key := applicationKey(&pods[i])
		if found[key] == nil {
			found[key], sums[key] = &ApplicationTraffic{}, &instanceapi.RequestWindow{}
		}
		found[key].Pods++
		if w := windows[i].value; w != nil {
			// A pod that has just started has a shorter window, so rates are added up, and not requests.
			found[key].Answering++
			found[key].RequestsPerSecond += trafficOf(w).RequestsPerSecond
			sums[key].Merge(*w)
		}
	}
	for key, t := range found {
		perSecond := t.RequestsPerSecond
		t.Traffic = trafficOf(sums[key])
		t.RequestsPerSecond = perSecond
	}
	return found
}

// ReadRunningPods reads the running pods of applications: of a namespace, or of all if it is empty. They have their metadata only,
// which is a tenth of a pod.
func ReadRunningPods(ctx context.Context, c client.Client, namespace string) ([]corev1.Pod, error) {
	found := &metav1.PartialObjectMetadataList{}
	found.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	err := c.List(ctx, found, client.InNamespace(namespace), client.HasLabels{v1alpha2.LabelNginxOperator}, client.MatchingFields{"status.phase": string(corev1.PodRunning)})
	if err != nil {
		return nil, err
	}
	pods := make([]corev1.Pod, 0, len(found.Items))
	for i := range found.Items {
		pods = append(pods, corev1.Pod{ObjectMeta: found.Items[i].ObjectMeta})
	}
	return pods, nil
}
