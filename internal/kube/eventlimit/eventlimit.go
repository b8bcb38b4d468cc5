// Package eventlimit bounds the events that are recorded, per namespace and in total. client-go remembers each event for up to 12
// minutes, and a user can cause any number of them, with objects that are deleted as soon as they were refused.
package eventlimit

import (
	"sync"
	"time"

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
	// Whatever others record, a namespace has room for a few: these at once, and one in that time after that.
	reserve      = 20
	reserveEvery = 10 * time.Second
)

// logEvery is the least time between two messages about dropped events of a namespace.
const logEvery = time.Minute

// Limiter bounds the events of all recorders of a manager. It is safe for concurrent use.
type Limiter struct {
	clock clock.PassiveClock

	mu         sync.Mutex
	total      *rate.Limiter
	namespaces map[string]*namespace
}

// namespace is what a namespace may record.
type namespace struct {
	all, reserve *rate.Limiter
	// logged is when it was last logged that events are dropped.
	logged time.Time
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
		n = &namespace{all: rate.NewLimiter(perSecond, burst), reserve: rate.NewLimiter(rate.Every(reserveEvery), reserve)}
		l.namespaces[name] = n
	}
	// The total is only for what the namespace may record.
	admitted := n.all.AllowN(now, 1) && (l.total.AllowN(now, 1) || n.reserve.AllowN(now, 1))
	if !admitted && now.Sub(n.logged) >= logEvery {
		n.logged = now
		log.Log.Info("events are dropped: there are too many", "namespace", name)
	}
	return admitted
}

// forget forgets the namespaces that may record as many events as a new one.
func (l *Limiter) forget() {
	now := l.clock.Now()
	for name, n := range l.namespaces {
		if n.all.TokensAt(now) >= burst && n.reserve.TokensAt(now) >= reserve {
			delete(l.namespaces, name)
		}
	}
}
