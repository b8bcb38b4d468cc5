// Package naming contains the names, labels, annotations and selectors of an application's objects.
// They are a contract with every earlier release: selectors never change.
package naming

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"example.com/nginx-operator/api/v1alpha2"
)

// FieldManager is the operator's field manager in server-side apply.
const FieldManager = "nginx-operator"

// Prefix is the prefix of the operator's own labels and annotations.
const Prefix = "operator.example.com/"

const (
	// LabelApplication is the name of the NginxOperator that an object belongs to. It is the only
	// label in the selector of the pods.
	LabelApplication = v1alpha2.LabelNginxOperator

	labelName      = "app.kubernetes.io/name"
	labelInstance  = "app.kubernetes.io/instance"
	labelManagedBy = "app.kubernetes.io/managed-by"

	// AnnotationIntent is the hash of what the operator last applied to an object.
	AnnotationIntent = "operator.example.com/intent"
	// AnnotationDroppedFields is set on an object if the API server dropped some fields of the last
	// write. It holds the hash of the intent and the paths of the fields.
	AnnotationDroppedFields = "operator.example.com/not-kept"
	// AnnotationGeneration is the metadata.generation of the NginxOperator that an object was last
	// written for.
	AnnotationGeneration = "operator.example.com/generation"
	// AnnotationConfig is the configuration revision that a ConfigMap holds. On a pod of a release
	// before 0.5, it requests that the pod serves the revision.
	AnnotationConfig = v1alpha2.AnnotationConfigRevision
	// AnnotationConfigTest requests that a pod of a release before 0.5 tests a configuration revision.
	AnnotationConfigTest = "operator.example.com/config-test"
	// AnnotationConfigTokenHash authorized loads in releases before 0.5. This release does not write it.
	AnnotationConfigTokenHash = "operator.example.com/config-grant"
	// AnnotationSync makes the kubelet update a pod's mounted files at once, as any change of a
	// pod's annotations does. A user may set it on an NginxOperator.
	AnnotationSync = "operator.example.com/sync"
	// AnnotationConfigSourceVersion is the version of the referenced ConfigMap that the files of a
	// rendered configuration were copied from.
	AnnotationConfigSourceVersion = "operator.example.com/config-source"
	// AnnotationConfigRefused on the ConfigMap of a candidate records that its load ended worker
	// processes, nginx or a container. No pod may load it again.
	AnnotationConfigRefused = "operator.example.com/config-refused"
	// AnnotationTemplate is the hash of the pod template that a pod was created from.
	AnnotationTemplate = "operator.example.com/template"
	// LabelRevisionState is the state of the revision in a ControllerRevision.
	LabelRevisionState = "operator.example.com/revision-state"
	// AnnotationInputs is the hash of the declarations that a pod template was built from. It stays
	// the same when another release of the operator builds another template from them.
	AnnotationInputs = "operator.example.com/inputs"
	// AnnotationImage is the image of a revision.
	AnnotationImage = "operator.example.com/image"
	// AnnotationImageDigest is the image digest that the revision's pods report.
	AnnotationImageDigest = v1alpha2.AnnotationImageDigest
	// AnnotationChangeCause is the reason for a revision. The key is Kubernetes' own.
	AnnotationChangeCause = "kubernetes.io/change-cause"
	// AnnotationStage is the stage of a revision's rollout.
	AnnotationStage = "operator.example.com/rollout-stage"
	// AnnotationPaused is "true" while its rollout is paused.
	AnnotationPaused = "operator.example.com/rollout-paused"
	// AnnotationStartedAt is the time at which its last rollout began, or was resumed.
	AnnotationStartedAt = "operator.example.com/started-at"
	// AnnotationServedAt is the last time at which a rollout of it was complete and every pod
	// served.
	AnnotationServedAt = "operator.example.com/served-at"
	// AnnotationFailedAttempt identifies the attempt whose rollout failed.
	AnnotationFailedAttempt = "operator.example.com/failed-attempt"
	// AnnotationFailedReason is the reason of the failure, in one word.
	AnnotationFailedReason = "operator.example.com/failed-reason"
	// AnnotationFailedMessage is what the failing component reported.
	AnnotationFailedMessage = "operator.example.com/failed-message"
	// AnnotationFailedAt is the time of the failure.
	AnnotationFailedAt = "operator.example.com/failed-at"
	// AnnotationFailures is the number of failures of an attempt: <attempt>/<count>.
	AnnotationFailures = "operator.example.com/failures"
	// AnnotationForceRedeploy carries spec.forceRedeploy to the pods.
	AnnotationForceRedeploy = "operator.example.com/force-redeploy"
)

