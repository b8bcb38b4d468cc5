package status

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/canary"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/poddiagnosis"
	"example.com/nginx-operator/internal/nginx/revision"
	"example.com/nginx-operator/internal/nginx/rollout"
	"example.com/nginx-operator/test/golden"
)

const (
	yes     = metav1.ConditionTrue
	no      = metav1.ConditionFalse
	unknown = metav1.ConditionUnknown
)

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// healthy returns the input of a healthy application with two pods.
func healthy() Input {
	return Input{
		Owner:    application.Owner{GVK: v1alpha2.GroupVersion.WithKind(v1alpha2.Kind), Name: "web"},
		Workload: application.KindDeployment,
		Nginx: &v1alpha2.NginxOperator{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Generation: 4},
			Spec:       v1alpha2.NginxOperatorSpec{Replicas: new(int32(2))},
		},
		State: observe.State{
			Owned: map[owned.Key]owned.Object{
				{Kind: "Deployment", Name: "web"}:       deployment(2),
				{Kind: "ConfigMap", Name: "web-config"}: stableConfig("r1"),
			},
			Pods: []corev1.Pod{readyPod("web-1"), readyPod("web-2")},
			Instances: map[string]*instanceapi.Status{
				"web-1": {Serving: "r1", NginxVersion: "1.30.4"},
				"web-2": {Serving: "r1", NginxVersion: "1.30.4"},
			},
		},
		Selection: selected("r1", rollout.Decision{Phase: rollout.Settled, Accepted: 2, Serving: 2, Pods: 2}),
		Now:       now,
	}
}

// selected returns the selection of what the spec requests, with a configuration revision.
func selected(config string, decision rollout.Decision) revision.Selection {
	s := revision.Selection{Mode: revision.Normal}
	s.Run.Config.Revision, s.Rollout = config, decision
	return s
}

func stableConfig(revision string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{naming.AnnotationConfig: revision}}}
}

// servedOnProbation makes every pod serve the configuration, one of them so recently that it may
// still roll it back.
func servedOnProbation(in *Input) {
	in.Selection.Rollout.OnProbation = true
	in.State.Owned[owned.Key{Kind: "ConfigMap", Name: "web-config"}] = stableConfig("r0")
}

// decided sets the phase of the configuration and the number of pods that serve it.
func decided(phase rollout.Phase, serving int, change ...func(*rollout.Decision)) func(*Input) {
	return func(in *Input) {
		in.Selection.Rollout = rollout.Decision{Phase: phase, Accepted: serving, Serving: serving, Pods: 2}
		for _, i := range in.State.Instances {
			if serving--; serving < 0 {
				i.Serving = "r0"
			}
		}
		for _, c := range change {
			c(&in.Selection.Rollout)
		}
	}
}

// failed makes a rollout fail, so that the last good revision is or will be restored.
func failed(change ...func(*Input)) func(*Input) {
	return func(in *Input) {
		in.Selection.Mode = revision.RolledBack
		in.Selection.Failure, in.Selection.RolledBackTo = &history.Failure{Reason: v1alpha2.ReasonCanaryFailed, Message: "5xx"}, 3
		for _, c := range change {
			c(in)
		}
	}
}

func refused(d *rollout.Decision) {
	d.Problems = []instanceapi.Problem{
		{File: "site.conf", Line: 2, Message: `unknown directive "lisen"`},
		{Message: "port http (80/TCP) is declared, but no server listens on it: add a listen directive or remove the port from spec.ports"},
	}
}

const failedCheck = "spec.checks[0] (GET http://127.0.0.1:8080/): the status is 404"

func takenBack(d *rollout.Decision) { d.Reverted = true }

func fatal(d *rollout.Decision) { d.Fatal = true }

func silent(d *rollout.Decision) { d.Unreachable = []string{"web-1"} }

// takesNoOrders makes orders to pods fail.
func takesNoOrders(why observe.OrderFailure, pods ...string) func(*Input) {
	return func(in *Input) {
		decided(rollout.Testing, 0, func(d *rollout.Decision) { d.Unreachable = pods })(in)
		in.State.Unreachable = map[string]observe.Failures{}
		for _, pod := range pods {
			in.State.Unreachable[pod] = observe.Failures{First: now.Add(-time.Minute), Last: now, Order: why}
		}
	}
}

// follows lets pods load the configuration without an order.
func follows(change ...func(*rollout.Decision)) func(*Input) {
	return decided(rollout.Testing, 0, append(change, silent, func(d *rollout.Decision) {
		d.Follow = &instanceapi.Follow{Revision: "r1"}
	})...)
}

// certified adds a certificate to the application, which the first pod reports like this.
func certified(found instanceapi.Certificate) func(*Input) {
	return func(in *Input) {
		in.Nginx.Spec.TLS = []v1alpha2.Certificate{{Name: "shop", SecretName: "shop-tls"}}
		found.Name = "shop"
		in.State.Instances["web-1"].Certificates = []instanceapi.Certificate{found}
		for i := range in.State.Pods {
			in.State.Pods[i].Status.PodIP = "10.0.0.1"
			in.State.Pods[i].Status.ContainerStatuses = []corev1.ContainerStatus{{
				Name: naming.NginxContainer, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
			}}
		}
	}
}

// lasting returns a certificate with a total lifetime, of which some is left.
func lasting(whole, left time.Duration) instanceapi.Certificate {
	end := now.Add(left)
	start := end.Add(-whole)
	return instanceapi.Certificate{Serial: "0a", NotBefore: &start, NotAfter: &end}
}

func deployment(replicas int32) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
	d.Spec.Replicas = &replicas
	d.Spec.Template.Annotations = map[string]string{naming.AnnotationTemplate: "t1"}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: naming.NginxContainer, Image: "nginx:1"}}
	d.Status = appsv1.DeploymentStatus{
		ObservedGeneration: 1, Replicas: replicas, UpdatedReplicas: replicas, ReadyReplicas: replicas, AvailableReplicas: replicas,
		Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"}},
	}
	return d
}

func readyPod(name string) corev1.Pod {
	pod := newPod(name)
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	return pod
}

// newPod returns a pod of the newest template that is not ready.
func newPod(name string) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{naming.AnnotationTemplate: "t1"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: naming.NginxContainer, Image: "nginx:1"}}},
	}
}

