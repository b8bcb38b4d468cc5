// Package conversion converts NginxOperators between v1alpha1 and v1alpha2, the
// hub, without loss in either direction.
//
// v1alpha1 has three fields. Whatever else an object says travels in one
// annotation of its v1alpha1 form, AnnotationSpec, which holds the whole v1alpha2
// spec. Back in v1alpha2 the annotation is gone, and what v1alpha1 can say has
// been laid over the spec that it held, so that an edit made through v1alpha1
// takes effect and nothing else is touched. An object that v1alpha1 can say in
// full has no annotation.
package conversion

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	"example.com/nginx-operator/api/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/quantities"
)

// AnnotationSpec holds, in v1alpha1 objects only, the v1alpha2 spec as JSON.
const AnnotationSpec = "operator.example.com/v1alpha2-spec"

// defaultPortName names the port that v1alpha1 knows by its number only.
const defaultPortName = "http"

// defaultPort is v1alpha1's default for port.
const defaultPort int32 = 80

// HubToV1Alpha1 fills dst from src. It takes every object, valid or not, so that
// what is stored can be read. The context is not used; the signature is that of
// controller-runtime's hub and spoke converters.
func HubToV1Alpha1(_ context.Context, src *v1alpha2.NginxOperator, dst *v1alpha1.NginxOperator) error {
	src.ObjectMeta.DeepCopyInto(&dst.ObjectMeta)
	dst.Spec = specToV1Alpha1(&src.Spec)
	dst.Status = statusToV1Alpha1(src.Status.DeepCopy())

	delete(dst.Annotations, AnnotationSpec)
	said := specFromV1Alpha1(&dst.Spec, &v1alpha2.NginxOperatorSpec{})
	if apiequality.Semantic.DeepEqual(said, src.Spec) {
		return nil
	}
	spec, err := json.Marshal(src.Spec)
	if err != nil {
		return fmt.Errorf("keep the v1alpha2 spec: %w", err)
	}
	if dst.Annotations == nil {
		dst.Annotations = map[string]string{}
	}
	dst.Annotations[AnnotationSpec] = string(spec)
	return nil
}

// V1Alpha1ToHub fills dst from src. It returns an error that names the annotation
// when that holds something else than a v1alpha2 spec, and when an object with a
// spec that v1alpha2 does not allow is about to be stored.
func V1Alpha1ToHub(ctx context.Context, src *v1alpha1.NginxOperator, dst *v1alpha2.NginxOperator) error {
	hidden, err := toHub(src, dst)
	if err != nil {
		return err
	}
	if hidden == nil || !isAboutToBeStored(src) {
		// v1alpha1's own schema has seen all of it, or nothing is written.
		return nil
	}
	if err := refuseTakenPort(hidden.Ports, dst.Spec.Ports); err != nil {
		return err
	}
	return refuseInvalid(ctx, &dst.Spec)
}

// ToHub returns V1Alpha1ToHub for a cluster in which objects may be stored as v1alpha1,
// as long as stored tells so. An object that is read from there looks just like one that
// is about to be stored, and one that cannot be converted would keep everybody from
// listing all of them, the operator included. So nothing is refused then, and an
// annotation that holds no v1alpha2 spec is left alone.
func ToHub(stored func() bool) func(context.Context, *v1alpha1.NginxOperator, *v1alpha2.NginxOperator) error {
	return func(ctx context.Context, src *v1alpha1.NginxOperator, dst *v1alpha2.NginxOperator) error {
		if !stored() {
			return V1Alpha1ToHub(ctx, src, dst)
		}
		if _, err := toHub(src, dst); err != nil {
			*dst = v1alpha2.NginxOperator{TypeMeta: dst.TypeMeta}
			fieldsToHub(src, dst)
		}
		return nil
	}
}

// toHub converts without a look at what v1alpha2 allows. It returns the spec that the
// annotation holds, nil when there is none.
func toHub(src *v1alpha1.NginxOperator, dst *v1alpha2.NginxOperator) (*v1alpha2.NginxOperatorSpec, error) {
	fieldsToHub(src, dst)
	kept, ok := src.Annotations[AnnotationSpec]
	if !ok {
		return nil, nil
	}
	base := &v1alpha2.NginxOperatorSpec{}
	err := quantities.Check([]byte(kept))
	if err == nil {
		err = json.Unmarshal([]byte(kept), base)
	}
	if err != nil {
		return nil, fmt.Errorf("annotation %s does not hold a v1alpha2 spec, remove it or edit the object as v1alpha2: %w", AnnotationSpec, err)
	}
	delete(dst.Annotations, AnnotationSpec)
	dst.Spec = specFromV1Alpha1(src.Spec.DeepCopy(), base)
	return base, nil
}

// fieldsToHub converts what v1alpha1 says in its own fields.
func fieldsToHub(src *v1alpha1.NginxOperator, dst *v1alpha2.NginxOperator) {
	src.ObjectMeta.DeepCopyInto(&dst.ObjectMeta)
	dst.Status = statusFromV1Alpha1(src.Status.DeepCopy())
	dst.Spec = specFromV1Alpha1(src.Spec.DeepCopy(), &v1alpha2.NginxOperatorSpec{})
}

