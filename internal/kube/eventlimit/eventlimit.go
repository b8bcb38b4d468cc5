// Package eventlimit bounds the events that are recorded, per namespace and in total. client-go remembers each event for up to 12
// minutes, and a user can cause any number of them, with objects that are deleted as soon as they were refused.
package eventlimit

import (
	"sync"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/recorder"
)

// The events at once, and per second after that. Some thousand applications can start at once. An event takes about 2.5 KiB: those
// of 12 minutes take 9 MiB for a namespace, and 38 MiB in total.
const (
	burst      = 2000
	perSecond  = 2
	totalBurst = 8000
	total      = 10
)

// Limiter bounds the events of all recorders of a manager. It is safe for concurrent use.
type Limiter struct {
	clock clock.PassiveClock

	mu         sync.Mutex
	total      *rate.Limiter
	namespaces map[string]*namespace
}

// namespace is what a namespace may record.
type namespace struct {
	*rate.Limiter
	// dropping reports whether the last event was dropped.
	dropping bool
}

// New returns a limiter for a manager.
func New(c clock.PassiveClock) *Limiter {
	return &Limiter{clock: c, total: rate.NewLimiter(total, totalBurst), namespaces: map[string]*namespace{}}
}

// Manager is a manager whose recorders drop the events that exceed the limits.
type Manager struct {
	ctrl.Manager
	Limiter *Limiter
}

// GetEventRecorder implements manager.Manager.
func (m Manager) GetEventRecorder(name string) recorder.EventRecorder {
	return limited{m.Manager.GetEventRecorder(name), m.Limiter}
}

// limited is a recorder within the limits.
type limited struct {
	recorder.EventRecorder
	limiter *Limiter
}

// Eventf implements events.EventRecorder.
func (r limited) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	if r.limiter.admits(regarding) {
		r.EventRecorder.Eventf(regarding, related, kind, reason, action, note, args...)
	}
}

// AnnotatedEventf implements events.AnnotatedEventRecorder.
func (r limited) AnnotatedEventf(regarding, related runtime.Object, annotations map[string]string, kind, reason, action, note string, args ...any) {
	if r.limiter.admits(regarding) {
		r.EventRecorder.AnnotatedEventf(regarding, related, annotations, kind, reason, action, note, args...)
	}
}

// admits reports whether the namespace of an object may record another event.
func (l *Limiter) admits(regarding runtime.Object) bool {
	object, err := meta.Accessor(regarding)
	if err != nil {
		return true // The recorder refuses it.
	}
	name := object.GetNamespace()
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	n := l.namespaces[name]
	if n == nil {
		l.forget()
		n = &namespace{Limiter: rate.NewLimiter(perSecond, burst)}
		l.namespaces[name] = n
	}
	// The total is only for what the namespace may record.
	admitted := n.AllowN(now, 1) && l.total.AllowN(now, 1)
	if !admitted && !n.dropping {
		log.Log.Info("events are dropped: there are too many", "namespace", name)
	}
	n.dropping = !admitted
	return admitted
}

// forget forgets the namespaces that may record as many events as a new one.
func (l *Limiter) forget() {
	now := l.clock.Now()
	for name, n := range l.namespaces {
		if n.TokensAt(now) >= burst {
			delete(l.namespaces, name)
		}
	}
}
