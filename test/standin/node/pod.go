package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/naming"
	"example.com/nginx-operator/test/standin/container"
)

const (
	// glance is how often it is looked for what nobody tells of.
	glance = 50 * time.Millisecond
	// resync is how often volumes are brought up to date although the pod has not changed. A
	// kubelet takes a minute or more.
	resync = 10 * time.Second
	// backOff is how long a container that has ended for the second time has to wait, as a kubelet
	// lets it, and ever longer after that.
	backOff = 10 * time.Second
)

// pod is one that lives.
type pod struct {
	node    *Node
	space   *space
	key     client.ObjectKey
	uid     types.UID
	dir     string
	changed chan struct{}
	cancel  context.CancelFunc
	// done is closed at its end; failed is then why that came too early.
	done   chan struct{}
	failed error

	volumes mounts

	mu        sync.Mutex
	container *container.Container
	// ready is what its status says; leaving tells since when it is to end.
	ready   bool
	leaving time.Time
	// struck: somebody has done something to its processes from which it has not recovered.
	struck bool
}

func (p *pod) wake() {
	select {
	case p.changed <- struct{}{}:
	default: // It was told already, and has not looked since.
	}
}

// isReady tells whether it is, and is to stay.
func (p *pod) isReady() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ready && p.leaving.IsZero()
}

// running is its container; nil: there is none.
func (p *pod) running() *container.Container {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.container
}

// live is all that a pod does.
func (p *pod) live(ctx context.Context, seen *corev1.Pod) (err error) {
	if err := p.bind(ctx, seen); err != nil {
		return client.IgnoreNotFound(err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(p.dir)) }()
	if ok, err := p.prepare(ctx, seen); !ok || err != nil {
		return err
	}
	log, err := os.OpenFile(p.dir+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	relay, err := p.relay(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, relay.Close()) }()
	asked := make(chan struct{})
	go func() { defer close(asked); p.ask(ctx, seen) }()
	err = p.serve(ctx, seen, relay.ip, log)
	p.cancel()
	<-asked
	return err
}

// bind gives the pod to this node: without one, it would be deleted without a grace.
func (p *pod) bind(ctx context.Context, seen *corev1.Pod) error {
	if seen.Spec.NodeName != "" {
		return nil
	}
	return p.node.client.SubResource("binding").Create(ctx, seen.DeepCopy(), &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: seen.Namespace, Name: seen.Name, UID: seen.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: "node"},
	})
}

// prepare waits for everything that the pod mounts: without it, it does not start. It tells whether
// it is to start still.
func (p *pod) prepare(ctx context.Context, seen *corev1.Pod) (bool, error) {
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return false, err
	}
	p.volumes = mounts{dir: p.dir, read: p.node.cache, last: map[string]map[string]string{}}
	for {
		err := p.volumes.update(ctx, seen)
		if err == nil || !apierrors.IsNotFound(err) {
			return err == nil, err
		}
		if !p.pause(ctx, glance) {
			return false, p.remove(ctx)
		}
	}
}

// serve starts the container, and again when it has ended, until the pod is deleted.
func (p *pod) serve(ctx context.Context, seen *corev1.Pod, ip string, log io.Writer) error {
	s := newStatus(seen, ip)
	for {
		output := &tail{to: log}
		if err := p.volumes.clear(); err != nil {
			return err
		}
		started, err := container.Start(p.spec(seen), output)
		if err != nil {
			return err
		}
		s.begin()
		err = p.attend(ctx, started, s)
		if err != nil || ctx.Err() != nil {
			return err
		}
		s.end(started.State(), p.volumes.word(output))
		if !p.stays(ctx) {
			return p.remove(ctx)
		}
		wait := s.backOff()
		if err := p.tell(ctx, s); err != nil {
			return err
		}
		if !p.pause(ctx, wait) {
			return p.remove(ctx)
		}
	}
}

// pause waits for a while, unless the pod is deleted meanwhile.
func (p *pod) pause(ctx context.Context, wait time.Duration) bool {
	for end := time.After(wait); ; {
		select {
		case <-ctx.Done():
			return false
		case <-end:
			return p.stays(ctx)
		case <-p.changed:
			if !p.stays(ctx) {
				return false
			}
		}
	}
}

