package conversion

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"example.com/nginx-operator/api/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
)

// incompressible returns text of a length that no compression makes shorter than three quarters.
func incompressible(length int) string {
	var text strings.Builder
	for i := 0; text.Len() < length; i++ {
		sum := sha256.Sum256([]byte(fmt.Sprint(i)))
		text.WriteString(base64.StdEncoding.EncodeToString(sum[:]))
	}
	return text.String()[:length]
}

// sized returns an application with inline files of a total length, and an annotation of a length.
func sized(files, annotation int, text func(int) string) *v1alpha2.NginxOperator {
	const most = 256 << 10
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	nginx.Spec.Config = &v1alpha2.Config{Files: map[string]v1alpha2.ConfigFile{"a.conf": ""}}
	for i := 0; files > 0; i++ {
		nginx.Spec.Config.Files[fmt.Sprintf("%d.txt", i)] = v1alpha2.ConfigFile(text(min(files, most)))
		files -= most
	}
	if annotation > 0 {
		nginx.Annotations = map[string]string{"a": text(annotation - 1)}
	}
	return nginx
}

// checkAllowed checks that the API server accepts the annotations of a converted object.
func checkAllowed(t *testing.T, converted *v1alpha1.NginxOperator) {
	t.Helper()
	if errs := apivalidation.ValidateAnnotations(converted.Annotations, field.NewPath("metadata", "annotations")); len(errs) > 0 {
		t.Errorf("the API server fails every list with this object: %v", errs.ToAggregate())
	}
}

// TestEverySize: an object of any size can be read as v1alpha1 and written back.
func TestEverySize(t *testing.T) {
	const limit = apivalidation.TotalAnnotationSizeLimitB
	zeros := func(n int) string { return strings.Repeat("\x00", n) }
	quotes := func(n int) string { return strings.Repeat(`"`, n) }
	for _, files := range []int{0, limit - 200, limit - 100, limit + 1, 900 << 10} {
		for _, annotation := range []int{0, 2, limit / 2, limit - len(AnnotationSpec) - len(inField), limit - len(AnnotationSpec) - len(inField) + 1, limit - 1, limit} {
			for name, text := range map[string]func(int) string{"random": incompressible, "zeros": zeros, "quotes": quotes} {
				t.Run(fmt.Sprintf("%d, %d, %s", files, annotation, name), func(t *testing.T) {
					want := sized(files, annotation, text)
					spoke := &v1alpha1.NginxOperator{}
					must(t, HubToV1Alpha1(t.Context(), want, spoke))
					checkAllowed(t, spoke)
					checkRound(t, want)
				})
			}
		}
	}
}

// TestSmallSpecsStayInTheAnnotation: releases that do not know the field can read what they could read before.
func TestSmallSpecsStayInTheAnnotation(t *testing.T) {
	largest := 0
	for files := apivalidation.TotalAnnotationSizeLimitB - 400; files <= apivalidation.TotalAnnotationSizeLimitB; files++ {
		want, spoke := sized(files, 0, incompressible), &v1alpha1.NginxOperator{}
		must(t, HubToV1Alpha1(t.Context(), want, spoke))
		if spoke.Spec.V1Alpha2Spec != nil {
			break
		}
		largest = len(spoke.Annotations[AnnotationSpec])
	}
	if want := apivalidation.TotalAnnotationSizeLimitB - len(AnnotationSpec); largest != want {
		t.Errorf("the longest spec in the annotation has %d bytes, want %d", largest, want)
	}
}

// TestEarlierReleasesRefuseTheField: they would otherwise store an object without the fields that they do not see.
func TestEarlierReleasesRefuseTheField(t *testing.T) {
	spoke := &v1alpha1.NginxOperator{}
	must(t, HubToV1Alpha1(t.Context(), sized(900<<10, 0, incompressible), spoke))
	if json.Unmarshal([]byte(spoke.Annotations[AnnotationSpec]), &v1alpha2.NginxOperatorSpec{}) == nil {
		t.Errorf("the annotation %q holds a spec for them", spoke.Annotations[AnnotationSpec])
	}
}

