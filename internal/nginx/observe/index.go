package observe

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/naming"
)

const (
	// IndexApplication finds pods by their application.
	IndexApplication = "application"
	// IndexOwner finds ControllerRevisions by their application and the UID of the object that controls them, so that those
	// of an earlier application of the same name are not in the history.
	IndexOwner = "owner"
	// IndexAutoscalerTarget finds autoscalers by the Deployment that they target.
	IndexAutoscalerTarget = "targetDeployment"
	// IndexConfigMap finds NginxOperators by the ConfigMaps that they refer to.
	IndexConfigMap = "configMap"
)

// AddIndexes registers the indexes that the observer and the watches use.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	for _, index := range []struct {
		object client.Object
		name   string
		values client.IndexerFunc
	}{
		{&corev1.Pod{}, IndexApplication, applicationLabel},
		{&appsv1.ControllerRevision{}, IndexOwner, owner},
		{&autoscalingv2.HorizontalPodAutoscaler{}, IndexAutoscalerTarget, autoscalerTarget},
		{&v1alpha2.NginxOperator{}, IndexConfigMap, referencedConfigMaps},
	} {
		if err := indexer.IndexField(ctx, index.object, index.name, index.values); err != nil {
			return fmt.Errorf("index %T by %s: %w", index.object, index.name, err)
		}
	}
	return nil
}

func applicationLabel(obj client.Object) []string {
	if name := obj.GetLabels()[naming.LabelApplication]; name != "" {
		return []string{name}
	}
	return nil
}

func owner(obj client.Object) []string {
	if ref := metav1.GetControllerOf(obj); ref != nil {
		return []string{ownerValue(ref.UID, obj.GetLabels()[naming.LabelApplication])}
	}
	return nil
}

// ownerValue is the value of IndexOwner for an application.
func ownerValue(owner types.UID, application string) string { return string(owner) + "/" + application }

func autoscalerTarget(obj client.Object) []string {
	hpa, ok := obj.(*autoscalingv2.HorizontalPodAutoscaler)
	if !ok {
		return nil
	}
	if name := TargetDeployment(hpa); name != "" {
		return []string{name}
	}
	return nil
}

// TargetDeployment returns the name of the Deployment that an autoscaler targets, empty if it targets something else.
func TargetDeployment(hpa *autoscalingv2.HorizontalPodAutoscaler) string {
	if hpa.Spec.ScaleTargetRef.Kind != "Deployment" {
		return ""
	}
	return hpa.Spec.ScaleTargetRef.Name
}

func referencedConfigMaps(obj client.Object) []string {
	nginx, ok := obj.(*v1alpha2.NginxOperator)
	if !ok {
		return nil
	}
	var names []string
	if c := nginx.Spec.Config; c != nil && c.ConfigMap != nil {
		names = append(names, c.ConfigMap.Name)
	}
	for _, c := range nginx.Spec.Content {
		if c.ConfigMap != nil {
			names = append(names, c.ConfigMap.Name)
		}
	}
	return names
}

func (o *Observer) autoscaler(ctx context.Context, app *application.Application, state *State) error {
	if app.Stateful != nil {
		return nil
	}
	list := &autoscalingv2.HorizontalPodAutoscalerList{}
	err := o.cache.List(ctx, list,
		client.InNamespace(app.Namespace),
		client.MatchingFields{IndexAutoscalerTarget: naming.Workload(app.Name)},
		client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("list autoscalers: %w", err)
	}
	for _, hpa := range list.Items {
		if hpa.DeletionTimestamp == nil {
			state.Autoscaler = hpa.Name
		}
	}
	return nil
}
