// Package naming holds the names, labels, annotations and selectors that the
// operator gives to the objects of an application. They are a contract with every
// earlier release: selectors are frozen for ever.
package naming

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"example.com/nginx-operator/api/v1alpha2"
)

// FieldManager owns the operator's fields in server-side apply.
const FieldManager = "nginx-operator"

// Prefix is what the operator's own labels and annotations begin with.
const Prefix = "operator.example.com/"

const (
	// LabelApplication holds the name of the NginxOperator that an object belongs
	// to. It alone is the selector of the pods.
	LabelApplication = v1alpha2.LabelNginxOperator

	labelName      = "app.kubernetes.io/name"
	labelInstance  = "app.kubernetes.io/instance"
	labelManagedBy = "app.kubernetes.io/managed-by"

	// AnnotationIntent is the hash of what the operator last applied to an object.
	AnnotationIntent = "operator.example.com/intent"
	// AnnotationNotKept is on an object of which some fields did not stand right after they were
	// written: the hash of the intent, and the fields' paths.
	AnnotationNotKept = "operator.example.com/not-kept"
	// AnnotationGeneration is the metadata.generation of the NginxOperator that an object was
	// last written for.
	AnnotationGeneration = "operator.example.com/generation"
	// AnnotationConfig asks a pod to serve a revision of the configuration, and tells
	// of a ConfigMap which revision it holds.
	AnnotationConfig = v1alpha2.AnnotationConfigRevision
	// AnnotationConfigTest asks a pod to test a revision of the configuration.
	AnnotationConfigTest = "operator.example.com/config-test"
	// AnnotationConfigGrant is the hash of the word at which a pod loads what it was asked
	// to test.
	AnnotationConfigGrant = "operator.example.com/config-grant"
	// AnnotationSync makes the kubelet bring a pod's mounted files up to date at once:
	// any change of a pod's annotations does. On an NginxOperator, a user may set it.
	AnnotationSync = "operator.example.com/sync"
	// AnnotationConfigSource tells which version of a referenced ConfigMap the files
	// of a rendered configuration were copied from.
	AnnotationConfigSource = "operator.example.com/config-source"
	// AnnotationConfigRefused keeps, on the ConfigMap of a candidate, that its load ended worker
	// processes, nginx or a container: no pod may load it again.
	AnnotationConfigRefused = "operator.example.com/config-refused"
	// AnnotationTemplate is the hash of the pod template that a pod was made from.
	AnnotationTemplate = "operator.example.com/template"
	// LabelRevisionState tells of a ControllerRevision what became of it.
	LabelRevisionState = "operator.example.com/revision-state"
	// AnnotationInputs is the hash of what a user declared that a pod template was made
	// from. It stays when another release of the operator makes another template of it.
	AnnotationInputs = "operator.example.com/inputs"
	// AnnotationImage is the image of a revision.
	AnnotationImage = "operator.example.com/image"
	// AnnotationImageDigest is what its pods say that they really ran.
	AnnotationImageDigest = v1alpha2.AnnotationImageDigest
	// AnnotationChangeCause tells why there is a revision. The key is Kubernetes' own.
	AnnotationChangeCause = "kubernetes.io/change-cause"
	// AnnotationStage is how far the rollout of a revision has come.
	AnnotationStage = "operator.example.com/rollout-stage"
	// AnnotationStartedAt is when its rollout began.
	AnnotationStartedAt = "operator.example.com/started-at"
	// AnnotationServedAt is when every pod was of it, and served.
	AnnotationServedAt = "operator.example.com/served-at"
	// AnnotationFailedAttempt tells what was asked for when its rollout failed.
	AnnotationFailedAttempt = "operator.example.com/failed-attempt"
	// AnnotationFailedReason tells why, in a word.
	AnnotationFailedReason = "operator.example.com/failed-reason"
	// AnnotationFailedMessage tells why, in the failing part's words.
	AnnotationFailedMessage = "operator.example.com/failed-message"
	// AnnotationFailedAt is when it failed.
	AnnotationFailedAt = "operator.example.com/failed-at"
	// AnnotationFailures counts how often an attempt has failed: <attempt>/<count>.
	AnnotationFailures = "operator.example.com/failures"
	// AnnotationForceRedeploy carries spec.forceRedeploy to the pods.
	AnnotationForceRedeploy = "operator.example.com/force-redeploy"
)

// NginxContainer is the name of the container that runs nginx, and
// InstallContainer of the one that brings the instance manager into the pod.
const (
	NginxContainer   = "nginx"
	InstallContainer = "nginx-operator-install"
)

// Deployment is the name of the Deployment of an application.
func Deployment(name string) string { return name }

// Service is the name of the Service of an application.
func Service(name string) string { return name }

// PodDisruptionBudget is the name of the PodDisruptionBudget of an application.
func PodDisruptionBudget(name string) string { return name }

// ServiceAccount is the name of the ServiceAccount of an application. The suffix
// keeps an application called "default" clear of the namespace's own account.
func ServiceAccount(name string) string { return name + "-nginx" }

// ConfigMap is the name of the ConfigMap with the stable configuration, which pods
// start with.
func ConfigMap(name string) string { return name + "-config" }

// ConfigMapNext is the name of the ConfigMap with the candidate.
func ConfigMapNext(name string) string { return name + "-config-next" }

// Revision is the name of the ControllerRevision of an application with a hash.
func Revision(name, hash string) string { return name + "-" + hash }

// CertificateVolume is the name of the volume with a Secret of spec.tls.
func CertificateVolume(name string) string { return "certificate-" + name }

// ContentVolume is the name of the volume with the content of a mount path.
func ContentVolume(mountPath string) string {
	sum := sha256.Sum256([]byte(mountPath))
	return "content-" + hex.EncodeToString(sum[:4])
}

// SelectorLabels are the labels that select the pods of an application.
func SelectorLabels(name string) map[string]string {
	return map[string]string{LabelApplication: name}
}

// Labels are the labels of every object of an application.
func Labels(name string) map[string]string {
	l := SelectorLabels(name)
	maps.Copy(l, map[string]string{
		labelName:      "nginx",
		labelInstance:  name,
		labelManagedBy: "nginx-operator",
	})
	return l
}

// Selector selects the pods of an application.
func Selector(name string) labels.Selector {
	return labels.SelectorFromSet(SelectorLabels(name))
}

// OwnedSelector selects the objects of every application: what the operator caches.
func OwnedSelector() labels.Selector {
	exists, err := labels.NewRequirement(LabelApplication, selection.Exists, nil)
	if err != nil {
		panic("naming: the label key is a legal constant: " + err.Error())
	}
	return labels.NewSelector().Add(*exists)
}