// TestFieldIsNotDropped: nothing that is written without the field, or with two specs, is taken for the whole object.
func TestFieldIsNotDropped(t *testing.T) {
	for name, tt := range map[string]struct {
		edit func(*v1alpha1.NginxOperator)
		want string
	}{
		"dropped": {func(o *v1alpha1.NginxOperator) { o.Spec.V1Alpha2Spec = nil }, "spec.v1alpha2Spec is missing"},
		"two":     {func(o *v1alpha1.NginxOperator) { o.Annotations[AnnotationSpec] = `{}` }, "both hold a v1alpha2 spec"},
		"no spec": {func(o *v1alpha1.NginxOperator) { o.Spec.V1Alpha2Spec.Raw = []byte(`[]`) }, "spec.v1alpha2Spec does not contain a v1alpha2 spec"},
		"invalid": {func(o *v1alpha1.NginxOperator) { o.Spec.V1Alpha2Spec.Raw = []byte(`{"image":"nginx latest"}`) }, "correct spec.v1alpha2Spec or edit the object as v1alpha2: spec.image"},
		"endless": {func(o *v1alpha1.NginxOperator) {
			o.Spec.V1Alpha2Spec.Raw = []byte(`{"resources":{"limits":{"cpu":"1e-99999999999"}}}`)
		}, "spec.resources.limits.cpu"},
		"by itself": {func(o *v1alpha1.NginxOperator) { delete(o.Annotations, AnnotationSpec) }, ""},
		"edited":    {func(o *v1alpha1.NginxOperator) { o.Spec.Replicas = new(int32(7)) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			spoke, hub := &v1alpha1.NginxOperator{}, &v1alpha2.NginxOperator{}
			must(t, HubToV1Alpha1(t.Context(), sized(900<<10, 0, incompressible), spoke))
			tt.edit(spoke)
			err := V1Alpha1ToHub(t.Context(), spoke, hub)
			if tt.want == "" {
				must(t, err)
				if len(hub.Spec.Config.Files) != 5 || hub.Annotations[AnnotationSpec] != "" {
					t.Errorf("%d files, annotations %v", len(hub.Spec.Config.Files), hub.Annotations)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error = %.300v, want one that says %q", err, tt.want)
			}
			if named, both := strings.Contains(err.Error(), AnnotationSpec), name == "dropped" || name == "two"; named != both {
				t.Errorf("error = %.300v: it names the annotation: %v", err, named)
			}
		})
	}
}

// FuzzSize: an object of any size and any annotations of others can be read as v1alpha1, and written back.
func FuzzSize(f *testing.F) {
	f.Add(10, 0, "a")
	f.Add(300<<10, 100<<10, "\u2028<&>")
	f.Add(900<<10, 256<<10, "\"")
	f.Fuzz(func(t *testing.T, files, annotation int, unit string) {
		if unit = strings.ToValidUTF8(unit, "?"); unit == "" || len(unit) > 100 {
			return
		}
		text := func(n int) string { return strings.Repeat(unit, n/len(unit)) }
		want := sized(min(max(files, 0), 2<<20), min(max(annotation, 0), apivalidation.TotalAnnotationSizeLimitB), text)
		spoke := &v1alpha1.NginxOperator{}
		must(t, HubToV1Alpha1(t.Context(), want, spoke))
		checkAllowed(t, spoke)
		checkRound(t, want)
	})
}

// FuzzField: like FuzzAnnotation, for a field that a client of v1alpha1 writes.
func FuzzField(f *testing.F) {
	for _, spec := range []string{`{}`, `null`, `[]`, `"x"`, `{"image":"nginx latest"}`, `{"ports":[{"name":"a","port":80},{"name":"b","port":81}]}`, `{"replicas":7,"unknown":{}}`} {
		f.Add(spec, inField)
	}
	f.Fuzz(func(t *testing.T, spec, annotation string) {
		if !json.Valid([]byte(spec)) {
			return
		}
		src := annotated(annotation)
		src.Spec.V1Alpha2Spec = &runtime.RawExtension{Raw: []byte(spec)}
		src.Spec.Port, src.Spec.Replicas = new(int32(8080)), new(int32(2))
		hub := &v1alpha2.NginxOperator{}
		if err := V1Alpha1ToHub(t.Context(), src.DeepCopy(), hub); err != nil {
			if text := err.Error(); !strings.Contains(text, "spec.v1alpha2Spec") && !strings.HasPrefix(text, "spec.port: ") {
				t.Errorf("the error names nothing that could be corrected: %.300s", text)
			}
			return
		}
		checkRound(t, hub)
	})
}