// spec is that of the nginx container.
func (p *pod) spec(seen *corev1.Pod) container.Spec {
	s := container.Spec{Mounts: []container.Mount{{From: p.volumes.terminationLog(), To: "/dev/termination-log"}}}
	for _, c := range seen.Spec.Containers {
		if c.Name != naming.NginxContainer {
			continue
		}
		s.Root = p.node.Images.root(c.Image)
		s.Command = append(append(s.Command, c.Command...), c.Args...)
		for _, m := range c.VolumeMounts {
			from := filepath.Join(p.volumes.folder(m.Name), m.SubPath)
			if m.Name == instanceVolume {
				from = p.node.Images.programs
			}
			s.Mounts = append(s.Mounts, container.Mount{From: from, To: m.MountPath})
		}
	}
	return s
}

// attend looks after a container until it has ended.
func (p *pod) attend(ctx context.Context, c *container.Container, s *status) error {
	defer c.Stop()
	p.mu.Lock()
	p.container = c
	p.mu.Unlock()
	p.wake()
	if err := p.tell(ctx, s); err != nil {
		return err
	}
	probing, stop := context.WithCancel(ctx)
	probed := make(chan error, 1)
	go func() { probed <- p.probe(probing, c, s) }()
	err := p.follow(ctx, c)
	p.mu.Lock()
	p.ready, p.container = false, nil
	p.mu.Unlock()
	stop()
	return errors.Join(err, <-probed)
}

// follow brings what changes to a container until it has ended.
func (p *pod) follow(ctx context.Context, c *container.Container) error {
	resync := time.NewTicker(resync)
	defer resync.Stop()
	f := follower{pod: p, container: c}
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-c.Ended():
			return nil
		case <-f.killed:
			c.Stop()
		case <-p.changed:
			err = f.change(ctx)
		case <-f.due:
			f.due = nil
			p.wake()
			err = p.update(ctx)
		case <-resync.C:
			err = p.update(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// follower is what is known of the changes of a pod.
type follower struct {
	pod       *pod
	container *container.Container
	// annotations are those that were brought last, or are to be when it is due.
	annotations string
	due         <-chan time.Time
	// killed is when the time to end is over.
	killed <-chan time.Time
}

// change looks at what has become of the pod. A kubelet brings volumes up to date when the annotations
// are others.
func (f *follower) change(ctx context.Context) error {
	now, err := f.pod.look(ctx)
	if now == nil || err != nil {
		return err
	}
	if now.DeletionTimestamp != nil && f.killed == nil {
		f.killed = f.pod.leave(f.container, now)
	}
	if text := fmt.Sprint(now.Annotations); text != f.annotations && f.due == nil {
		f.annotations, f.due = text, time.After(f.pod.node.delay(f.pod.space))
	}
	return nil
}

// look reads the pod; nil: it is gone, or is another one of the same name.
func (p *pod) look(ctx context.Context) (*corev1.Pod, error) {
	now := &corev1.Pod{}
	err := p.node.cache.Get(ctx, p.key, now)
	if apierrors.IsNotFound(err) || err == nil && now.UID != p.uid {
		return nil, nil
	}
	return now, err
}

// update brings the volumes up to date. What is gone stays mounted.
func (p *pod) update(ctx context.Context) error {
	now, err := p.look(ctx)
	if now == nil || err != nil {
		return err
	}
	return client.IgnoreNotFound(p.volumes.update(ctx, now))
}

// stays tells whether the pod is not to end.
func (p *pod) stays(ctx context.Context) bool {
	now, err := p.look(ctx)
	return err == nil && now != nil && now.DeletionTimestamp == nil
}

// leave tells the container to end, and returns when it has no more time.
func (p *pod) leave(c *container.Container, now *corev1.Pod) <-chan time.Time {
	p.mu.Lock()
	p.leaving = time.Now()
	p.mu.Unlock()
	_ = c.Signal(syscall.SIGTERM) // it has ended before
	grace := int64(0)
	if now.DeletionGracePeriodSeconds != nil {
		grace = *now.DeletionGracePeriodSeconds
	}
	return time.After(time.Duration(grace) * time.Second)
}

// remove takes the pod away that has ended.
func (p *pod) remove(ctx context.Context) error {
	return client.IgnoreNotFound(p.node.client.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.key.Namespace, Name: p.key.Name}},
		client.GracePeriodSeconds(0), client.Preconditions{UID: &p.uid}))
}
