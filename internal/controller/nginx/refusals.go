package nginx

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/status"
)

// refusals remembers which refusal of a configuration was published last. Pods test a refused
// configuration again, and may be restarted or out of reach meanwhile: ConfigValid is Unknown
// then, and False again with the same words, which is not news. It is forgotten with the process.
type refusals struct {
	mu        sync.Mutex
	published map[types.NamespacedName]refusal
}

// refusal is one configuration and why it was refused.
type refusal struct{ revision, note string }

// news are the events of a status without the refusal that was published last. Another configuration,
// other words, or a configuration that every pod serves make it news again.
func (r *refusals) news(key types.NamespacedName, next status.Result) []status.Event {
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
			if now := (refusal{revision, e.Note}); !again || known != now {
				if r.published == nil {
					r.published = map[types.NamespacedName]refusal{}
				}
				r.published[key] = now
				return false
			}
			return true
		}
		return false
	})
}

func (r *refusals) forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.published, key)
}
