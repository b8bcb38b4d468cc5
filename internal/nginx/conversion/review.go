package conversion

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apijson "sigs.k8s.io/json"

	"example.com/nginx-operator/api/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
)

// Path is where API servers send reviews.
const Path = "/convert"

// Bounds of a review. An API server sends the objects of a list one by one.
const (
	maxObjects = 100
	// reviewTimeout is the time after which no other object of a review is converted.
	reviewTimeout = 2 * time.Second
	// maxMessage bounds the message of an error, in bytes. Errors can contain whole objects.
	maxMessage = 1 << 10
)

// ToHub converts an object of v1alpha1 to v1alpha2.
type ToHub func(ctx context.Context, src *v1alpha1.NginxOperator, dst *v1alpha2.NginxOperator) error

// Webhook returns a handler of ConversionReviews about NginxOperators.
//
// Anyone on the pod network can send reviews. The handler of controller-runtime decodes every kind that the operator knows,
// converts any number of objects however long it takes, and repeats objects in messages.
func Webhook(toHub ToHub) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		review := &apiextensionsv1.ConversionReview{}
		if err := json.NewDecoder(r.Body).Decode(review); err != nil || review.Request == nil {
			http.Error(w, "the body is not a ConversionReview with a request", http.StatusBadRequest)
			return
		}
		request := review.Request
		review.Request, review.Response = nil, &apiextensionsv1.ConversionResponse{UID: request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
		converted, err := convertAll(r.Context(), request, toHub)
		if err != nil {
			review.Response.Result = metav1.Status{Status: metav1.StatusFailure, Message: short(err.Error())}
		}
		review.Response.ConvertedObjects = converted
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		_ = encoder.Encode(review) // An error means that the client has left, or the server answers that this is too large.
	})
}

// short returns the beginning of a message.
func short(message string) string {
	return strings.ToValidUTF8(message[:min(len(message), maxMessage)], "")
}

// convertAll returns the converted objects of a request.
func convertAll(ctx context.Context, request *apiextensionsv1.ConversionRequest, toHub ToHub) ([]runtime.RawExtension, error) {
	if n := len(request.Objects); n > maxObjects {
		return nil, fmt.Errorf("the review has %d objects: at most %d are allowed", n, maxObjects)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, reviewTimeout, fmt.Errorf("the review takes longer than %s", reviewTimeout))
	defer cancel()
	var all []runtime.RawExtension
	hidden := 0
	for _, object := range request.Objects {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		converted, values, err := convert(context.WithoutCancel(ctx), object.Raw, request.DesiredAPIVersion, toHub)
		if err != nil {
			return nil, err
		}
		if hidden += values; hidden > hiddenLimits.Values {
			return nil, fmt.Errorf("the v1alpha2 specs in the objects of v1alpha1 have more than %d values", hiddenLimits.Values)
		}
		all = append(all, runtime.RawExtension{Raw: converted})
	}
	return all, nil
}

// convert converts one object. It returns the number of values in its hidden spec.
func convert(ctx context.Context, object []byte, desired string, toHub ToHub) (converted []byte, values int, err error) {
	var is metav1.TypeMeta
	if err := decode(object, &is); err != nil {
		return nil, 0, err
	}
	from, to := is.GroupVersionKind(), schema.FromAPIVersionAndKind(desired, is.Kind)
	switch spoke, hub := v1alpha1.GroupVersion.WithKind(v1alpha2.Kind), v1alpha2.GroupVersion.WithKind(v1alpha2.Kind); {
	case from == spoke && to == hub:
		src, dst := &v1alpha1.NginxOperator{}, &v1alpha2.NginxOperator{}
		if err := decode(object, src); err != nil {
			return nil, 0, err
		}
		if err := toHub(ctx, src, dst); err != nil {
			return nil, 0, err
		}
		dst.SetGroupVersionKind(to)
		converted, err = encode(dst)
		return converted, hiddenValues(src), err
	case from == hub && to == spoke:
		src, dst := &v1alpha2.NginxOperator{}, &v1alpha1.NginxOperator{}
		if err := quantitySchema.CheckObject(object); err != nil {
			return nil, 0, err
		}
		if err := decode(object, src); err != nil {
			return nil, 0, err
		}
		if err := HubToV1Alpha1(ctx, src, dst); err != nil {
			return nil, 0, err
		}
		dst.SetGroupVersionKind(to)
		converted, err = encode(dst)
		return converted, 0, err
	default:
		return nil, 0, fmt.Errorf("cannot convert %.100s to %.100q: only objects of %s and %s can be converted to the other version", from, desired, spoke, hub)
	}
}

// decode decodes JSON as the API server does.
func decode(text []byte, into any) error {
	return apijson.UnmarshalCaseSensitivePreserveInts(text, into)
}

// encode returns the JSON of a value. It does not escape the characters of HTML, of which configurations can have many: each
// would take six bytes.
func encode(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}