func waiting(reason, message string) corev1.Pod {
	pod := newPod("web-3")
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: naming.NginxContainer, Image: "nginx:1",
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
	}}
	return pod
}

// crashing returns a pod whose nginx keeps crashing. running is whether it currently runs.
func crashing(running bool, message string) corev1.Pod {
	pod := waiting("CrashLoopBackOff", "back-off 5m0s")
	s := &pod.Status.ContainerStatuses[0]
	s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: message}
	if running {
		s.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	}
	return pod
}

const emerg = "2026/11/20 12:00:00 [emerg] 1#1: unknown directive \"lisen\" in /etc/nginx-operator/config/site.conf:2\n"

// rollingOut adds one new pod in the state of pod, while the two old ones serve.
func rollingOut(pod corev1.Pod) func(*Input) {
	return func(in *Input) {
		d := in.State.Deployment()
		d.Status.Replicas, d.Status.UpdatedReplicas = 3, 1
		d.Status.Conditions[0].Reason = "ReplicaSetUpdated"
		for i := range in.State.Pods {
			in.State.Pods[i].Annotations = map[string]string{naming.AnnotationTemplate: "t0"}
		}
		in.State.Pods = append(in.State.Pods, pod)
	}
}

func blocked(reason string) func(*Input) {
	return func(in *Input) { in.Blocked = revision.Blocked{Reason: reason, Message: "fix this"} }
}

