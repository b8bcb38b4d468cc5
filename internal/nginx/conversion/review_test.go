package conversion

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"example.com/nginx-operator/api/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
)

// v1 returns an object of v1alpha1 with an annotation.
func v1(t *testing.T, annotation string) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": v1alpha2.Kind,
		"metadata": map[string]any{"name": "web", "annotations": map[string]string{AnnotationSpec: annotation}},
	})
	must(t, err)
	return string(text)
}

// v2 returns an object of v1alpha2 with fields.
func v2(fields string) string {
	return `{"apiVersion":"operator.example.com/v1alpha2","kind":"NginxOperator",` + fields + `}`
}

// send returns the answer to a review, and the bytes that were allocated for it.
func send(t *testing.T, toHub ToHub, desired string, objects ...string) (*apiextensionsv1.ConversionResponse, uint64) {
	t.Helper()
	body := fmt.Sprintf(`{"kind":"ConversionReview","request":{"uid":"a","desiredAPIVersion":"operator.example.com/%s","objects":[%s]}}`, desired, strings.Join(objects, ","))
	answer := httptest.NewRecorder()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	Webhook(toHub).ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, Path, strings.NewReader(body)))
	runtime.ReadMemStats(&after)
	review := &apiextensionsv1.ConversionReview{}
	if err := json.Unmarshal(answer.Body.Bytes(), review); err != nil || answer.Code != http.StatusOK || review.Response.UID != "a" {
		t.Fatalf("%d %.1000s", answer.Code, answer.Body)
	}
	return review.Response, after.TotalAlloc - before.TotalAlloc
}

// TestHostileReviews: reviews that would take much memory or time end with a short message.
func TestHostileReviews(t *testing.T) {
	levels := strings.Repeat("[", 9990) + strings.Repeat("]", 9990)
	many := make([]string, maxObjects+1)
	for i := range many {
		many[i] = v1(t, `{"image":"a"}`)
	}
	var limits strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&limits, `"a%d":"999999999999999999999999999999.9",`, i)
	}
	manyLimits := limits.String()
	half := v1(t, `{"podTemplate":{"containers":[`+strings.Repeat("{},", hiddenLimits.Values/4)+`{}]}}`)
	// Objects with a resourceVersion are not validated.
	half = strings.Replace(half, `"name":`, `"resourceVersion":"1","name":`, 1)
	for name, tt := range map[string]struct {
		desired string
		objects []string
		message string
	}{
		"levels in an annotation":   {"v1alpha2", []string{v1(t, `{"`+strings.Repeat("x", 240_000)+`":`+levels+`}`)}, "more than 100 nested lists and objects"},
		"items in an annotation":    {"v1alpha2", []string{v1(t, `{"podTemplate":{"containers":[`+strings.Repeat("{},", 2<<20)+`{}]}}`)}, "more than 200000 "},
		"items in several":          {"v1alpha2", []string{half, half, half}, "more than 200000 values"},
		"another kind":              {"v1alpha2", []string{`{"apiVersion":"batch/v1","kind":"CronJobList","items":[` + strings.Repeat("null,", 190_000) + `null]}`}, "cannot convert batch/v1, Kind=CronJobList"},
		"a list":                    {"v1alpha1", []string{`{"apiVersion":"operator.example.com/v1alpha2","kind":"NginxOperatorList","items":[` + strings.Repeat("null,", 190_000) + `null]}`}, "cannot convert operator.example.com/v1alpha2, Kind=NginxOperatorList"},
		"the same version":          {"v1alpha2", []string{v2(`"spec":{}`)}, "cannot convert"},
		"an endless quantity":       {"v1alpha1", []string{v2(`"spec":{"resources":{"limits":{"cpu":"1e-99999999999"}}}`)}, "spec.resources.limits.cpu"},
		"an object without a kind":  {"v1alpha2", []string{`{"spec":"` + strings.Repeat("<", 4<<20) + `"}`}, "cannot convert"},
		"a quantity as a number":    {"v1alpha1", []string{v2(`"spec":{"resources":{"limits":{"cpu":1e-99999999999}}}`)}, "spec.resources.limits.cpu"},
		"values of a map":           {"v1alpha2", []string{v1(t, `{"resources":{"limits":{`+manyLimits+`"z":"1"}}}`)}, "the object is invalid in v1alpha2"},
		"another type":              {"v1alpha1", []string{v2(`"spec":{"image":{"x":"` + strings.Repeat("<", 4<<20) + `"}}`)}, "cannot unmarshal object"},
		"a long time":               {"v1alpha1", []string{v2(`"metadata":{"creationTimestamp":"` + strings.Repeat("é", 1<<20) + `"}`)}, "parsing time"},
		"many objects":              {"v1alpha2", many, "101 objects: at most 100 are allowed"},
		"many violations":           {"v1alpha2", []string{v1(t, `{"podTemplate":{"containers":[`+strings.Repeat("{},", 50_000)+`{}]}}`)}, "the object is invalid in v1alpha2"},
		"an object that is no text": {"v1alpha2", []string{"7"}, "cannot unmarshal number"},
	} {
		t.Run(name, func(t *testing.T) {
			response, allocated := send(t, V1Alpha1ToHub, tt.desired, tt.objects...)
			if message := response.Result.Message; response.Result.Status != "Failure" || !strings.Contains(message, tt.message) || len(message) > maxMessage {
				t.Errorf("%s %.2000q", response.Result.Status, message)
			}
			if allocated > 400<<20 || len(response.ConvertedObjects) > 0 {
				t.Errorf("%d MiB are allocated, %d objects converted", allocated>>20, len(response.ConvertedObjects))
			}
		})
	}
}

// TestConvertedObjectIsNotLarger: the characters of HTML are not escaped.
func TestConvertedObjectIsNotLarger(t *testing.T) {
	object := v2(`"spec":{"content":[{"inline":{"a":"` + strings.Repeat("<&>", 1<<20) + `"}}]}`)
	response, _ := send(t, V1Alpha1ToHub, "v1alpha1", object)
	if len(response.ConvertedObjects) != 1 || len(response.ConvertedObjects[0].Raw) > len(object)+1000 {
		t.Errorf("%s: %d bytes become %d objects", response.Result.Message, len(object), len(response.ConvertedObjects))
	}
}

// TestReviewEnds: a review does not occupy the webhook for long, however many slow objects it has. One slow object is
// converted.
func TestReviewEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		converted := 0
		slow := func(ctx context.Context, _ *v1alpha1.NginxOperator, _ *v1alpha2.NginxOperator) error {
			converted++
			time.Sleep(reviewTimeout)
			return ctx.Err()
		}
		object := v1(t, `{"image":"a"}`)
		if response, _ := send(t, slow, "v1alpha2", object); response.Result.Status != "Success" || len(response.ConvertedObjects) != 1 {
			t.Errorf("one object: %+v", response.Result)
		}
		response, _ := send(t, slow, "v1alpha2", object, object, object)
		if !strings.Contains(response.Result.Message, "the review takes longer than 2s") || converted > 3 {
			t.Errorf("%+v after %d objects", response.Result, converted)
		}
	})
}