// isAboutToBeStored tells apart what an object is converted for. Before the API
// server stores an object it takes the resourceVersion away. With one, the object is
// only compared: the merged objects of a server-side apply, for instance, may be
// invalid for a moment. An object that is being deleted runs nothing any more, and
// has to stay free to lose its finalizers.
func isAboutToBeStored(obj *v1alpha1.NginxOperator) bool {
	return obj.ResourceVersion == "" && obj.DeletionTimestamp == nil
}

// refuseTakenPort refuses an edit that gives the first port the number of another
// one, in words that a client of v1alpha1 understands.
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

// refuseInvalid refuses a spec that v1alpha2 does not allow. The API server checks
// v1alpha1's schema only, which sees neither what the annotation holds nor how what
// v1alpha1 says goes with it.
func refuseInvalid(ctx context.Context, spec *v1alpha2.NginxOperatorSpec) error {
	compiled, err := hubSchema()
	if err != nil {
		return err
	}
	obj, err := runtime.DefaultUnstructuredConverter.ToUnstructured(spec)
	if err != nil {
		return fmt.Errorf("convert the v1alpha2 spec to JSON: %w", err)
	}
	if errs := compiled.validate(ctx, obj); len(errs) > 0 {
		return fmt.Errorf("the object is invalid in v1alpha2, correct annotation %s or edit the object as v1alpha2: %w", AnnotationSpec, errs.ToAggregate())
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

// specFromV1Alpha1 lays what v1alpha1 says over base.
func specFromV1Alpha1(spec *v1alpha1.NginxOperatorSpec, base *v1alpha2.NginxOperatorSpec) v1alpha2.NginxOperatorSpec {
	hub := *base
	hub.Replicas = spec.Replicas
	hub.ForceRedeploy = spec.ForceRedeploy
	hub.Ports = portsFromV1Alpha1(spec.Port, base.Ports)
	return hub
}

// portsFromV1Alpha1 gives the first port its v1alpha1 number. Its name, protocol
// and all the other ports stay as they were.
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

func statusToV1Alpha1(hub *v1alpha2.NginxOperatorStatus) v1alpha1.NginxOperatorStatus {
	return v1alpha1.NginxOperatorStatus{
		ObservedGeneration: hub.ObservedGeneration,
		Conditions:         hub.Conditions,
		Replicas:           hub.Replicas,
		ReadyReplicas:      hub.ReadyReplicas,
		UpdatedReplicas:    hub.UpdatedReplicas,
		Restarts:           hub.Restarts,
		Selector:           hub.Selector,
		Image:              hub.Image,
		NginxVersion:       hub.NginxVersion,
		Revision:           hub.Revision,
		Config:             (*v1alpha1.ConfigStatus)(hub.Config),
		Certificates:       convertAll(hub.Certificates, func(c v1alpha2.CertificateStatus) v1alpha1.CertificateStatus { return v1alpha1.CertificateStatus(c) }),
		Addresses: convertAll(hub.Addresses, func(a v1alpha2.Address) v1alpha1.Address {
			return v1alpha1.Address{Type: v1alpha1.AddressType(a.Type), Value: a.Value}
		}),
		WaitingRollout: (*v1alpha1.WaitingRollout)(hub.WaitingRollout),
	}
}

func statusFromV1Alpha1(status *v1alpha1.NginxOperatorStatus) v1alpha2.NginxOperatorStatus {
	return v1alpha2.NginxOperatorStatus{
		ObservedGeneration: status.ObservedGeneration,
		Conditions:         status.Conditions,
		Replicas:           status.Replicas,
		ReadyReplicas:      status.ReadyReplicas,
		UpdatedReplicas:    status.UpdatedReplicas,
		Restarts:           status.Restarts,
		Selector:           status.Selector,
		Image:              status.Image,
		NginxVersion:       status.NginxVersion,
		Revision:           status.Revision,
		Config:             (*v1alpha2.ConfigStatus)(status.Config),
		Certificates:       convertAll(status.Certificates, func(c v1alpha1.CertificateStatus) v1alpha2.CertificateStatus { return v1alpha2.CertificateStatus(c) }),
		Addresses: convertAll(status.Addresses, func(a v1alpha1.Address) v1alpha2.Address {
			return v1alpha2.Address{Type: v1alpha2.AddressType(a.Type), Value: a.Value}
		}),
		WaitingRollout: (*v1alpha2.WaitingRollout)(status.WaitingRollout),
	}
}

// convertAll converts the items of a list and keeps nil apart from empty.
func convertAll[From, To any](items []From, convert func(From) To) []To {
	if items == nil {
		return nil
	}
	converted := make([]To, len(items))
	for i, item := range items {
		converted[i] = convert(item)
	}
	return converted
}