// TestConditions: each row results in its condition, reason and message.
func TestConditions(t *testing.T) {
	var messages golden.Messages
	noPods := func(in *Input) {
		in.State.Pods, in.State.Instances = nil, nil
		in.Selection.Rollout = rollout.Decision{Phase: rollout.Testing}
		in.State.Deployment().Status = appsv1.DeploymentStatus{ObservedGeneration: 1}
	}
	tests := []struct {
		name      string
		change    func(*Input)
		condition string
		status    metav1.ConditionStatus
		reason    string
		message   string
	}{
		{"accepted", nil, "Accepted", yes, v1alpha2.ReasonAccepted, "valid"},
		{"configmap missing", blocked(v1alpha2.ReasonConfigMapNotFound), "Accepted", no, v1alpha2.ReasonConfigMapNotFound, "fix this"},
		{"configuration invalid", blocked(v1alpha2.ReasonConfigInvalid), "Accepted", no, v1alpha2.ReasonConfigInvalid, "fix this"},
		{"name taken", blocked(v1alpha2.ReasonNameConflict), "Accepted", no, v1alpha2.ReasonNameConflict, "fix this"},
		{"rejected", blocked(v1alpha2.ReasonRejected), "Accepted", no, v1alpha2.ReasonRejected, "fix this"},
		{"forbidden", blocked(v1alpha2.ReasonForbidden), "Accepted", no, v1alpha2.ReasonForbidden, "fix this"},

		{"configuration served", nil, "ConfigValid", yes, v1alpha2.ReasonConfigAccepted, "nginx accepted"},
		{"configuration on its way", decided(rollout.Loading, 1), "ConfigValid", yes, v1alpha2.ReasonConfigAccepted, "nginx accepted"},
		{"configuration not planned", func(in *Input) { in.Selection = selected("", rollout.Decision{}) }, "ConfigValid", unknown, v1alpha2.ReasonConfigPending, "no configuration"},
		{"configuration without pods", noPods, "ConfigValid", unknown, v1alpha2.ReasonConfigPending, "No pod has started"},
		{"configuration scaled to zero", func(in *Input) { noPods(in); in.Nginx.Spec.Replicas = new(int32(0)) },
			"ConfigValid", unknown, v1alpha2.ReasonConfigPending, "The application is scaled to zero"},
		{"configuration under test", decided(rollout.Testing, 0), "ConfigValid", unknown, v1alpha2.ReasonConfigPending, "Not every pod"},
		{"configuration of a new template", decided(rollout.Testing, 0, refused), "ConfigValid", unknown, v1alpha2.ReasonConfigPending, "the pods that it replaces refuse it: site.conf:2:"},
		{"no instance answers", decided(rollout.Testing, 0, silent), "ConfigValid", unknown, v1alpha2.ReasonConfigPending, "pod web-1 does not answer on port 9113"},
		{"configuration refused by nginx", decided(rollout.Rejected, 0, refused), "ConfigValid", no, v1alpha2.ReasonConfigRejected,
			`nginx refused the configuration: site.conf:2: unknown directive "lisen"; port http (80/TCP)`},
		{"configuration that a pod took back", decided(rollout.Rejected, 0, refused, func(d *rollout.Decision) { d.Reverted = true }), "ConfigValid", no, v1alpha2.ReasonConfigRejected,
			"a pod loaded the configuration and rolled it back: site.conf:2:"},
		{"configuration that cannot be put together", blocked(v1alpha2.ReasonConfigInvalid), "ConfigValid", no, v1alpha2.ReasonConfigRejected, "fix this"},

		{"rolled out", nil, "UpToDate", yes, v1alpha2.ReasonRolledOut, "Every pod"},
		{"rolling out", rollingOut(newPod("web-3")), "UpToDate", no, v1alpha2.ReasonRolloutInProgress, "0 of 2 pods"},
		{"an annotation not observed", func(in *Input) { in.State.Deployment().Generation = 2 }, "UpToDate", yes, v1alpha2.ReasonRolledOut, "Every pod"},
		{"template not observed", func(in *Input) {
			in.State.Deployment().Generation = 2
			in.State.Deployment().Spec.Template.Annotations[naming.AnnotationTemplate] = "t2"
		}, "UpToDate", no, v1alpha2.ReasonRolloutInProgress, "0 of 2 pods"},
		{"no deployment", func(in *Input) { in.State.Owned = nil }, "UpToDate", no, v1alpha2.ReasonRolloutInProgress, "does not exist"},
		{"image not pulled", rollingOut(waiting("ImagePullBackOff", "")), "UpToDate", no, v1alpha2.ReasonImagePullFailed, "image nginx:1 cannot be pulled"},
		{"image name invalid", rollingOut(waiting("InvalidImageName", "")), "UpToDate", no, v1alpha2.ReasonImagePullFailed, "InvalidImageName"},
		{"crash", rollingOut(crashing(false, "license file is missing")), "UpToDate", no, v1alpha2.ReasonContainerCrashed, "exit code 1 (Error): license file is missing"},
		{"crash, running again", rollingOut(crashing(true, "license file is missing")), "UpToDate", no, v1alpha2.ReasonContainerCrashed, "license file is missing"},
		{"not started", rollingOut(waiting("CreateContainerConfigError", "secret \"x\" not found")), "UpToDate", no, v1alpha2.ReasonContainerNotStarted, "secret \"x\" not found"},
		{"unschedulable", rollingOut(unschedulable()), "UpToDate", no, v1alpha2.ReasonUnschedulable, "0/2 nodes are available"},
		{"deadline", func(in *Input) {
			rollingOut(newPod("web-3"))(in)
			deploymentProgress(in, appsv1.DeploymentProgressing, "ProgressDeadlineExceeded")
		},
			"UpToDate", no, v1alpha2.ReasonProgressDeadlineExceeded, "no progress"},
		{"quota", func(in *Input) {
			rollingOut(newPod("web-3"))(in)
			deploymentProgress(in, appsv1.DeploymentReplicaFailure, "FailedCreate")
		},
			"UpToDate", no, v1alpha2.ReasonPodsNotCreated, "exceeded quota"},
		{"pod failed after the rollout", func(in *Input) { in.State.Deployment().Status.AvailableReplicas = 1 }, "UpToDate", yes, v1alpha2.ReasonRolledOut, ""},
		{"waiting", waitingFor("backup"), "UpToDate", no, v1alpha2.ReasonWaitingForGate,
			"The rollout of r2 waits for gate backup (rollout.gates); the current pods keep serving. " +
				"To start it now: kubectl annotate --overwrite --namespace=shop nginx web gate.operator.example.com/backup=r2"},
		{"waiting for several", waitingFor("backup", "approval"), "UpToDate", no, v1alpha2.ReasonWaitingForGate,
			"gates backup, approval (rollout.gates); the current pods keep serving. " +
				"To start it now: kubectl annotate --overwrite --namespace=shop nginx web gate.operator.example.com/backup=r2 gate.operator.example.com/approval=r2"},
		{"waiting for a gate of a cache", func(in *Input) {
			waitingFor("backup")(in)
			in.Owner = application.Owner{GVK: schema.GroupVersionKind{Kind: "NginxCache"}, Name: "front"}
		}, "UpToDate", no, v1alpha2.ReasonWaitingForGate, "nginxcache front gate.operator.example.com/backup=r2"},
		{"waiting for another application", func(in *Input) {
			waitingFor()(in)
			in.Selection.Waiting.Waits = "it waits until the shards are up to date"
		}, "UpToDate", no, v1alpha2.ReasonRolloutInProgress, "The rollout has not begun: it waits until the shards are up to date"},
		{"waiting and serving", waitingFor("backup"), "Available", yes, v1alpha2.ReasonMinimumReplicasAvailable, "At least 2 pods serve"},
		{"waiting with the same configuration", waitingFor("backup"), "ConfigValid", yes, v1alpha2.ReasonConfigAccepted, "nginx accepted"},
		{"waiting with another configuration", func(in *Input) { waitingFor("backup")(in); in.Selection.Waiting.NewConfig = true },
			"ConfigValid", unknown, v1alpha2.ReasonConfigPending, "waits for a gate"},
		{"waiting for another application with another configuration", func(in *Input) {
			waitingFor()(in)
			in.Selection.Waiting.Waits, in.Selection.Waiting.NewConfig = "it waits until the shards are up to date", true
		}, "ConfigValid", unknown, v1alpha2.ReasonConfigPending, "has not begun, so nginx has not tested it: it waits until"},
		{"suspended", func(in *Input) { in.Pending = []string{"Service", "Deployment"} }, "UpToDate", no, v1alpha2.ReasonSuspended, "Service, Deployment"},
		{"not written", func(in *Input) { in.Failed = []owned.Key{{Kind: "Service", Name: "web"}} }, "UpToDate", no, v1alpha2.ReasonApplyFailed, "Service web could not be written: the operator retries"},
		{"not written, with the answer", func(in *Input) {
			in.Failed, in.Failure = []owned.Key{{Kind: "Service", Name: "web"}}, fmt.Errorf("update Service web: %w", apierrors.NewInternalError(errors.New("etcdserver: leader changed")))
		}, "UpToDate", no, v1alpha2.ReasonApplyFailed, "Service web could not be written: Internal error occurred: etcdserver: leader changed; the operator retries"},
		{"not gone yet", func(in *Input) {
			in.Failed, in.AwaitingDeletion = []owned.Key{{Kind: "Service", Name: "web"}}, "Service web is being deleted"
		}, "UpToDate", no, v1alpha2.ReasonWaitingForDeletion, "Service web is being deleted"},
		{"configuration reaches the pods", decided(rollout.Loading, 1), "UpToDate", no, v1alpha2.ReasonConfigLoading, "1 of 2 pods serve configuration r1"},
		{"a pod does not carry out its order", decided(rollout.Loading, 1, func(d *rollout.Decision) { d.Overdue = []string{"web-1"} }),
			"UpToDate", no, v1alpha2.ReasonConfigLoading, "1 of 2 pods serve configuration r1; pod web-1 has not carried out the order it accepted minutes ago, so the other pods no longer wait for it: read the log of pod web-1"},
		{"the configuration may be taken back", servedOnProbation, "UpToDate", no, v1alpha2.ReasonConfigLoading, "Every pod serves configuration r1; the change is complete in at most 5 seconds"},
		{"a new template's configuration may be taken back", func(in *Input) {
			servedOnProbation(in)
			in.Selection.Step.Stage = history.Rolling
		}, "UpToDate", no, v1alpha2.ReasonRolloutInProgress, "Every pod serves configuration r1"},
		{"what pods start with is lost", decided(rollout.Rejected, 0, refused, func(d *rollout.Decision) { d.Lost = true }), "UpToDate", no, v1alpha2.ReasonConfigLost, "ConfigMap web-config"},
		{"configuration was refused", decided(rollout.Rejected, 0, refused), "UpToDate", no, v1alpha2.ReasonConfigRejected, "The pods serve configuration r1, the last good one: nginx refused the requested one"},
		{"configuration was taken back", decided(rollout.Rejected, 0, refused, takenBack), "UpToDate", no, v1alpha2.ReasonConfigRejected, "The pods serve configuration r1, the last good one: a pod loaded the requested one and rolled it back"},
		{"configuration was taken back for now", decided(rollout.Rejected, 0, refused, takenBack), "ConfigValid", no, v1alpha2.ReasonConfigRejected, "; a pod tries it again within 10 minutes"},
		{"configuration was taken back for good", decided(rollout.Rejected, 0, refused, takenBack, fatal), "ConfigValid", no, v1alpha2.ReasonConfigRejected, "; to try it again, change spec.forceRedeploy"},
		{"a check fails while pods start", func(in *Input) {
			rollingOut(newPod("web-3"))(in)
			in.State.Instances["web-3"] = &instanceapi.Status{NotReady: failedCheck}
		}, "UpToDate", no, v1alpha2.ReasonRolloutInProgress, "pods are up to date: a pod is not ready: " + failedCheck},
		{"an old pod is gone", func(in *Input) {
			rollingOut(newPod("web-3"))(in)
			in.State.Deployment().Status.Replicas, in.State.Deployment().Status.AvailableReplicas = 2, 1
			in.State.Pods = slices.Delete(in.State.Pods, 0, 1)
			in.State.Pods[1].Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}, "UpToDate", no, v1alpha2.ReasonRolloutInProgress, "1 of 2 pods are up to date"},
		{"a check fails later", func(in *Input) {
			in.State.Deployment().Status.AvailableReplicas = 1
			in.State.Pods[1].Status.Conditions[0].Status = corev1.ConditionFalse
			in.State.Instances["web-2"].NotReady = failedCheck
		}, "Available", no, v1alpha2.ReasonMinimumReplicasUnavailable, ": a pod is not ready: " + failedCheck},
		{"an instance is silent", decided(rollout.Loading, 1, silent), "UpToDate", unknown, v1alpha2.ReasonInstanceUnreachable, "pod web-1"},
		{"several instances are silent", decided(rollout.Loading, 1, func(d *rollout.Decision) { d.Unreachable = []string{"a", "b", "c", "d", "e"} }),
			"UpToDate", unknown, v1alpha2.ReasonInstanceUnreachable, "The instance managers of pods a, b, c and 2 more do not answer on port 9113"},
		{"a pod answers no orders", takesNoOrders(observe.OrderUnanswered, "web-1"), "UpToDate", unknown, v1alpha2.ReasonInstanceUnreachable,
			"The instance manager of pod web-1 answers on port 9113, but not to orders: check whether a proxy"},
		{"pods know no key", takesNoOrders("UnknownKey", "web-1", "web-2"), "UpToDate", unknown, v1alpha2.ReasonInstanceUnreachable,
			"The instance managers of pods web-1, web-2 refuse orders (UnknownKey) until the kubelet delivers the current ConfigMap web-config-next, "},
		{"the operator has no key", takesNoOrders(observe.OrderUnsigned, "web-1"), "UpToDate", unknown, v1alpha2.ReasonInstanceUnreachable,
			"The instance manager of pod web-1 gets no orders, because the operator has no key to sign them"},
		{"a pod refuses orders", takesNoOrders("BadBody", "web-1"), "UpToDate", unknown, v1alpha2.ReasonInstanceUnreachable,
			"The instance manager of pod web-1 refuses orders (BadBody): the operator tries again"},
		{"a pod keeps no files", takesNoOrders("MissingFiles", "web-1"), "UpToDate", unknown, v1alpha2.ReasonInstanceUnreachable,
			"The instance manager of pod web-1 refuses orders, because it does not keep the files that come with them"},
		{"a pod ignores orders", takesNoOrders(observe.OrderIgnored, "web-1"), "ConfigValid", unknown, v1alpha2.ReasonConfigPending,
			"The instance manager of pod web-1 accepts orders and does not carry them out: read the log of pod web-1"},
		{"a pod answers with too much", takesNoOrders(observe.AnswerTooLarge, "web-1"), "UpToDate", unknown, v1alpha2.ReasonInstanceUnreachable,
			"The instance manager of pod web-1 sends a larger answer on port 9113 than the operator accepts: check what listens on the port in pod web-1"},
		{"the pods of a namespace answer with too much", takesNoOrders(observe.AnswersTooLarge, "web-1"), "UpToDate", unknown, v1alpha2.ReasonInstanceUnreachable,
			"The operator does not keep the status of pod web-1, because the pods of namespace "},
		{"the pods of all namespaces answer with too much", takesNoOrders(observe.AnswersOfAllTooLarge, "web-1"), "UpToDate", unknown, v1alpha2.ReasonInstanceUnreachable,
			"The operator does not keep the status of pod web-1, because the pods of all namespaces together report more than its memory for them (64 MiB)"},
		{"one pod is silent, and another one answers no orders", func(in *Input) {
			takesNoOrders(observe.OrderUnanswered, "web-2")(in)
			in.Selection.Rollout.Unreachable = []string{"web-1", "web-2"}
		}, "UpToDate", unknown, v1alpha2.ReasonInstanceUnreachable, "blocks the operator; the instance manager of pod web-2 answers"},
		{"a pod follows", follows(), "UpToDate", unknown, v1alpha2.ReasonInstanceUnreachable,
			"; meanwhile the pod loads the configuration when the kubelet delivers it, which can take two minutes"},
		{"a pod follows first", follows(func(d *rollout.Decision) { d.FirstFollower = "web-1" }), "UpToDate", unknown, v1alpha2.ReasonInstanceUnreachable,
			"; meanwhile pod web-1 loads the configuration when the kubelet delivers it, and the others if this one stays ready for 3 minutes"},
		{"a second pod follows first", follows(func(d *rollout.Decision) { d.FirstFollower, d.FailedFollowers = "web-2", []string{"web-1"} }),
			"UpToDate", unknown, v1alpha2.ReasonInstanceUnreachable, "; pod web-1 restarted or lost readiness"},
		{"the pods that followed first failed", follows(func(d *rollout.Decision) { d.FailedFollowers = []string{"web-1", "web-2"} }),
			"UpToDate", unknown, v1alpha2.ReasonInstanceUnreachable, "so the others do not load it: correct the configuration, or delete pods web-1, web-2"},
		{"held", failed(func(in *Input) { in.Selection.Mode = revision.Held }), "UpToDate", no, v1alpha2.ReasonRolloutHeld,
			"The rollout failed and is held (rollout.onFailure), until the spec changes: CanaryFailed: 5xx"},
		{"paused before it begins", func(in *Input) {
			in.Selection.Mode, in.Selection.Waiting = revision.Waiting, &revision.WaitingRollout{Revision: "5b3f", Paused: true, NewConfig: true}
		}, "UpToDate", no, v1alpha2.ReasonRolloutPaused, "The rollout of 5b3f has not begun, because rollout.paused is set; the current pods keep serving"},
		{"paused before its gates", func(in *Input) {
			in.Selection.Mode, in.Selection.Waiting = revision.Waiting, &revision.WaitingRollout{Revision: "5b3f", Paused: true, Gates: []string{"backup"}}
		}, "UpToDate", no, v1alpha2.ReasonRolloutPaused, "keep serving; then it waits for gate backup"},
		{"a configuration paused before it begins", func(in *Input) {
			in.Selection.Mode, in.Selection.Waiting = revision.Waiting, &revision.WaitingRollout{Revision: "5b3f", Paused: true, NewConfig: true}
		}, "ConfigValid", unknown, v1alpha2.ReasonConfigPending, "The rollout of the configuration has not begun (rollout.paused), so nginx has not tested it"},
		{"paused", func(in *Input) {
			rollingOut(newPod("web-3"))(in)
			in.Selection.Paused, in.Selection.Began = true, &history.Revision{}
		}, "UpToDate", no, v1alpha2.ReasonRolloutPaused, "The rollout is paused (rollout.paused): 0 of 2 pods are up to date, and 2 pods of earlier revisions serve"},
		{"paused with a pod that crashes", func(in *Input) {
			rollingOut(crashing(false, emerg))(in)
			in.Selection.Paused, in.Selection.Began = true, &history.Revision{}
		}, "UpToDate", no, v1alpha2.ReasonRolloutPaused, "The rollout is paused (rollout.paused): 0 of 2 pods are up to date, and 2 pods of earlier revisions serve; container nginx ended"},
		{"a configuration is paused", func(in *Input) {
			decided(rollout.Loading, 1)(in)
			in.Selection.Paused = true
		}, "UpToDate", no, v1alpha2.ReasonRolloutPaused, "The rollout is paused (rollout.paused): 1 of 2 pods serve configuration r1"},
		{"nothing is paused", func(in *Input) { in.Selection.Paused = true }, "UpToDate", yes, v1alpha2.ReasonRolledOut, "Every pod is up to date"},
		{"rolled back, to be retried", failed(func(in *Input) { in.Selection.Retry = &revision.Retry{At: now.Add(time.Minute), Number: 2, Limit: 3} }),
			"UpToDate", no, v1alpha2.ReasonRolledBack, "revision 3 runs again; retry 2 of 3 is at 2026-11-20T12:01:00Z (rollout.retry): CanaryFailed: 5xx"},
		{"canary", func(in *Input) {
			*in = onCanary(40, canary.Verdict{Outcome: canary.Good, Canary: canary.Figures{Requests: 400}, Others: canary.Figures{Requests: 1200, Errors: 3}})
		},
			"UpToDate", no, v1alpha2.ReasonCanaryRunning, "at least 100 requests to the canary, none answered with 5xx"},
		{"rolled back", failed(), "UpToDate", no, v1alpha2.ReasonRolledBack, "The rollout failed; revision 3 runs again until the spec changes"},
		{"rolled back, and a pod starts", failed(func(in *Input) { in.State.Deployment().Status.AvailableReplicas = 1 }), "UpToDate", no, v1alpha2.ReasonRolledBack, ""},
		{"rolled back, and a pod starts to serve", failed(decided(rollout.Settled, 1)), "UpToDate", no, v1alpha2.ReasonRolledBack, ""},
		{"what a pod serves is unknown", failed(decided(rollout.Loading, 1, silent)), "UpToDate", no, v1alpha2.ReasonRollingBack, "1 of 2 pods serve its configuration"},
		{"pods of what failed are left", failed(rollingOut(newPod("web-3"))), "UpToDate", no, v1alpha2.ReasonRollingBack, "revision 3 is being restored, 0 of 2 pods are up to date: CanaryFailed: 5xx"},
		{"a pod serves what failed", failed(decided(rollout.Loading, 1)), "UpToDate", no, v1alpha2.ReasonRollingBack, "1 of 2 pods serve its configuration"},
		{"blocked", blocked(v1alpha2.ReasonNameConflict), "UpToDate", no, v1alpha2.ReasonNameConflict, "fix this"},

		{"available", nil, "Available", yes, v1alpha2.ReasonMinimumReplicasAvailable, "At least 2 pods serve"},
		{"old pods count", rollingOut(crashing(false, emerg)), "Available", yes, v1alpha2.ReasonMinimumReplicasAvailable, ""},
		{"too few", func(in *Input) { in.State.Deployment().Status.AvailableReplicas = 1 }, "Available", no, v1alpha2.ReasonMinimumReplicasUnavailable, "1 pod serves; at least 2 are required (spec.replicas minus rollout.maxUnavailable)"},
		{"crash after the rollout", func(in *Input) {
			in.State.Deployment().Status.AvailableReplicas = 1
			in.State.Pods[1] = crashing(false, "license file is missing")
		}, "Available", no, v1alpha2.ReasonMinimumReplicasUnavailable, "at least 2 are required (spec.replicas minus rollout.maxUnavailable): container nginx ended with exit code 1 (Error): license file is missing"},
		{"pods seen later than the deployment", func(in *Input) { in.State.Pods[1] = newPod("web-2") },
			"Available", no, v1alpha2.ReasonMinimumReplicasUnavailable, "1 pod serves; at least 2 are required (spec.replicas minus rollout.maxUnavailable)"},
		{"right after a pause", func(in *Input) {
			in.State.Deployment().Generation, in.State.Deployment().Status.ObservedGeneration = 2, 1
			in.State.Deployment().Status.ReadyReplicas, in.State.Deployment().Status.AvailableReplicas = 2, 0
		}, "Available", yes, v1alpha2.ReasonMinimumReplicasAvailable, ""},
		{"few enough", func(in *Input) {
			in.State.Deployment().Status.AvailableReplicas = 1
			in.Nginx.Spec.Rollout = &v1alpha2.Rollout{MaxUnavailable: new(intstr.FromString("50%"))}
		}, "Available", yes, v1alpha2.ReasonMinimumReplicasAvailable, "At least 1 pod serves"},
		{"scaled to zero", func(in *Input) { in.Nginx.Spec.Replicas = new(int32(0)) }, "Available", yes, v1alpha2.ReasonScaledToZero, ""},
		{"no deployment at all", func(in *Input) { in.State.Owned = nil }, "Available", no, v1alpha2.ReasonMinimumReplicasUnavailable, ""},

		{"pods of a rollout that was given up", func(in *Input) {
			in.Selection.Mode, in.Selection.Leftovers = revision.InterimRollback, []string{"web-3"}
		}, "UpToDate", no, v1alpha2.ReasonRolloutInProgress,
			"of the aborted one are gone: pod web-3 is still there"},
		{"a rollout that was given up has left nothing", func(in *Input) { in.Selection.Mode = revision.InterimRollback }, "UpToDate", no, v1alpha2.ReasonRolloutInProgress, "are gone"},
		{"pods with other ports", func(in *Input) { in.KeepsPorts = true }, "UpToDate", no, v1alpha2.ReasonRolloutInProgress, "The Service gets its new ports when"},
		{"foreign pods", func(in *Input) { in.State.ForeignPods = []string{"a", "b", "c", "d"} }, "UpToDate", yes, v1alpha2.ReasonRolledOut,
			"Every pod is up to date; pods a, b, c and 1 more do not belong to the Deployment but have the label operator.example.com/nginxoperator=web, so the Service sends them requests: remove the label or delete the pods"},
		{"one foreign pod", func(in *Input) { in.State.ForeignPods = []string{"a"} }, "UpToDate", yes, v1alpha2.ReasonRolledOut,
			"; pod a does not belong to the Deployment but has the label operator.example.com/nginxoperator=web, so the Service sends it requests: remove the label or delete the pod"},
		{"an image of an earlier release", func(in *Input) { in.Selection.EarlierImage = "registry.example.com/nginx-operator:0.4.0" }, "UpToDate", yes, v1alpha2.ReasonRolledOut,
			"Every pod is up to date; new pods still need the image registry.example.com/nginx-operator:0.4.0 of an earlier release of the operator: keep it in its registry until the next rollout, or run the operator with --renew-pods"},
		{"pinned", func(in *Input) { in.Selection.Mode, in.Selection.PinnedTo = revision.Pinned, 7 }, "UpToDate", yes, v1alpha2.ReasonPinned,
			"Every pod runs revision 7, which rollout.toRevision requests"},

		{"certificate", certified(lasting(90*24*time.Hour, 30*24*time.Hour)), "CertificatesValid", yes, v1alpha2.ReasonCertificatesLoaded, "Every certificate"},
		{"certificate close to its end", certified(lasting(90*24*time.Hour, 8*24*time.Hour)), "CertificatesValid", no, v1alpha2.ReasonCertificateExpiring,
			"tls shop: the certificate in Secret shop-tls expires on 2026-11-28 12:00:00 UTC: renew it"},
		{"certificate past its end", certified(lasting(90*24*time.Hour, -time.Hour)), "CertificatesValid", no, v1alpha2.ReasonCertificateExpiring,
			"tls shop: the certificate in Secret shop-tls expired on 2026-11-20 11:00:00 UTC; clients reject it: renew the Secret"},
		{"certificate of tomorrow", certified(lasting(24*time.Hour, 48*time.Hour)), "CertificatesValid", no, v1alpha2.ReasonCertificateInvalid,
			"tls shop: the certificate in Secret shop-tls is not valid before 2026-11-21 12:00:00 UTC; clients reject it until then"},
		{"certificate of a clock that is ahead", certified(lasting(24*time.Hour, 24*time.Hour+30*time.Second)), "CertificatesValid", yes, v1alpha2.ReasonCertificatesLoaded, ""},
		{"certificate for a day", certified(lasting(24*time.Hour, 3*time.Hour)), "CertificatesValid", yes, v1alpha2.ReasonCertificatesLoaded, ""},
		{"certificate for a day, ending", certified(lasting(24*time.Hour, 2*time.Hour)), "CertificatesValid", no, v1alpha2.ReasonCertificateExpiring, ""},
		{"certificate bad", certified(instanceapi.Certificate{Error: "the private key in tls.key does not match the certificate in tls.crt"}), "CertificatesValid", no, v1alpha2.ReasonCertificateInvalid,
			"tls shop: Secret shop-tls: the private key in tls.key does not match the certificate in tls.crt"},
		{"certificate not reported", certified(instanceapi.Certificate{}), "CertificatesValid", unknown, v1alpha2.ReasonCertificatePending, "shop"},

		{"ready", nil, "Ready", yes, v1alpha2.ReasonReady, ""},
		{"first that is False", func(in *Input) { blocked(v1alpha2.ReasonNameConflict)(in); noPods(in) }, "Ready", no, v1alpha2.ReasonNameConflict, "fix this"},
		{"False before Unknown", noPods, "Ready", no, v1alpha2.ReasonRolloutInProgress, "0 of 2 pods"},
		{"ready at zero", func(in *Input) {
			noPods(in)
			in.Nginx.Spec.Replicas = new(int32(0))
		}, "Ready", yes, v1alpha2.ReasonReady, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := healthy()
			if tt.change != nil {
				tt.change(&in)
			}
			c := meta.FindStatusCondition(Compute(in).Status.Conditions, tt.condition)
			if c == nil {
				t.Fatal("there is no such condition")
			}
			if c.Status != tt.status || c.Reason != tt.reason || !strings.Contains(c.Message, tt.message) {
				t.Errorf("%s is %s (%s): %q\nwant %s (%s): …%s…", tt.condition, c.Status, c.Reason, c.Message, tt.status, tt.reason, tt.message)
			}
			if c.ObservedGeneration != in.Nginx.Generation {
				t.Errorf("observedGeneration = %d, want %d", c.ObservedGeneration, in.Nginx.Generation)
			}
			if in.Blocked.Reason == "" {
				messages.Add(fmt.Sprintf("condition %s=%s (%s)", c.Type, c.Status, c.Reason), c.Message)
			}
		})
	}
	messages.Compare(t, "conditions.txt")
}

