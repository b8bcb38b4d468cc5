// Package conversion converts NginxOperators between v1alpha1 and v1alpha2, the hub, without loss
// in either direction.
//
// v1alpha1 has three fields of its own. The annotation AnnotationSpec of the v1alpha1 form holds the
// whole v1alpha2 spec. The API server bounds annotations, so a spec that does not fit is in the field
// spec.v1alpha2Spec, and the annotation says so. The conversion back to v1alpha2 removes both and
// overwrites the spec with the v1alpha1 fields, so that an edit through v1alpha1 takes effect and
// changes nothing else. An object that v1alpha1 can express completely has neither.
package conversion

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"

	"example.com/nginx-operator/api/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/config/crd"
	"example.com/nginx-operator/internal/boundedjson"
	"example.com/nginx-operator/internal/kube/quantities"
)

// AnnotationSpec holds the v1alpha2 spec as JSON, in v1alpha1 objects only.
const AnnotationSpec = "operator.example.com/v1alpha2-spec"

// inField is the value of AnnotationSpec if the spec is in the field. It is no JSON, so releases that do not know the field
// refuse to store the object. A client that drops the field is refused as well.
const inField = "in spec.v1alpha2Spec"

// defaultPortName is the name of the port that v1alpha1 knows only by its number.
const defaultPortName = "http"

// defaultPort is the default of v1alpha1's port.
const defaultPort int32 = 80

// HubToV1Alpha1 converts src to dst. It accepts every object, valid or not, so that stored objects
// can be read. The unused context is part of the signature of controller-runtime's converters.
func HubToV1Alpha1(_ context.Context, src *v1alpha2.NginxOperator, dst *v1alpha1.NginxOperator) error {
	src.ObjectMeta.DeepCopyInto(&dst.ObjectMeta)
	dst.Spec = specToV1Alpha1(&src.Spec)
	src.Status.DeepCopyInto(&dst.Status)

	delete(dst.Annotations, AnnotationSpec)
	said := specFromV1Alpha1(&dst.Spec, &v1alpha2.NginxOperatorSpec{})
	if apiequality.Semantic.DeepEqual(said, src.Spec) {
		return nil
	}
	spec, err := encode(src.Spec)
	if err != nil {
		return fmt.Errorf("keep the v1alpha2 spec: %w", err)
	}
	if annotate(dst, string(spec)) {
		return nil
	}
	dst.Spec.V1Alpha2Spec = &runtime.RawExtension{Raw: spec}
	// Annotations of others may leave no room for it. The rule of v1alpha1 then still refuses to drop the field.
	annotate(dst, inField)
	return nil
}

// annotate sets AnnotationSpec if the API server allows annotations of that size.
func annotate(dst *v1alpha1.NginxOperator, value string) bool {
	size := len(AnnotationSpec) + len(value)
	for key, other := range dst.Annotations {
		size += len(key) + len(other)
	}
	if size > apivalidation.TotalAnnotationSizeLimitB {
		return false
	}
	if dst.Annotations == nil {
		dst.Annotations = map[string]string{}
	}
	dst.Annotations[AnnotationSpec] = value
	return true
}

// V1Alpha1ToHub converts src to dst. It returns an error that names the annotation or the field if it holds
// no v1alpha2 spec, or if an object that is about to be stored has a spec that
// v1alpha2 does not allow.
func V1Alpha1ToHub(ctx context.Context, src *v1alpha1.NginxOperator, dst *v1alpha2.NginxOperator) error {
	hidden, err := toHub(src, dst)
	if err != nil {
		return err
	}
	if hidden == nil || !isAboutToBeStored(src) {
		// Either v1alpha1's own schema has validated all of it, or nothing is written.
		return nil
	}
	if err := refuseTakenPort(hidden.Ports, dst.Spec.Ports); err != nil {
		return err
	}
	return refuseInvalid(ctx, &dst.Spec, place(src))
}

