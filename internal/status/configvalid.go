package status

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
)

// configValid judges from the pods: nginx accepted the configuration where a pod
// that started with it is ready, and refused it where such a pod ends with an error
// that nginx reports about its configuration.
func configValid(v *view) judgement {
	status := v.configStatus()
	switch {
	case v.in.Blocked.Reason == v1alpha2.ReasonConfigInvalid:
		return judgement{metav1.ConditionFalse, v1alpha2.ReasonConfigRejected, clip(v.in.Blocked.Message)}
	case status == nil:
		return judgement{metav1.ConditionUnknown, v1alpha2.ReasonConfigPending, "There is no configuration to test yet"}
	case status.LoadedReplicas > 0:
		return judgement{metav1.ConditionTrue, v1alpha2.ReasonConfigServed, "nginx accepted the configuration and serves it"}
	case v.trouble != nil && v.trouble.configError != "":
		return judgement{metav1.ConditionFalse, v1alpha2.ReasonConfigRejected,
			clip(fmt.Sprintf("nginx refused the configuration: %s", v.trouble.configError))}
	case v.replicas == 0:
		return judgement{metav1.ConditionUnknown, v1alpha2.ReasonConfigPending, "No pod is asked for, so nginx has not tested the configuration"}
	default:
		return judgement{metav1.ConditionUnknown, v1alpha2.ReasonConfigPending, "No pod serves the configuration yet"}
	}
}