func unschedulable() corev1.Pod {
	pod := newPod("web-3")
	pod.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/2 nodes are available",
	}}
	return pod
}

func deploymentProgress(in *Input, condition appsv1.DeploymentConditionType, reason string) {
	d := in.State.Deployment()
	d.Status.Conditions = append(d.Status.Conditions, appsv1.DeploymentCondition{
		Type: condition, Status: corev1.ConditionTrue, Reason: reason, Message: "exceeded quota",
	})
}

// waitingFor makes a rollout wait for gates.
func waitingFor(gates ...string) func(*Input) {
	return func(in *Input) {
		in.Selection.Mode, in.Selection.Waiting = revision.Waiting, &revision.WaitingRollout{Revision: "r2", Gates: gates}
	}
}

func pausedBefore(in *Input) {
	in.Selection.Mode, in.Selection.Waiting = revision.Waiting, &revision.WaitingRollout{Revision: "r2", Paused: true}
}

// TestWaitingRollout: the status shows what waits, and since when, for clients that open gates.
func TestWaitingRollout(t *testing.T) {
	later := metav1.NewTime(now.Add(time.Hour))
	for name, tt := range map[string]struct {
		before, want *v1alpha2.WaitingRollout
		change       func(*Input)
	}{
		"comes to wait":     {nil, &v1alpha2.WaitingRollout{Revision: "r2", Gates: []string{"backup"}, Since: later}, waitingFor("backup")},
		"continues to wait": {&v1alpha2.WaitingRollout{Revision: "r2", Gates: []string{"approval", "backup"}, Since: metav1.NewTime(now)}, &v1alpha2.WaitingRollout{Revision: "r2", Gates: []string{"backup"}, Since: metav1.NewTime(now)}, waitingFor("backup")},
		"another revision":  {&v1alpha2.WaitingRollout{Revision: "r1", Gates: []string{"backup"}, Since: metav1.NewTime(now)}, &v1alpha2.WaitingRollout{Revision: "r2", Gates: []string{"backup"}, Since: later}, waitingFor("backup")},
		"begins":            {&v1alpha2.WaitingRollout{Revision: "r2", Gates: []string{"backup"}, Since: metav1.NewTime(now)}, nil, func(*Input) {}},
	} {
		t.Run(name, func(t *testing.T) {
			in := healthy()
			in.Now, in.Nginx.Status.WaitingRollout = later.Time, tt.before
			tt.change(&in)
			if diff := cmp.Diff(tt.want, Compute(in).Status.WaitingRollout); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestAllConditionsAppearAtFirst(t *testing.T) {
	in := Input{Nginx: &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Generation: 1}}, Workload: application.KindDeployment, Now: now}
	var names []string
	for _, c := range Compute(in).Status.Conditions {
		names = append(names, c.Type)
	}
	if diff := cmp.Diff([]string{"Accepted", "ConfigValid", "UpToDate", "Available", "Ready"}, names); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestCounts(t *testing.T) {
	in := healthy()
	in.State.Pods[0].Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 2}, {RestartCount: 1}}
	got := Compute(in).Status
	got.Conditions = nil
	want := v1alpha2.NginxOperatorStatus{
		ObservedGeneration: 4, Replicas: 2, ReadyReplicas: 2, UpdatedReplicas: 2, Restarts: 3, Image: "nginx:1",
		Selector: "operator.example.com/nginxoperator=web", NginxVersion: "1.30.4",
		Config: &v1alpha2.ConfigStatus{Revision: "r1", StableRevision: "r1", TestedReplicas: 2, LoadedReplicas: 2},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestUnchangedStatusIsNotWritten: an unchanged status is not written, not even at a later time:
// transition times do not change.
func TestUnchangedStatusIsNotWritten(t *testing.T) {
	in := healthy()
	in.Nginx.Status = Compute(in).Status
	in.Now = now.Add(time.Hour)
	if again := Compute(in); again.Changed || len(again.Events) > 0 {
		t.Errorf("changed = %v, events = %v: %s", again.Changed, again.Events, cmp.Diff(in.Nginx.Status, again.Status))
	}
}

// TestProgressDoesNotGoBack: a client that changes an annotation of the Deployment, as its controller does during a rollout, changes
// neither the count of pods that are up to date nor the status.
func TestProgressDoesNotGoBack(t *testing.T) {
	in := healthy()
	rollingOut(readyPod("web-3"))(&in)
	in.Nginx.Status = Compute(in).Status
	in.State.Deployment().Generation++
	again := Compute(in)
	c := meta.FindStatusCondition(again.Status.Conditions, v1alpha2.ConditionUpToDate)
	if want := "1 of 2 pods are up to date"; c.Message != want || again.Changed {
		t.Errorf("UpToDate is %q, want %q; changed = %v", c.Message, want, again.Changed)
	}
}

// TestCrashLoopDoesNotFlap: the status does not depend on where in its crash loop a container is.
func TestCrashLoopDoesNotFlap(t *testing.T) {
	in := healthy()
	rollingOut(crashing(false, emerg))(&in)
	in.Nginx.Status = Compute(in).Status
	in.State.Pods[2] = crashing(true, strings.Replace(emerg, "12:00:00 [emerg] 1#1", "12:05:00 [emerg] 7#7", 1))
	if again := Compute(in); again.Changed {
		t.Errorf("the status changed: %s", cmp.Diff(in.Nginx.Status, again.Status))
	}
}

// TestPullErrorDoesNotFlap: the status stays the same although the kubelet alternates between two
// messages for the same error.
func TestPullErrorDoesNotFlap(t *testing.T) {
	const words = `failed to pull and unpack image "nginx:1": not found`
	in := healthy()
	rollingOut(waiting("ErrImagePull", words))(&in)
	in.Nginx.Status = Compute(in).Status
	c := meta.FindStatusCondition(in.Nginx.Status.Conditions, v1alpha2.ConditionUpToDate)
	if !strings.HasSuffix(c.Message, words) {
		t.Errorf("the message does not end with the runtime's words: %q", c.Message)
	}
	in.State.Pods[2] = waiting("ImagePullBackOff", `Back-off pulling image "nginx:1": ErrImagePull: `+words)
	if again := Compute(in); again.Changed {
		t.Errorf("the status changed: %s", cmp.Diff(in.Nginx.Status, again.Status))
	}
}

func TestMessagesNameNoPod(t *testing.T) {
	pod := waiting("CreateContainerError", `cannot make "web-3_shop(0a1b-uid)"`)
	pod.UID = "0a1b-uid"
	in := healthy()
	rollingOut(pod)(&in)
	c := meta.FindStatusCondition(Compute(in).Status.Conditions, v1alpha2.ConditionUpToDate)
	if strings.Contains(c.Message, "web-3") || strings.Contains(c.Message, "0a1b") {
		t.Errorf("the message names a pod: %q", c.Message)
	}
}

func TestEvents(t *testing.T) {
	var messages golden.Messages
	same := func(*Input) {}
	tests := map[string]struct {
		before, after func(*Input)
		want          []string
	}{
		"nothing":                 {same, same, nil},
		"rollout starts":          {same, rollingOut(newPod("web-3")), []string{"Normal RolloutStarted"}},
		"rollout waits":           {same, waitingFor("backup"), []string{"Normal WaitingForGate"}},
		"rollout waits for less":  {waitingFor("backup", "approval"), waitingFor("backup"), nil},
		"rollout has waited":      {waitingFor("backup"), rollingOut(newPod("web-3")), []string{"Normal RolloutStarted"}},
		"rollout is given up":     {waitingFor("backup"), same, nil},
		"paused, and given up":    {pausedBefore, same, nil},
		"paused, and goes on":     {pausedBefore, rollingOut(newPod("web-3")), []string{"Normal RolloutStarted"}},
		"rollout is done":         {rollingOut(newPod("web-3")), same, []string{"Normal RolloutCompleted"}},
		"configuration starts":    {same, decided(rollout.Loading, 0), nil},
		"configuration is served": {decided(rollout.Loading, 1), servedOnProbation, nil},
		"configuration is proven": {servedOnProbation, same, []string{"Normal ConfigApplied"}},
		"configuration is live":   {decided(rollout.Loading, 1), same, []string{"Normal ConfigApplied"}},
		"configuration refused":   {same, decided(rollout.Rejected, 0, refused), []string{"Warning ConfigRejected"}},
		"configuration is mended": {decided(rollout.Rejected, 0, refused), same, []string{"Normal ConfigApplied"}},
		"certificate":             {same, certified(lasting(time.Hour, time.Hour)), []string{"Normal CertificateLoaded"}},
		"certificate bad":         {same, certified(instanceapi.Certificate{Error: "x"}), []string{"Warning CertificateInvalid"}},

		"rollout fails":         {rollingOut(newPod("web-3")), rollingOut(waiting("ErrImagePull", "")), []string{"Warning ImagePullFailed"}},
		"the failure persists":  {rollingOut(waiting("ErrImagePull", "")), rollingOut(waiting("ImagePullBackOff", "")), nil},
		"an instance is silent": {same, decided(rollout.Loading, 1, silent), []string{"Warning InstanceUnreachable"}},
		"another is silent too": {decided(rollout.Loading, 1, silent), decided(rollout.Loading, 1, func(d *rollout.Decision) { d.Unreachable = []string{"web-1", "web-2"} }), nil},
		"the failure is gone":   {rollingOut(waiting("ErrImagePull", "")), rollingOut(newPod("web-3")), nil},
		"rollout goes back":     {rollingOut(newPod("web-3")), failed(rollingOut(newPod("web-3"))), []string{"Warning RollingBack"}},
		"rollout is back":       {failed(rollingOut(newPod("web-3"))), failed(), []string{"Warning RolledBack"}},
		"reference goes":        {same, blocked(v1alpha2.ReasonConfigMapNotFound), []string{"Warning ConfigMapNotFound"}},
		"reference is back":     {blocked(v1alpha2.ReasonConfigMapNotFound), same, []string{"Normal Accepted"}},
		"another block":         {blocked(v1alpha2.ReasonConfigMapNotFound), blocked(v1alpha2.ReasonNameConflict), []string{"Warning NameConflict"}},
		"suspended":             {same, func(in *Input) { in.Pending = []string{"Service"} }, []string{"Normal Suspended"}},
		"available again":       {func(in *Input) { in.State.Deployment().Status.AvailableReplicas = 1 }, same, []string{"Normal Available"}},
		"files that are not read": {same, func(in *Input) {
			in.State.Instances["web-1"].Revisions = []instanceapi.Revision{{Revision: "r1", Unread: []string{"site.conf"}}}
		}, []string{"Warning ConfigFilesUnread"}},
		"no longer available": {same, func(in *Input) { in.State.Deployment().Status.AvailableReplicas = 1 }, []string{"Warning Unavailable"}},
		"a pod restarted": {same, func(in *Input) {
			in.State.Pods[0].Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "nginx", RestartCount: 1}}
		}, []string{"Warning PodRestarted"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			before, after := healthy(), healthy()
			tt.before(&before)
			tt.after(&after)
			after.Nginx.Status = Compute(before).Status
			var got []string
			for _, e := range Compute(after).Events {
				got = append(got, e.Type+" "+e.Reason)
				if after.Blocked.Reason == "" {
					messages.Add("event "+e.Type+" "+e.Reason, e.Note)
				}
				if e.Note == "" || e.Action == "" {
					t.Errorf("the event %s has no note or action", e.Reason)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	messages.Compare(t, "events.txt")
}

// TestFirstPassEvents: a new resource has one event, not one for each condition.
func TestFirstPassEvents(t *testing.T) {
	in := Input{Nginx: &v1alpha2.NginxOperator{}, Selection: selected("r1", rollout.Decision{}), Now: now}
	var got []string
	for _, e := range Compute(in).Events {
		got = append(got, e.Reason)
	}
	if diff := cmp.Diff([]string{EventRolloutStarted}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestLongMessagesAreClipped(t *testing.T) {
	in := healthy()
	in.Blocked = revision.Blocked{Reason: v1alpha2.ReasonRejected, Message: strings.Repeat("é", 5000)}
	c := meta.FindStatusCondition(Compute(in).Status.Conditions, v1alpha2.ConditionAccepted)
	if n := len(c.Message); n > poddiagnosis.MaxMessage || n < poddiagnosis.MaxMessage-4 || !utf8.ValidString(c.Message) {
		t.Errorf("the message has %d bytes, want at most %d: %q", n, poddiagnosis.MaxMessage, c.Message)
	}
}

// BenchmarkCompute computes the most frequent case: a healthy application whose status is up to
// date.
func BenchmarkCompute(b *testing.B) {
	in := healthy()
	in.Nginx.Status = Compute(in).Status
	b.ReportAllocs()
	for b.Loop() {
		if result := Compute(in); result.Changed {
			b.Fatal("the status changes although nothing did")
		}
	}
}
