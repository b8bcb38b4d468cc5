package v1alpha2

import "strconv"

// What other programs may rely on in addition to the fields: labels and annotations of an
// NginxOperator and of the objects that the operator creates for it. They stay the same from
// release to release.
const (
	// LabelNginxOperator is on every object of an application, and holds the name of its
	// NginxOperator.
	LabelNginxOperator = "operator.example.com/nginxoperator"
	// AnnotationConfigRevision is on a ConfigMap with a rendered configuration, and on a
	// ControllerRevision: the revision of the configuration, as in status.config.
	AnnotationConfigRevision = "operator.example.com/config"
	// AnnotationImageDigest is on a ControllerRevision: the digest of the image that its pods
	// reported.
	AnnotationImageDigest = "operator.example.com/image-digest"
	// AnnotationGatePrefix precedes the name of a gate of rollout.gates: other clients set the
	// annotation on an NginxOperator. The gate is open for the rollout whose revision, as in
	// status.waitingRollout, is the value of the annotation.
	AnnotationGatePrefix = "gate.operator.example.com/"
	// AnnotationPromote ends a canary: other clients set the annotation on an NginxOperator. Its value
	// is the number of the ControllerRevision that is being rolled out, or, if only the configuration
	// changes, PromotedConfig.
	AnnotationPromote = "operator.example.com/promote"
)

// PromotedConfig is the value of AnnotationPromote for a configuration: its revision, as in status.config,
// and the number of the revision that served before, as in status.revision.
func PromotedConfig(config string, after int64) string {
	return config + "@" + strconv.FormatInt(after, 10)
}
