package v1alpha2

// What other programs may build on besides the fields: labels and annotations of an
// NginxOperator and of the objects that the operator makes for it. They hold from release to
// release.
const (
	// LabelNginxOperator is on every object of an application, and holds the name of its
	// NginxOperator.
	LabelNginxOperator = "operator.example.com/nginxoperator"
	// AnnotationConfigRevision is on a ConfigMap with a rendered configuration, and on a
	// ControllerRevision: the revision of the configuration, as in status.config.
	AnnotationConfigRevision = "operator.example.com/config"
	// AnnotationImageDigest is on a ControllerRevision: the image that its pods said that they
	// really ran.
	AnnotationImageDigest = "operator.example.com/image-digest"
	// AnnotationGatePrefix comes before the name of a gate of rollout.gates: an annotation that
	// others set on an NginxOperator. The gate is open for the rollout whose revision, that of
	// status.waitingRollout, the annotation has as its value.
	AnnotationGatePrefix = "gate.operator.example.com/"
)
