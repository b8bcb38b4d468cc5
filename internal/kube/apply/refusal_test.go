package apply

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/kube/owned"
)

// TestWhatIsTooLarge: the API server's error repeats a value that is too large. Neither the
// condition nor the log contains the value, but both contain the reason.
func TestWhatIsTooLarge(t *testing.T) {
	value := field.Invalid(field.NewPath("data"), strings.Repeat("x", 2<<20), "may not be more than 1048576 bytes")
	invalid := apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "ControllerRevision"}, "web-1", field.ErrorList{value})
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	change := Change{Action: Create, Intent: owned.Intent{Kind: owned.Kind{Name: "Deployment"}, Name: "web"}}
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"for etcd":  {apierrors.NewInternalError(errors.New("rpc error: code = ResourceExhausted desc = trying to send message larger than max (2672795 vs. 2097152)")), "larger than max"},
		"invalid":   {invalid, "may not be more than 1048576 bytes"},
		"too large": {apierrors.NewRequestEntityTooLargeError("limit is 3145728"), "limit is 3145728"},
	} {
		outcome := &Outcome{}
		if err := (&Applier{}).classifyError(change, tt.err, nginx, outcome); err != nil {
			t.Errorf("%s: it is an error to be tried again at once: %.200v", name, err)
		}
		refused := outcome.Refused
		if refused.Reason != ReasonRejected || !outcome.Retry || len(refused.Message) > 1000 ||
			!strings.Contains(refused.Message, "Deployment web") || !strings.Contains(refused.Message, tt.want) {
			t.Errorf("%s: it reports %s %.1100q", name, refused.Reason, refused.Message)
		}
	}
}
