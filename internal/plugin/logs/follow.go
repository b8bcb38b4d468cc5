package logs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/plugin/watch"
)

// firstPause and longestPause bound how long to wait before a log that is followed is read again.
const firstPause, longestPause = time.Second, 30 * time.Second

// follow starts to read the logs of pods that come, and of containers that start again.
func (s *streams) follow(ctx context.Context, into chan<- Line) {
	selected := watch.Resource{
		Path: "/api/v1/namespaces/" + s.options.Namespace + "/pods", Labels: naming.Selector(s.options.Application).String(),
	}
	err := watch.Follow(ctx, s.client, selected, watch.Handler[corev1.Pod]{
		Key:    func(pod *corev1.Pod) string { return string(pod.UID) },
		Put:    func(pod *corev1.Pod) { s.start(ctx, pod, true, into, func() {}) },
		Gone:   func(uid string) { s.gone(types.UID(uid)) },
		Synced: func() {},
		Lost:   func(err error) { s.warn("pods that come are not followed for the moment: " + err.Error()) },
	})
	if err != nil {
		s.warn("pods that come are not followed: " + err.Error())
	}
}

// gone records that a pod exists no longer, so that its log has an end.
func (s *streams) gone(pod types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if log, known := s.pods[pod]; known {
		log.container.ended = true
	}
}

// readFollowed reads the log of a pod until its container has ended, and again from the last line on where a connection has
// ended before. The watch reports a container that starts again.
func (s *streams) readFollowed(ctx context.Context, pod string, late bool, log *podLog, into chan<- Line) error {
	pause, warned := firstPause, ""
	for again := false; ; again = true {
		// What a container writes before it ends is complete only if the reading begins after that.
		ended, before := s.continues(log), log.last
		err := s.read(ctx, pod, late, log, into)
		switch {
		case ctx.Err() != nil, again && apierrors.IsNotFound(err), err == nil && ended:
			return nil //nolint:nilerr // a log that is gone, or not wanted any more, has ended
		case isRefused(err):
			return err
		case err == nil:
			warned = ""
		case err.Error() != warned:
			warned = err.Error()
			s.warn(fmt.Sprintf("the log of pod %s was interrupted: %v", pod, err))
		}
		pause = nextPause(pause, again, log.last.After(before))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil
		}
	}
}

// continues records that the container of now is read, and reports whether it has ended.
func (s *streams) continues(log *podLog) (ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	log.restarts = max(log.restarts, log.container.restarts)
	return log.container.ended || s.options.Previous
}

// nextPause returns how long to wait before a log is read again: longer each time, unless it had new lines.
func nextPause(last time.Duration, again, progress bool) time.Duration {
	if !again || progress {
		return firstPause
	}
	return min(2*last, longestPause)
}

// isRefused reports whether the API server refuses a request, so that the same one would fail again.
func isRefused(err error) bool {
	answer := apierrors.APIStatus(nil)
	if !errors.As(err, &answer) || apierrors.IsTooManyRequests(err) {
		return false
	}
	code := answer.Status().Code
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError
}

// container is the state of nginx in a pod.
type container struct {
	restarts int32
	// started says that it has a log, and ended that it does not run: nothing comes until it starts again.
	started, ended bool
}

// containerOf returns the state of nginx in a pod.
func containerOf(pod *corev1.Pod) container {
	over := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name == naming.NginxContainer {
			running, terminated := c.State.Running != nil, c.State.Terminated != nil
			return container{restarts: c.RestartCount, started: running || terminated, ended: over || !running}
		}
	}
	return container{ended: over}
}
