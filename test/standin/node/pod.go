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

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/test/standin/container"
)

const (
	// glance is the interval at which to check for changes that cause no event.
	glance = 50 * time.Millisecond
	// resync is the interval at which volumes are updated although the pod has not changed. A
	// kubelet takes a minute or more.
	resync = 10 * time.Second
	// backOff is how long a container waits after it has ended for the second time, as with a
	// kubelet. The wait grows after each further end.
	backOff = 10 * time.Second
)

// pod is a pod that this node runs.
type pod struct {
	node    *Node
	space   *space
	key     client.ObjectKey
	uid     types.UID
	dir     string
	changed chan struct{}
	cancel  context.CancelFunc
	// done is closed when the pod has ended. failed is then the error that ended it too early, if
	// any.
	done   chan struct{}
	failed error

	volumes mounts

	mu        sync.Mutex
	container *container.Container
	// ready is the state in the pod's status, and terminating is the time at which the pod was
	// requested to end.
	ready       bool
	terminating time.Time
	// struck is set while the pod has not recovered from an action on its processes.
	struck bool
}

func (p *pod) wake() {
	select {
	case p.changed <- struct{}{}:
	default: // A wake-up is already pending.
	}
}

// isReady reports whether the pod is ready and not about to end.
func (p *pod) isReady() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ready && p.terminating.IsZero()
}

// running returns the pod's container, or nil if there is none.
func (p *pod) running() *container.Container {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.container
}

// live runs a pod from its binding to its end.
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
	done := make(chan struct{})
	go func() { defer close(done); p.sendRequests(ctx, seen) }()
	err = p.serve(ctx, seen, relay.ip, log)
	p.cancel()
	<-done
	return err
}

// bind binds the pod to this node. Without a node, it would be deleted without a grace period.
func (p *pod) bind(ctx context.Context, seen *corev1.Pod) error {
	if seen.Spec.NodeName != "" {
		return nil
	}
	return p.node.client.SubResource("binding").Create(ctx, seen.DeepCopy(), &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: seen.Namespace, Name: seen.Name, UID: seen.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: "node"},
	})
}

// prepare waits for everything that the pod mounts, because the pod does not start without it. It
// reports whether the pod is still to be started.
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

// serve runs the container, and restarts it when it has ended, until the pod is deleted.
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
		s.end(started.State(), p.volumes.terminationMessage(output))
		if !p.stays(ctx) {
			return p.remove(ctx)
		}
		wait := s.backOff()
		if err := p.report(ctx, s); err != nil {
			return err
		}
		if !p.pause(ctx, wait) {
			return p.remove(ctx)
		}
	}
}

// pause waits, and reports whether the pod has not been deleted meanwhile.
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

// spec returns the specification of the nginx container.
func (p *pod) spec(seen *corev1.Pod) container.Spec {
	s := container.Spec{Mounts: []container.Mount{{From: p.volumes.terminationLog(), To: "/dev/termination-log"}}}
	for _, c := range seen.Spec.Containers {
		if c.Name != naming.NginxContainer {
			continue
		}
		s.Root = p.node.Images.root(c.Image)
		s.Command = append(append(s.Command, c.Command...), c.Args...)
		for _, e := range c.Env {
			if e.Name == instanceapi.EnvPodUID {
				s.Environment = append(s.Environment, e.Name+"="+string(seen.UID))
			}
		}
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

// attend supervises a container until it has ended.
func (p *pod) attend(ctx context.Context, c *container.Container, s *status) error {
	defer c.Stop()
	p.mu.Lock()
	p.container = c
	p.mu.Unlock()
	p.wake()
	if err := p.report(ctx, s); err != nil {
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

// follow passes changes to a container until it has ended.
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

// follower holds the known changes of a pod.
type follower struct {
	pod       *pod
	container *container.Container
	// annotations are those of the last volume update, or of the one that is due.
	annotations string
	due         <-chan time.Time
	// killed fires when the grace period ends.
	killed <-chan time.Time
}

// change reads the pod and reacts to its changes. Like a kubelet, it updates volumes when the
// annotations change.
func (f *follower) change(ctx context.Context) error {
	now, err := f.pod.refresh(ctx)
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

// refresh reads the pod. It returns nil if the pod is gone or replaced by another one of the same
// name.
func (p *pod) refresh(ctx context.Context) (*corev1.Pod, error) {
	now := &corev1.Pod{}
	err := p.node.cache.Get(ctx, p.key, now)
	if apierrors.IsNotFound(err) || err == nil && now.UID != p.uid {
		return nil, nil
	}
	return now, err
}

// update updates the volumes. What has been deleted stays mounted.
func (p *pod) update(ctx context.Context) error {
	now, err := p.refresh(ctx)
	if now == nil || err != nil {
		return err
	}
	return client.IgnoreNotFound(p.volumes.update(ctx, now))
}

// stays reports whether the pod is not about to end.
func (p *pod) stays(ctx context.Context) bool {
	now, err := p.refresh(ctx)
	return err == nil && now != nil && now.DeletionTimestamp == nil
}

// leave signals the container to end, and returns a channel that fires at the end of its grace
// period.
func (p *pod) leave(c *container.Container, now *corev1.Pod) <-chan time.Time {
	p.mu.Lock()
	p.terminating = time.Now()
	p.mu.Unlock()
	_ = c.Signal(syscall.SIGTERM) // it may have ended already
	grace := int64(0)
	if now.DeletionGracePeriodSeconds != nil {
		grace = *now.DeletionGracePeriodSeconds
	}
	return time.After(time.Duration(grace) * time.Second)
}

// remove deletes a pod that has ended.
func (p *pod) remove(ctx context.Context) error {
	return client.IgnoreNotFound(p.node.client.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.key.Namespace, Name: p.key.Name}},
		client.GracePeriodSeconds(0), client.Preconditions{UID: &p.uid}))
}
