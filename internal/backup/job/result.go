package job

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/listing"
	"example.com/nginx-operator/internal/backup/restoration"
)

// resultLimit is how long a termination message may be, in bytes
// (https://kubernetes.io/docs/tasks/debug/debug-application/determine-reason-pod-failure/).
const resultLimit = 4096

// TerminationLog is where a container leaves its termination message.
const TerminationLog = "/dev/termination-log"

// Result is what a job's pod tells at its end, as its termination message.
type Result struct {
	// Failure tells why it failed; nil: it did not.
	Failure *Failure `json:"failure,omitempty"`
	// Deleted tells that the data is gone.
	Deleted bool `json:"deleted,omitempty"`
	// Archive is the key of the archive in the store.
	Archive string `json:"archive,omitempty"`
	// Size of the archive in bytes, and its digest, in hexadecimal.
	Size   int64  `json:"size,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
	// Totals of what it holds.
	Totals *archive.Totals `json:"totals,omitempty"`
	// Missing are Secrets that should have been in it and do not exist, as far as there is
	// room to name them.
	Missing []string `json:"missing,omitempty"`
	// Skipped are the first things of the volumes that were left out, with the reason.
	Skipped []string `json:"skipped,omitempty"`
	// Volumes are those that a restore has compared and, unless it is a dry run, brought back.
	Volumes []restoration.Compared `json:"volumes,omitempty"`
	// CompletedAt is when the backup was whole and in its place.
	CompletedAt *time.Time `json:"completedAt,omitempty"`
	// Adopted is what a backup holds that was there already.
	Adopted *Adopted `json:"adopted,omitempty"`
	// Listing is what was found in the store.
	Listing *listing.Report `json:"listing,omitempty"`
}

// Failure is why a job failed.
type Failure struct {
	// Reason is one of the condition Completed.
	Reason string `json:"reason"`
	// Message has the words of whoever refused.
	Message string `json:"message"`
}

// messageLimit and missingLimit keep a result within resultLimit, whatever has to be escaped.
const (
	messageLimit                = 512
	missingLimit                = 2
	skippedLimit, skippedLength = 3, 120
	// volumesLimit is how much room there is for the volumes, volumeLength what one takes
	// without its examples, escaped how many times as long a character can become.
	volumesLimit, volumeLength, escaped = 3800, 150, 6
)

// Write leaves the result for the operator.
func (r Result) Write(path string) error {
	r.Missing = r.Missing[:min(len(r.Missing), missingLimit)]
	r.Skipped = slices.Clone(r.Skipped[:min(len(r.Skipped), skippedLimit)])
	for i, s := range r.Skipped {
		r.Skipped[i] = clip(s, skippedLength)
	}
	r.Volumes = slices.Clone(r.Volumes)
	for i := range r.Volumes {
		r.Volumes[i].Examples = clip(r.Volumes[i].Examples, max(0, volumesLimit/len(r.Volumes)-volumeLength)/escaped)
	}
	if f := r.Failure; f != nil {
		r = Result{Failure: &Failure{Reason: f.Reason, Message: clip(f.Message, messageLimit)}}
	}
	text, err := json.Marshal(r)
	for err == nil && len(text) > resultLimit && r.Adopted.shorten() {
		text, err = json.Marshal(r)
	}
	if err != nil {
		return err
	}
	if len(text) > resultLimit {
		return fmt.Errorf("the result has %d bytes, a termination message has %d", len(text), resultLimit)
	}
	return os.WriteFile(path, text, 0o666)
}

func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

// ParseResult reads a termination message. A container that was killed leaves none, and one
// that could not start leaves the words of the runtime.
func ParseResult(message string) (Result, error) {
	var r Result
	if err := json.Unmarshal([]byte(message), &r); err != nil {
		return r, fmt.Errorf("the pod left no result but %.200q", message)
	}
	if !r.whole() {
		return r, fmt.Errorf("the pod left half a result: %.200q", message)
	}
	return r, nil
}

func (r Result) whole() bool {
	return r.Failure != nil || r.CompletedAt != nil && (r.Deleted || r.Listing != nil || len(r.Volumes) > 0 || r.Archive != "" && r.Totals != nil)
}
