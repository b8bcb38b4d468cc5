package fleet

import "example.com/nginx-operator/api/v1alpha2"

// underWay reports whether the reason of a condition says that the operator is at work, and that nothing has failed.
func underWay(reason string) bool {
	switch reason {
	case v1alpha2.ReasonRolloutInProgress, v1alpha2.ReasonConfigPending, v1alpha2.ReasonConfigLoading, v1alpha2.ReasonCanaryRunning,
		v1alpha2.ReasonCertificatePending, v1alpha2.ReasonWaitingForDeletion:
		return true
	}
	return false
}