// LenientV1Alpha1ToHub returns V1Alpha1ToHub for a cluster in which objects may be stored as v1alpha1, as long as
// stored returns true. An object that is read from storage looks like one that is about to be
// stored, and a single object that cannot be converted would block every client, including the
// operator, from listing any. So nothing is rejected then, and an annotation that holds no v1alpha2
// spec is left alone.
func LenientV1Alpha1ToHub(stored func() bool) func(context.Context, *v1alpha1.NginxOperator, *v1alpha2.NginxOperator) error {
	return func(ctx context.Context, src *v1alpha1.NginxOperator, dst *v1alpha2.NginxOperator) error {
		if !stored() {
			return V1Alpha1ToHub(ctx, src, dst)
		}
		if _, err := toHub(src, dst); err != nil {
			*dst = v1alpha2.NginxOperator{TypeMeta: dst.TypeMeta}
			convertFieldsToHub(src, dst)
		}
		return nil
	}
}

// quantitySchema finds the quantities in a spec of v1alpha2.
var quantitySchema = quantities.NewSchema(crd.NginxOperators, v1alpha2.GroupVersion.Version)

// hiddenLimits bound a hidden spec. The API server knows the one in the annotation only as a text.
var hiddenLimits = boundedjson.Limits{Bytes: 8 << 20, Depth: 100, Items: 200_000, Values: 200_000, String: 8 << 20}

// hiddenValues returns the number of values in the hidden spec of an object that was converted.
func hiddenValues(src *v1alpha1.NginxOperator) int {
	kept, err := hiddenSpec(src)
	if err != nil {
		return 0
	}
	values, err := hiddenLimits.Count(kept)
	if err != nil {
		return 0
	}
	return values
}

// hiddenSpec returns the v1alpha2 spec of an object as JSON; empty if it has none.
func hiddenSpec(src *v1alpha1.NginxOperator) ([]byte, error) {
	annotation, annotated := src.Annotations[AnnotationSpec]
	field := src.Spec.V1Alpha2Spec
	switch {
	case field == nil && annotation == inField:
		return nil, fmt.Errorf("spec.v1alpha2Spec is missing, although annotation %s says that the v1alpha2 spec is there: change single fields with a patch, or edit the object as v1alpha2", AnnotationSpec)
	case field == nil:
		return []byte(annotation), nil
	case annotated && annotation != inField:
		return nil, fmt.Errorf("annotation %s and spec.v1alpha2Spec both hold a v1alpha2 spec: remove one of them, or edit the object as v1alpha2", AnnotationSpec)
	}
	return field.Raw, nil
}

// place returns where the v1alpha2 spec of an object is.
func place(src *v1alpha1.NginxOperator) string {
	if src.Spec.V1Alpha2Spec != nil {
		return "spec.v1alpha2Spec"
	}
	return "annotation " + AnnotationSpec
}

// toHub converts without validating against v1alpha2. It returns the hidden spec, or nil if there is
// none.
func toHub(src *v1alpha1.NginxOperator, dst *v1alpha2.NginxOperator) (*v1alpha2.NginxOperatorSpec, error) {
	convertFieldsToHub(src, dst)
	kept, err := hiddenSpec(src)
	if _, annotated := src.Annotations[AnnotationSpec]; err != nil || !annotated && len(kept) == 0 {
		return nil, err
	}
	base := &v1alpha2.NginxOperatorSpec{}
	err = hiddenLimits.Check(kept)
	if err == nil {
		err = quantitySchema.CheckSpec(kept)
	}
	if err == nil {
		err = json.Unmarshal(kept, base)
	}
	if err != nil {
		return nil, fmt.Errorf("%s does not contain a v1alpha2 spec, correct it or edit the object as v1alpha2: %w", place(src), err)
	}
	delete(dst.Annotations, AnnotationSpec)
	dst.Spec = specFromV1Alpha1(src.Spec.DeepCopy(), base)
	return base, nil
}