// NginxContainer is the name of the container that runs nginx, and InstallContainer the name of the
// one that copies the instance manager into the pod.
const (
	NginxContainer   = "nginx"
	InstallContainer = "nginx-operator-install"
)

// Workload returns the name of the Deployment or StatefulSet that runs an application's pods.
func Workload(name string) string { return name }

// Service returns the name of an application's Service.
func Service(name string) string { return name }

// Pod returns the name of a pod of a StatefulSet, and of the Service of this pod alone.
func Pod(name string, ordinal int) string { return fmt.Sprintf("%s-%d", name, ordinal) }

// ComparePods compares the names of a StatefulSet's pods by their ordinals.
func ComparePods(a, b string) int {
	return cmp.Or(cmp.Compare(withoutOrdinal(a), withoutOrdinal(b)), cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

// Ordinal returns the number at the end of the name of a StatefulSet's pod; 0 if there is none.
func Ordinal(pod string) int32 {
	n, err := strconv.ParseInt(pod[strings.LastIndex(pod, "-")+1:], 10, 32)
	if err != nil {
		return 0
	}
	return int32(n)
}

func withoutOrdinal(pod string) string { return pod[:strings.LastIndex(pod, "-")+1] }

// PodDisruptionBudget returns the name of an application's PodDisruptionBudget.
func PodDisruptionBudget(name string) string { return name }

// ServiceAccount returns the name of an application's ServiceAccount. The suffix keeps an
// application called "default" from using the namespace's own account.
func ServiceAccount(name string) string { return name + "-nginx" }

// ConfigMap returns the name of the ConfigMap with the stable configuration, which pods start with.
func ConfigMap(name string) string { return name + "-config" }

// ConfigMapNext returns the name of the ConfigMap with the candidate.
func ConfigMapNext(name string) string { return name + "-config-next" }

// Revision returns the name of the ControllerRevision of an application with a hash.
func Revision(name, hash string) string { return name + "-" + hash }

// HTTPRoute returns the name of the HTTPRoute of an entry of spec.httpRoutes. Names of applications and
// of entries are bounded, so that it is legal.
func HTTPRoute(name, route string) string { return name + "-" + route }

// Certificate returns the name of cert-manager's Certificate of an entry of spec.tls.
func Certificate(name, entry string) string { return name + "-" + entry }

// CertificateVolume returns the name of the volume with a Secret of spec.tls.
func CertificateVolume(name string) string { return certificatePrefix + name }

// ContentVolume returns the name of the volume with the content of a mount path.
func ContentVolume(mountPath string) string {
	sum := sha256.Sum256([]byte(mountPath))
	return contentPrefix + hex.EncodeToString(sum[:4])
}

// VariablesVolume returns the name of the volume with the values of a folder of instanceapi.DirVariables.
func VariablesVolume(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return VolumeState + "-" + hex.EncodeToString(sum[:4])
}

// SelectorLabels returns the labels that select the pods of an application.
func SelectorLabels(name string) map[string]string {
	return map[string]string{LabelApplication: name}
}

// Labels returns the labels of every object of an application.
func Labels(name string) map[string]string {
	l := SelectorLabels(name)
	maps.Copy(l, map[string]string{
		labelName:      "nginx",
		labelInstance:  name,
		labelManagedBy: "nginx-operator",
	})
	return l
}

// Selector returns the selector of an application's pods.
func Selector(name string) labels.Selector {
	return labels.SelectorFromSet(SelectorLabels(name))
}

// OwnedSelector returns the selector of the objects of all applications, which the operator caches.
func OwnedSelector() labels.Selector {
	exists, err := labels.NewRequirement(LabelApplication, selection.Exists, nil)
	if err != nil {
		panic("naming: the label key is a legal constant: " + err.Error())
	}
	return labels.NewSelector().Add(*exists)
}
