package importer

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"example.com/nginx-operator/internal/nginx/naming"
)

// clusterLabels are labels that the cluster sets on pods, so that their values are not in the template of the pods.
var clusterLabels = []string{"pod-template-hash", "controller-revision-hash", "pod-template-generation",
	"apps.kubernetes.io/pod-index", "statefulset.kubernetes.io/pod-name"}

// policyKind matches kinds of other projects that protect the pods that they select by labels.
var policyKind = regexp.MustCompile(`(Policy|Authentication)$`)

// podLabels returns the labels of the old pods.
func (w *workload) podLabels() labels.Set {
	if w.metaPath == "-" {
		return w.meta.Labels
	}
	return w.podMeta.Labels
}

// policies adds a step for each policy that does not select the pods of the application as it selects the old ones.
func (w *workload) policies() {
	label := fmt.Sprintf("{%s: %s}", naming.LabelApplication, w.app.Name)
	if !w.networkPolicies(label) {
		namespace, flag := "", ""
		if w.meta.Namespace != "" {
			namespace, flag = " of the namespace "+w.meta.Namespace, "-n "+w.meta.Namespace+" "
		}
		w.review.step("Pass the NetworkPolicies%s, too (kubectl get networkpolicies %s-o yaml), and import again: "+
			"one that selects the old pods might not select the pods of the application. Without any, skip this step.", namespace, flag)
	}
	for _, o := range w.inputs.objects {
		if kind, _ := o.content["kind"].(string); o.typed == nil && policyKind.MatchString(kind) {
			w.review.step("Check the %s, whose selector the import does not read: if it selects the old pods, "+
				"let it select the label %s, too.", o.name, label)
		}
	}
}

// networkPolicies names the NetworkPolicies among them. It returns false if the input has none of the namespace of the old pods.
func (w *workload) networkPolicies(label string) (found bool) {
	where := ""
	if w.app.Namespace != "" {
		where = " in the namespace " + w.app.Namespace
	}
	_, policies := ofType[*networkingv1.NetworkPolicy](w.inputs)
	for _, p := range policies {
		if p.Namespace != w.meta.Namespace && p.Namespace != "" && w.meta.Namespace != "" {
			continue
		}
		found = true
		before, after := w.selected(p)
		if after = after && cmp.Or(p.Namespace, w.meta.Namespace) == w.app.Namespace; before == after {
			continue
		}
		if after {
			w.review.step("Check the NetworkPolicy %s: it does not select the old pods, but it selects the pods of %s, "+
				"so they accept the peers that it admits.", p.Name, w.app.Name)
			continue
		}
		w.review.step("Create a copy of the NetworkPolicy %s%s, with podSelector: {matchLabels: %s}: "+
			"it selects the old pods, but not the pods of %s, so it does not protect them.", p.Name, where, label, w.app.Name)
	}
	return found
}

// selected reports whether a NetworkPolicy might select the old pods, and whether its selector matches the pods of the
// application.
func (w *workload) selected(p *networkingv1.NetworkPolicy) (before, after bool) {
	selector, err := metav1.LabelSelectorAsSelector(&p.Spec.PodSelector)
	if err != nil {
		return true, false
	}
	own := labels.Set{}
	maps.Copy(own, w.app.Spec.PodTemplate.Labels)
	maps.Copy(own, naming.Labels(w.app.Name))
	requirements, _ := selector.Requirements()
	before = !slices.ContainsFunc(requirements, func(r labels.Requirement) bool {
		return !slices.Contains(clusterLabels, r.Key()) && !r.Matches(w.podLabels())
	})
	return before, selector.Matches(own)
}
