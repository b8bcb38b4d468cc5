package instance

import (
	"errors"
	"log/slog"
	"os"
	"strings"

	"example.com/nginx-operator/internal/instance/supervise"
)

// maxTerminationMessage bounds the message, in bytes. Kubernetes accepts 4 KiB, and 12 KiB for all
// containers of a pod.
const maxTerminationMessage = 2 << 10

// writeTerminationMessage writes the reason of an error to the file from which the kubelet reads it
// for the status of the container.
func writeTerminationMessage(path string, reason error) {
	if err := os.WriteFile(path, []byte(terminationMessage(reason)), 0o644); err != nil {
		slog.Warn("cannot write the termination message", "error", err)
	}
}

// terminationMessage returns the reason and, if nginx ended unexpectedly, as much of its last lines
// as fits.
func terminationMessage(reason error) string {
	text := reason.Error()
	if ended, ok := errors.AsType[*supervise.EndedError](reason); ok {
		if len(ended.LastLines) == 0 {
			return text
		}
		tail := strings.Join(ended.LastLines, "\n")
		room := max(0, maxTerminationMessage-len(text)-2)
		if len(tail) > room {
			tail = tail[len(tail)-room:]
		}
		text += ":\n" + tail
	}
	return strings.ToValidUTF8(text[:min(len(text), maxTerminationMessage)], "")
}
