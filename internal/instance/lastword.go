package instance

import (
	"errors"
	"log/slog"
	"os"
	"strings"

	"example.com/nginx-operator/internal/instance/supervise"
)

// maxLastWord is what is kept of the reason. Kubernetes takes 4 KiB, 12 KiB for all
// containers of a pod.
const maxLastWord = 2 << 10

// leaveWord writes the reason of an error to where the kubelet reads it from, for the
// status of the container.
func leaveWord(path string, reason error) {
	if err := os.WriteFile(path, []byte(lastWord(reason)), 0o644); err != nil {
		slog.Warn("write the termination message", "error", err)
	}
}

// lastWord is the reason and, if nginx ended by itself, as many of its last lines as
// there is room for.
func lastWord(reason error) string {
	text := reason.Error()
	if ended, ok := errors.AsType[*supervise.EndedError](reason); ok {
		if len(ended.LastWords) == 0 {
			return text
		}
		tail := strings.Join(ended.LastWords, "\n")
		room := max(0, maxLastWord-len(text)-2)
		if len(tail) > room {
			tail = tail[len(tail)-room:]
		}
		text += ":\n" + tail
	}
	return strings.ToValidUTF8(text[:min(len(text), maxLastWord)], "")
}
