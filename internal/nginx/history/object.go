package history

import (
	"maps"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/internal/nginx/naming"
)

// Read returns the history in ControllerRevisions.
func Read(objects []appsv1.ControllerRevision) History {
	h := make(History, 0, len(objects))
	for i := range objects {
		h = append(h, read(&objects[i]))
	}
	return h.sorted()
}

func read(o *appsv1.ControllerRevision) Revision {
	r := readMeta(&o.ObjectMeta)
	r.Number, r.Raw = o.Revision, o.Data.Raw
	return r
}

// readMeta reads a revision's metadata. It contains all that changes except the number, which never
// changes alone.
func readMeta(o *metav1.ObjectMeta) Revision {
	a := o.Annotations
	return Revision{
		Name:        o.Name,
		UID:         o.UID,
		Version:     o.ResourceVersion,
		State:       State(o.Labels[naming.LabelRevisionState]),
		Stage:       Stage(a[naming.AnnotationStage]),
		Paused:      a[naming.AnnotationPaused] == "true",
		Inputs:      a[naming.AnnotationInputs],
		Template:    a[naming.AnnotationTemplate],
		Config:      a[naming.AnnotationConfig],
		Image:       a[naming.AnnotationImage],
		ImageDigest: a[naming.AnnotationImageDigest],
		Cause:       a[naming.AnnotationChangeCause],
		StartedAt:   readTime(a[naming.AnnotationStartedAt]),
		ServedAt:    readTime(a[naming.AnnotationServedAt]),
		Failure: Failure{
			Attempt: a[naming.AnnotationFailedAttempt],
			Reason:  a[naming.AnnotationFailedReason],
			Message: a[naming.AnnotationFailedMessage],
			At:      readTime(a[naming.AnnotationFailedAt]),
		},
		Failures: readFailures(a[naming.AnnotationFailures]),
	}
}

// IsAs reports whether a ControllerRevision still has the metadata that the revision was read from.
// It ignores metadata of other clients.
func (r *Revision) IsAs(o *metav1.ObjectMeta) bool {
	now := readMeta(o)
	return r.UID == now.UID && maps.Equal(r.Labels(), now.Labels()) && maps.Equal(r.Annotations(), now.Annotations())
}

// Labels returns the labels of the ControllerRevision that depend on the revision.
func (r *Revision) Labels() map[string]string {
	return map[string]string{naming.LabelRevisionState: string(r.State)}
}

// Annotations returns all annotations that the operator sets on the ControllerRevision. An empty
// value means that the annotation is absent.
func (r *Revision) Annotations() map[string]string {
	return map[string]string{
		naming.AnnotationStage:         string(r.Stage),
		naming.AnnotationPaused:        writeTrue(r.Paused),
		naming.AnnotationInputs:        r.Inputs,
		naming.AnnotationTemplate:      r.Template,
		naming.AnnotationConfig:        r.Config,
		naming.AnnotationImage:         r.Image,
		naming.AnnotationImageDigest:   r.ImageDigest,
		naming.AnnotationChangeCause:   r.Cause,
		naming.AnnotationStartedAt:     writeTime(r.StartedAt),
		naming.AnnotationServedAt:      writeTime(r.ServedAt),
		naming.AnnotationFailedAttempt: r.Failure.Attempt,
		naming.AnnotationFailedReason:  r.Failure.Reason,
		naming.AnnotationFailedMessage: r.Failure.Message,
		naming.AnnotationFailedAt:      writeTime(r.Failure.At),
		naming.AnnotationFailures:      writeFailures(r.Failures),
	}
}

// readTime returns zero for an invalid text, which another client may have written.
func readTime(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}
	}
	return t
}

// readFailures returns zero for an annotation that writeFailures has not written.
func readFailures(text string) Failures {
	attempt, count, found := strings.Cut(text, "/")
	n, err := strconv.Atoi(count)
	if !found || err != nil || n < 1 || n > mostFailures {
		return Failures{}
	}
	return Failures{attempt, n}
}

// mostFailures exceeds the number of retries that any attempt gets.
const mostFailures = 1000

func writeFailures(f Failures) string {
	if f.Count == 0 {
		return ""
	}
	return f.Attempt + "/" + strconv.Itoa(min(f.Count, mostFailures))
}

func writeTrue(b bool) string {
	if !b {
		return ""
	}
	return "true"
}

func writeTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
