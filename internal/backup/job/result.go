package job

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/listing"
	"example.com/nginx-operator/internal/backup/restoration"
)

// resultLimit bounds a termination message, in bytes
// (https://kubernetes.io/docs/tasks/debug/debug-application/determine-reason-pod-failure/).
const resultLimit = 4096

// TerminationLog is the file for the termination message of a container.
const TerminationLog = "/dev/termination-log"

// Result is what a job's pod reports in its termination message.
type Result struct {
	// Failure is why the job failed, or nil if it succeeded.
	Failure *Failure `json:"failure,omitempty"`
	// Deleted reports whether the data has been deleted.
	Deleted bool `json:"deleted,omitempty"`
	// Archive is the key of the archive in the store.
	Archive string `json:"archive,omitempty"`
	// Size is the size of the archive in bytes. SHA256 is its hash in hexadecimal.
	Size   int64  `json:"size,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
	// Totals counts what the archive holds.
	Totals *archive.Totals `json:"totals,omitempty"`
	// Missing names Secrets that should be in the archive but do not exist, as far as there is
	// room.
	Missing []string `json:"missing,omitempty"`
	// Skipped names the first entries of the volumes that were left out, with the reason.
	Skipped []string `json:"skipped,omitempty"`
	// Volumes holds the volumes that a restore has compared and, unless it is a dry run, restored.
	Volumes []restoration.VolumeComparison `json:"volumes,omitempty"`
	// CompletedAt is when the backup was complete and in its final location.
	CompletedAt *time.Time `json:"completedAt,omitempty"`
	// Existing describes a backup that was already in the store.
	Existing *Existing `json:"adopted,omitempty"`
	// Listing is the result of a listing.
	Listing *listing.Report `json:"listing,omitempty"`
}

// Failure is why a job failed.
type Failure struct {
	// Reason is a reason of the Completed condition.
	Reason string `json:"reason"`
	// Message is the error message of the program that failed.
	Message string `json:"message"`
}

// messageLimit, missingLimit and the bounds of Skipped keep a result within resultLimit, even if
// all characters are escaped.
const (
	messageLimit                = 512
	missingLimit                = 2
	skippedLimit, skippedLength = 3, 120
	// volumesLimit is the room for all volumes. volumeLength is the length of one volume without
	// its examples. escaped is the factor by which escaping can lengthen a character.
	volumesLimit, volumeResultLimit, escaped = 3800, 150, 6
)

// Write writes the result for the operator.
func (r Result) Write(path string) error {
	r.Missing = r.Missing[:min(len(r.Missing), missingLimit)]
	r.Skipped = slices.Clone(r.Skipped[:min(len(r.Skipped), skippedLimit)])
	for i, s := range r.Skipped {
		r.Skipped[i] = clip(s, skippedLength)
	}
	r.Volumes = slices.Clone(r.Volumes)
	for i := range r.Volumes {
		r.Volumes[i].Examples = clip(r.Volumes[i].Examples, max(0, volumesLimit/len(r.Volumes)-volumeResultLimit)/escaped)
	}
	if f := r.Failure; f != nil {
		r = Result{Failure: &Failure{Reason: f.Reason, Message: clip(f.Message, messageLimit)}}
	}
	text, err := json.Marshal(r)
	for err == nil && len(text) > resultLimit && r.Existing.shorten() {
		text, err = json.Marshal(r)
	}
	if err != nil {
		return err
	}
	if len(text) > resultLimit {
		return fmt.Errorf("the result has %d bytes: a termination message can have at most %d", len(text), resultLimit)
	}
	return os.WriteFile(path, text, 0o666)
}

func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

// ParseResult parses the termination message of a task. It is empty if the container was killed, and
// an error of the runtime if the container could not start. A result without a failure contains what
// its task has to report. The reason of a failure is JobFailed unless nginx-backup reports it.
func ParseResult(task Task, message string) (Result, error) {
	var r Result
	if len(message) > resultLimit {
		return r, fmt.Errorf("the pod's termination message has %d bytes: at most %d are allowed", len(message), resultLimit)
	}
	if err := json.Unmarshal([]byte(message), &r); err != nil {
		return r, fmt.Errorf("the pod's termination message is not a result: %.200q", message)
	}
	if r.Failure == nil && (r.CompletedAt == nil || !r.completes(task)) {
		return r, fmt.Errorf("the pod's termination message is not a complete result: %.200q", message)
	}
	if f := r.Failure; f != nil && !slices.Contains(reportedReasons, f.Reason) {
		f.Reason = v1alpha1.ReasonJobFailed
	}
	return r, nil
}

// reportedReasons are the reasons that nginx-backup reports. A user can report others in its place, but each would be another
// series of the operator's metrics, and the API server refuses conditions with some of them.
var reportedReasons = []string{
	v1alpha1.ReasonSourceFailed, v1alpha1.ReasonStoreUnavailable, v1alpha1.ReasonStoreDenied, v1alpha1.ReasonStoreNotFound,
	v1alpha1.ReasonStoreFull, v1alpha1.ReasonStoreFailed, v1alpha1.ReasonDamaged, v1alpha1.ReasonPathInvalid,
	v1alpha1.ReasonBackupNotFound, v1alpha1.ReasonNotUsable, v1alpha1.ReasonConflict,
}

// completes reports whether the result contains what a task reports when it succeeds.
func (r Result) completes(task Task) bool {
	switch task {
	case Create, VerifyExisting:
		return r.Archive != "" && r.SHA256 != "" && r.Totals != nil
	case Delete:
		return r.Deleted
	case Match, Extract:
		return len(r.Volumes) > 0
	case List:
		return r.Listing != nil
	case Read:
		// It serves the operator until its job is deleted, so it ends only with a failure.
	}
	return false
}
