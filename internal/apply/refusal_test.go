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
	"example.com/nginx-operator/internal/desired"
	"example.com/nginx-operator/internal/history"
	"example.com/nginx-operator/internal/observe"
)

// TestWhatIsTooLarge: the API server repeats what is too large for it. Nobody is told a megabyte,
// neither by a condition nor by the log, but everybody what is wrong.
func TestWhatIsTooLarge(t *testing.T) {
	value := field.Invalid(field.NewPath("data"), strings.Repeat("x", 2<<20), "may not be more than 1048576 bytes")
	invalid := apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "ControllerRevision"}, "web-1", field.ErrorList{value})
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	change := Change{Action: Create, Intent: desired.Intent{Kind: desired.Kind{Kind: observe.Kind{Name: "Deployment"}}, Name: "web"}}
	record := desired.Record{Revision: history.Revision{Name: "web-1"}}
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"for etcd":  {apierrors.NewInternalError(errors.New("rpc error: code = ResourceExhausted desc = trying to send message larger than max (2672795 vs. 2097152)")), "larger than max"},
		"invalid":   {invalid, "may not be more than 1048576 bytes"},
		"too large": {apierrors.NewRequestEntityTooLargeError("limit is 3145728"), "limit is 3145728"},
	} {
		for where, judge := range map[string]func(*Outcome) error{
			"Deployment web":           func(o *Outcome) error { return (&Applier{}).judge(change, tt.err, nginx, o) },
			"ControllerRevision web-1": func(o *Outcome) error { return judgeRecord(record, tt.err, nginx, o) },
		} {
			outcome := &Outcome{}
			if err := judge(outcome); err != nil {
				t.Errorf("%s, %s: it is an error to be tried again at once: %.200v", name, where, err)
			}
			told := outcome.Refused
			if told.Reason != v1alpha2.ReasonRejected || !outcome.Retry || len(told.Message) > 1000 ||
				!strings.Contains(told.Message, where) || !strings.Contains(told.Message, tt.want) {
				t.Errorf("%s, %s: it is told %s %.1100q", name, where, told.Reason, told.Message)
			}
		}
	}
}
