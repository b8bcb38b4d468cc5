package logs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/plugin/watch"
)

// maxLine bounds a line: what is longer is cut. nginx's own lines are at most 4 KiB.
const maxLine = 64 << 10

// Options select logs.
type Options struct {
	Namespace, Application string
	// Pod is one pod; empty: all.
	Pod string
	// Tail is the number of the last lines of each pod; negative: all. Since is how old lines may be; 0: any age.
	Tail  int64
	Since time.Duration
	// Follow goes on with new lines and new pods until the context ends.
	Follow bool
	// Previous selects the containers that ran before those that run now.
	Previous bool
	// Keep selects lines before they are merged; nil: all.
	Keep func(text string) bool
}

// Show calls show with each line, in the order of the times, and warn with what is missing.
func Show(ctx context.Context, c rest.Interface, o Options, pods []corev1.Pod, show func(Line) error, warn func(string)) error {
	s := &streams{client: c, options: o, lines: make(chan Line, 1000), warn: warn, open: map[string]bool{}}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for i := range pods {
		s.start(ctx, &pods[i], false)
	}
	if o.Follow {
		s.reading.Go(func() { s.follow(ctx) })
	}
	go func() {
		s.reading.Wait()
		close(s.lines)
	}()
	if err := s.merge(show); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) > 0 && s.failed == len(s.open) {
		return fmt.Errorf("no log can be read: %w", s.why)
	}
	return nil
}

// streams are the logs of the pods that are being read.
type streams struct {
	client  rest.Interface
	options Options
	lines   chan Line
	warn    func(string)
	reading sync.WaitGroup

	mu sync.Mutex
	// open has the containers that are, or were, read: by the UID of the pod and the number of restarts.
	open map[string]bool
	// failed is how many of them could not be read, and why is why the last one could not.
	failed int
	why    error
}

// merge shows the lines until all streams have ended.
func (s *streams) merge(show func(Line) error) error {
	m := &merger{}
	ticks := time.NewTicker(window / 3)
	defer ticks.Stop()
	for {
		var ready []Line
		var line Line
		more := true
		select {
		case line, more = <-s.lines:
			if more {
				m.add(line, time.Now())
				continue
			}
			ready = m.take(time.Now(), true)
		case <-ticks.C:
			// Logs that end are shown in one order from the first line to the last.
			if s.options.Follow {
				ready = m.take(time.Now(), false)
			}
		}
		for _, line := range ready {
			if err := show(line); err != nil {
				return err
			}
		}
		if !more {
			return nil
		}
	}
}

// follow starts to read the logs of pods that come, and of containers that start again.
func (s *streams) follow(ctx context.Context) {
	selected := watch.Resource{
		Path: "/api/v1/namespaces/" + s.options.Namespace + "/pods", Labels: naming.Selector(s.options.Application).String(),
	}
	err := watch.Follow(ctx, s.client, selected, watch.Handler[corev1.Pod]{
		Key:    func(pod *corev1.Pod) string { return pod.Name },
		Put:    func(pod *corev1.Pod) { s.start(ctx, pod, true) },
		Gone:   func(string) {},
		Synced: func() {},
		Lost:   func(err error) { s.warn("pods that come are not followed for the moment: " + err.Error()) },
	})
	if err != nil {
		s.warn("pods that come are not followed: " + err.Error())
	}
}

// start reads the log of a pod's nginx, if it runs and is not read yet. late is true for pods that come later.
func (s *streams) start(ctx context.Context, pod *corev1.Pod, late bool) {
	if s.options.Pod != "" && pod.Name != s.options.Pod {
		return
	}
	restarts, started := containerOf(pod)
	if !started && !s.options.Previous {
		return
	}
	key := fmt.Sprint(pod.UID, restarts)
	s.mu.Lock()
	known := s.open[key]
	s.open[key] = true
	s.mu.Unlock()
	if known {
		return
	}
	name := pod.Name
	s.reading.Go(func() {
		if err := s.readAll(ctx, name, late); err != nil && ctx.Err() == nil {
			s.warn(fmt.Sprintf("the log of pod %s cannot be read: %v", name, err))
			s.mu.Lock()
			s.failed++
			s.why = err
			s.mu.Unlock()
		}
	})
}

// readAll reads the log of a pod. While it is followed, it is read again where a connection was cut.
func (s *streams) readAll(ctx context.Context, pod string, late bool) error {
	last, err := s.read(ctx, pod, late, time.Time{})
	for err == nil && s.options.Follow && ctx.Err() == nil {
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil
		}
		var again time.Time
		// The pod or its container may be gone; then the watch reports what takes its place.
		if again, err = s.read(ctx, pod, true, last); err != nil {
			return nil //nolint:nilerr // The watch starts to read the container that takes its place.
		}
		if again.After(last) {
			last = again
		}
	}
	return err
}

// containerOf returns how often nginx of a pod was restarted, and whether it has started.
func containerOf(pod *corev1.Pod) (restarts int32, started bool) {
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name == naming.NginxContainer {
			return c.RestartCount, c.State.Running != nil || c.State.Terminated != nil
		}
	}
	return 0, false
}

// read reads the log of a pod until it ends, and returns the time of the last line. With a time, only later lines are read.
func (s *streams) read(ctx context.Context, pod string, late bool, after time.Time) (last time.Time, err error) {
	o := s.options
	request := s.client.Get().AbsPath("/api/v1/namespaces", o.Namespace, "pods", pod, "log").
		Param("container", naming.NginxContainer).Param("timestamps", "true")
	if o.Follow {
		request = request.Param("follow", "true")
	}
	if o.Previous {
		request = request.Param("previous", "true")
	}
	if o.Tail >= 0 && !late {
		request = request.Param("tailLines", strconv.FormatInt(o.Tail, 10))
	}
	switch {
	case !after.IsZero():
		request = request.Param("sinceTime", metav1.NewTime(after).UTC().Format(time.RFC3339))
	case o.Since > 0:
		request = request.Param("sinceTime", metav1.NewTime(time.Now().Add(-o.Since)).UTC().Format(time.RFC3339))
	}
	body, err := request.Stream(ctx)
	if err != nil {
		return after, err
	}
	defer func() { _ = body.Close() }()
	return s.scan(ctx, pod, body, after)
}

func (s *streams) scan(ctx context.Context, pod string, body io.Reader, after time.Time) (last time.Time, err error) {
	reader, last := bufio.NewReaderSize(body, maxLine), after
	for {
		text, long, err := reader.ReadLine()
		if errors.Is(err, io.EOF) {
			return last, nil
		}
		if err != nil {
			return last, err
		}
		line := parse(pod, string(text), last)
		// The API server only knows seconds.
		if line.Time.After(after) {
			if err := s.send(ctx, line); err != nil {
				return last, err
			}
		}
		last = line.Time
		for long && err == nil {
			_, long, err = reader.ReadLine()
		}
	}
}

func (s *streams) send(ctx context.Context, line Line) error {
	if s.options.Keep != nil && !s.options.Keep(line.Text) {
		return nil
	}
	select {
	case s.lines <- line:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
