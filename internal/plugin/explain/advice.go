package explain

import "example.com/nginx-operator/api/v1alpha2"

// advice says what a reason of a condition means in plain words, what a user does, and with which commands. In the commands,
// {name} stands for the name of the application, and -n for its namespace is added.
type advice struct {
	means, do string
	commands  []string
}

const (
	seeStatus   = "kubectl nginx status {name} -w"
	seeDiff     = "kubectl nginx config diff {name}"
	seeHistory  = "kubectl nginx history {name}"
	seeLogs     = "kubectl nginx logs {name}"
	seeTree     = "kubectl nginx tree {name}"
	checkAll    = "kubectl nginx check"
	describePod = "kubectl describe pods -l " + v1alpha2.LabelNginxOperator + "={name}"
	editSpec    = "kubectl edit nginxoperator {name}"
)

// advices are those of the reasons that make a condition False or Unknown.
var advices = map[string]advice{
	v1alpha2.ReasonConfigMapNotFound: {"a ConfigMap that the spec names does not exist", "create it, or change the spec", []string{editSpec}},
	v1alpha2.ReasonConfigInvalid:     {"the files of the configuration do not fit together", "correct what the message names", []string{editSpec}},
	v1alpha2.ReasonInvalidSpec:       {"the spec must not be carried out, and the pods keep what they have", "correct what the message names", []string{editSpec}},
	v1alpha2.ReasonNameConflict:      {"an object with a name that the application needs belongs to another owner", "rename or delete one of the two", []string{seeTree}},
	v1alpha2.ReasonRejected:          {"the API server refuses an object of the application", "correct the spec, or the object that it collides with", []string{editSpec}},
	v1alpha2.ReasonRevisionNotFound:  {"the application is pinned to a revision that the history does not have", "pin it to one of the history, or unpin it", []string{seeHistory, "kubectl nginx unpin {name}"}},
	v1alpha2.ReasonForbidden:         {"a quota, an admission policy or the end of the namespace keeps an object from being written", "raise the quota or change the policy", []string{"kubectl describe quota"}},

	v1alpha2.ReasonConfigPending:  {"not every pod has tested the configuration yet", "wait, or correct what the message names", []string{seeStatus}},
	v1alpha2.ReasonConfigRejected: {"nginx refuses the configuration, and the pods serve the last one that it accepted", "correct the file and line in the message, and test it before", []string{seeDiff, "kubectl nginx config test {name} -f FILE"}},

	v1alpha2.ReasonRolloutInProgress:        {"pods are being replaced", "wait", []string{seeStatus}},
	v1alpha2.ReasonConfigLoading:            {"pods are loading the configuration", "wait", []string{seeStatus}},
	v1alpha2.ReasonCanaryRunning:            {"the first new pods are being compared with the others", "wait, end the comparison, or return", []string{seeStatus, "kubectl nginx promote {name}", "kubectl nginx abort {name}"}},
	v1alpha2.ReasonCanaryFailed:             {"the first new pods did worse than the others", "correct what they run", []string{seeHistory, seeLogs}},
	v1alpha2.ReasonWaitingForGate:           {"a rollout waits for its gates", "open them, or wait until another party opens them", []string{"kubectl nginx promote {name}"}},
	v1alpha2.ReasonSuspended:                {"the application is suspended, so that nothing changes", "end the suspension", []string{"kubectl nginx resume {name}"}},
	v1alpha2.ReasonWaitingForDeletion:       {"an object is being deleted, and is created again when it is gone", "remove the finalizers that the message names, if nothing else does", []string{seeTree}},
	v1alpha2.ReasonApplyFailed:              {"an object could not be written", "the operator tries again; its log has the error", []string{checkAll}},
	v1alpha2.ReasonConfigLost:               {"another client deleted or changed the configuration that pods start with", "correct the configuration, so that nginx accepts it: new pods cannot start until then", []string{seeDiff}},
	v1alpha2.ReasonImagePullFailed:          {"an image cannot be pulled", "correct the image, the pull secret or the node", []string{"kubectl nginx set image {name} IMAGE", describePod}},
	v1alpha2.ReasonContainerCrashed:         {"a container of a new pod crashes", "correct what the message quotes", []string{seeLogs, describePod}},
	v1alpha2.ReasonContainerNotStarted:      {"a container of a new pod cannot be started", "create what the message names, or correct the pod template", []string{describePod}},
	v1alpha2.ReasonUnschedulable:            {"no node takes a new pod", "add nodes, or change requests, affinity or tolerations", []string{describePod}},
	v1alpha2.ReasonPodsNotCreated:           {"the API server refuses new pods", "raise the quota, or change the policy that refuses them", []string{"kubectl describe quota"}},
	v1alpha2.ReasonProgressDeadlineExceeded: {"the rollout made no progress in time", "find out why new pods do not become ready", []string{describePod, seeLogs}},
	v1alpha2.ReasonRollingBack:              {"the rollout failed, and the last good revision is coming back", "wait", []string{seeStatus}},
	v1alpha2.ReasonRolledBack:               {"the rollout failed, and the last good revision serves", "correct what the message quotes; a restart tries the same again", []string{seeHistory, editSpec}},
	v1alpha2.ReasonRolloutHeld:              {"the rollout failed, and its pods stay for inspection", "inspect them, then change the spec or return", []string{describePod, "kubectl nginx abort {name}"}},
	v1alpha2.ReasonRolloutPaused:            {"the rollout is paused, and stays where it is", "let it continue, or return", []string{"kubectl nginx resume {name}", "kubectl nginx abort {name}"}},
	v1alpha2.ReasonInstanceUnreachable:      {"the operator does not reach the instance manager of a pod", "let the operator reach port 9113 of the pods", []string{checkAll}},

	v1alpha2.ReasonMinimumReplicasUnavailable: {"too few pods serve", "correct the cause in the message", []string{describePod, seeLogs}},

	v1alpha2.ReasonCertificatePending:  {"no pod has reported the certificate yet", "wait", []string{seeStatus}},
	v1alpha2.ReasonCertificateInvalid:  {"a certificate cannot be used", "correct the Secret that the message names", []string{"kubectl nginx certs {name}"}},
	v1alpha2.ReasonCertificateExpiring: {"a certificate has expired, or expires soon", "renew it", []string{"kubectl nginx certs {name}"}},

	v1alpha2.ReasonExposurePending:      {"another controller has not made the application reachable yet", "wait; if it stays, check the Gateway, the Ingress class or cert-manager", []string{seeTree}},
	v1alpha2.ReasonDefinitionNotFound:   {"the cluster lacks the Gateway API or cert-manager", "install what the message names, or remove the field", []string{editSpec}},
	v1alpha2.ReasonRouteNotAccepted:     {"a Gateway does not accept an HTTPRoute", "correct the route's parents or host names, or the listeners of the Gateway", []string{seeTree}},
	v1alpha2.ReasonRouteRefsNotResolved: {"a Gateway does not find the backend of an HTTPRoute", "correct the backends", []string{seeTree}},
	v1alpha2.ReasonCertificateNotIssued: {"cert-manager could not issue a certificate", "correct the issuer or the certificate", []string{seeTree}},
}
