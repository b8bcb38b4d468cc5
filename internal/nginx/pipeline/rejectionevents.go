package pipeline

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/status"
)

// rejections remembers the last published rejection of a configuration. Pods repeat the test of a refused configuration,
// and may restart or be unreachable in between: ConfigValid is then Unknown, and False again with the same message,
// which is no news. It is lost with the process.
type rejections struct {
	mu        sync.Mutex
	published map[types.NamespacedName]rejectedConfig
}

// rejectedConfig is a configuration and why it was rejected.
type rejectedConfig struct{ revision, note string }

// news returns the events of a status without the rejection that was published last. Another configuration, another
// message, or a configuration that every pod serves makes it news again.
func (r *rejections) news(key types.NamespacedName, next status.Result) []status.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	revision := ""
	if next.Status.Config != nil {
		revision = next.Status.Config.Revision
	}
	return slices.DeleteFunc(slices.Clone(next.Events), func(e status.Event) bool {
		switch e.Reason {
		case status.EventConfigApplied:
			delete(r.published, key)
		case v1alpha2.ReasonConfigRejected:
			known, again := r.published[key]
			if now := (rejectedConfig{revision, e.Note}); !again || known != now {
				if r.published == nil {
					r.published = map[types.NamespacedName]rejectedConfig{}
				}
				r.published[key] = now
				return false
			}
			return true
		}
		return false
	})
}

func (r *rejections) forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.published, key)
}