// convertFieldsToHub converts the fields of v1alpha1, without the annotation.
func convertFieldsToHub(src *v1alpha1.NginxOperator, dst *v1alpha2.NginxOperator) {
	src.ObjectMeta.DeepCopyInto(&dst.ObjectMeta)
	src.Status.DeepCopyInto(&dst.Status)
	dst.Spec = specFromV1Alpha1(src.Spec.DeepCopy(), &v1alpha2.NginxOperatorSpec{})
}

// isAboutToBeStored reports whether the object is converted in order to be stored: the API server
// removes the resourceVersion before it stores an object. An object with one is only compared, and
// may be invalid for a moment, like the merged object of a server-side apply. An object that is
// being deleted no longer runs anything, and must be able to lose its finalizers.
func isAboutToBeStored(obj *v1alpha1.NginxOperator) bool {
	return obj.ResourceVersion == "" && obj.DeletionTimestamp == nil
}

// refuseTakenPort rejects an edit that gives the first port the number of another one. The error is
// one that a client of v1alpha1 understands.
func refuseTakenPort(before, ports []v1alpha2.Port) error {
	if len(before) < 2 || before[0].Port == ports[0].Port {
		return nil
	}
	for _, other := range ports[1:] {
		if other.Port == ports[0].Port && other.Protocol == ports[0].Protocol {
			return fmt.Errorf("spec.port: %d is already the number of the port %s in v1alpha2: choose another, or edit the object as v1alpha2", other.Port, other.Name)
		}
	}
	return nil
}

// maxReported bounds the violations that an error reports: there can be one for each item of a list.
const maxReported = 10

// refuseInvalid rejects a spec that v1alpha2 does not allow. The API server validates only
// v1alpha1's schema, which covers neither the v1alpha2 spec in its place nor its combination with
// the v1alpha1 fields.
func refuseInvalid(ctx context.Context, spec *v1alpha2.NginxOperatorSpec, place string) error {
	compiled, err := hubSchema()
	if err != nil {
		return err
	}
	obj, err := runtime.DefaultUnstructuredConverter.ToUnstructured(spec)
	if err != nil {
		return fmt.Errorf("convert the v1alpha2 spec to JSON: %w", err)
	}
	if errs := compiled.validate(ctx, obj); len(errs) > 0 {
		return fmt.Errorf("the object is invalid in v1alpha2, correct %s or edit the object as v1alpha2: %w", place, errs[:min(len(errs), maxReported)].ToAggregate())
	}
	return nil
}

func specToV1Alpha1(hub *v1alpha2.NginxOperatorSpec) v1alpha1.NginxOperatorSpec {
	spec := v1alpha1.NginxOperatorSpec{}
	if len(hub.Ports) > 0 {
		spec.Port = new(hub.Ports[0].Port)
	}
	if hub.Replicas != nil {
		spec.Replicas = new(*hub.Replicas)
	}
	if hub.ForceRedeploy != nil {
		spec.ForceRedeploy = new(*hub.ForceRedeploy)
	}
	return spec
}

// specFromV1Alpha1 returns base with the values of the v1alpha1 fields.
func specFromV1Alpha1(spec *v1alpha1.NginxOperatorSpec, base *v1alpha2.NginxOperatorSpec) v1alpha2.NginxOperatorSpec {
	hub := *base
	hub.Replicas = spec.Replicas
	hub.ForceRedeploy = spec.ForceRedeploy
	hub.Ports = portsFromV1Alpha1(spec.Port, base.Ports)
	return hub
}

// portsFromV1Alpha1 sets the number of the first port. Its name and protocol, and all other ports,
// stay the same.
func portsFromV1Alpha1(port *int32, base []v1alpha2.Port) []v1alpha2.Port {
	switch {
	case port == nil && len(base) <= 1:
		return nil
	case port == nil:
		port = new(defaultPort)
	case len(base) == 0:
		return []v1alpha2.Port{{Name: defaultPortName, Port: *port, Protocol: corev1.ProtocolTCP}}
	}
	ports := append([]v1alpha2.Port(nil), base...)
	ports[0].Port = *port
	return ports
}
