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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"example.com/nginx-operator/internal/nginx/naming"
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
	s := &streams{client: c, options: o, warn: warn, pods: map[types.UID]*podLog{}}
	ctx, stop := context.WithCancel(ctx)
	defer s.reading.Wait()
	defer stop()
	merge := s.mergeEnding
	if o.Follow {
		merge = s.mergeFollowed
	}
	if err := merge(ctx, pods, show); err != nil {
		return err
	}
	return s.failure()
}

// failure returns an error if no log can be read.
func (s *streams) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for _, log := range s.pods {
		if log.err == nil {
			return nil
		}
		err = log.err
	}
	if err != nil {
		return fmt.Errorf("no log can be read: %w", err)
	}
	return nil
}

// streams are the logs of the pods that are being read.
type streams struct {
	client  rest.Interface
	options Options
	warn    func(string)
	reading sync.WaitGroup

	mu sync.Mutex
	// pods are those whose logs are, or were, read.
	pods map[types.UID]*podLog
}

// podLog is the log of a pod. Its last line is only used by the one that reads it.
type podLog struct {
	reading bool
	// restarts is how often nginx had been restarted when the reading began.
	restarts int32
	// container is that of the pod as the API server last reported it.
	container container
	// err is why the log cannot be read.
	err error
	// last is the time of the last line.
	last time.Time
}

// ahead is how many lines of each pod are read before they are shown.
const ahead = 64

// mergeEnding shows the lines of logs that end, in one order from the first line to the last.
func (s *streams) mergeEnding(ctx context.Context, pods []corev1.Pod, show func(Line) error) error {
	var logs []<-chan Line
	for i := range pods {
		lines := make(chan Line, ahead)
		if s.start(ctx, &pods[i], false, lines, func() { close(lines) }) {
			logs = append(logs, lines)
		}
	}
	return mergeSorted(logs, show)
}

// mergeFollowed shows lines as they come, until all streams have ended.
func (s *streams) mergeFollowed(ctx context.Context, pods []corev1.Pod, show func(Line) error) error {
	lines := make(chan Line, 1000)
	for i := range pods {
		s.start(ctx, &pods[i], false, lines, func() {})
	}
	s.reading.Go(func() { s.follow(ctx, lines) })
	go func() {
		s.reading.Wait()
		close(lines)
	}()
	m := &merger{}
	ticks := time.NewTicker(window / 3)
	defer ticks.Stop()
	for more := true; more; {
		var ready []Line
		var line Line
		select {
		case line, more = <-lines:
			if more {
				m.add(line, time.Now())
				continue
			}
			ready = m.take(time.Now(), true)
		case <-ticks.C:
			ready = m.take(time.Now(), false)
		}
		for _, line := range ready {
			if err := show(line); err != nil {
				return err
			}
		}
	}
	return nil
}

// start reads the log of a pod's nginx into a channel, if it runs and is not read yet, and reports whether it does. late is true
// for pods that come later. ended is called when nothing is left to read.
func (s *streams) start(ctx context.Context, pod *corev1.Pod, late bool, into chan<- Line, ended func()) bool {
	if s.options.Pod != "" && pod.Name != s.options.Pod {
		return false
	}
	log := s.begin(pod)
	if log == nil {
		return false
	}
	name := pod.Name
	s.reading.Go(func() {
		defer ended()
		read := s.read
		if s.options.Follow {
			read = s.readFollowed
		}
		for again := true; again; {
			err := read(ctx, name, late, log, into)
			if err != nil && ctx.Err() == nil {
				s.warn(fmt.Sprintf("the log of pod %s cannot be read: %v", name, err))
			} else {
				err = nil
			}
			again = s.end(log, err) && ctx.Err() == nil
		}
	})
	return true
}

// end ends the reading of a log, and reports whether it goes on, because its container has started again meanwhile.
func (s *streams) end(log *podLog, err error) (again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	again = s.options.Follow && log.container.started && log.container.restarts > log.restarts
	log.reading, log.err = again, err
	return again
}

// begin returns the log of a pod to read, or nil if there is none or it is read already. While it is followed, its reader goes
// on with the container that takes the place of one that has ended.
func (s *streams) begin(pod *corev1.Pod) *podLog {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := containerOf(pod)
	log, known := s.pods[pod.UID]
	if known {
		log.container = now
	}
	switch {
	case !now.started && !s.options.Previous:
		return nil
	case !known:
		log = &podLog{container: now}
		s.pods[pod.UID] = log
	case log.reading || now.restarts <= log.restarts:
		return nil
	}
	log.reading, log.restarts = true, now.restarts
	return log
}

// read reads the log of a pod until it ends. If some of it was read before, only later lines are read.
func (s *streams) read(ctx context.Context, pod string, late bool, log *podLog, into chan<- Line) error {
	o := s.options
	request := s.client.Get().AbsPath("/api/v1/namespaces", o.Namespace, "pods", pod, "log").
		Param("container", naming.NginxContainer).Param("timestamps", "true")
	if o.Follow {
		request = request.Param("follow", "true")
	}
	if o.Previous {
		request = request.Param("previous", "true")
	}
	if o.Tail >= 0 && !late && log.last.IsZero() {
		request = request.Param("tailLines", strconv.FormatInt(o.Tail, 10))
	}
	switch {
	case !log.last.IsZero():
		request = request.Param("sinceTime", metav1.NewTime(log.last).UTC().Format(time.RFC3339))
	case o.Since > 0:
		request = request.Param("sinceTime", metav1.NewTime(time.Now().Add(-o.Since)).UTC().Format(time.RFC3339))
	}
	body, err := request.Stream(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	return s.scan(ctx, pod, body, log, into)
}

// scan reads lines. Those up to the last one that was read before are skipped, because the API server only knows seconds.
func (s *streams) scan(ctx context.Context, pod string, body io.Reader, log *podLog, into chan<- Line) error {
	reader, after := bufio.NewReaderSize(body, maxLine), log.last
	for {
		text, long, err := reader.ReadLine()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		line := parse(pod, string(text), log.last)
		if after.IsZero() || line.Time.After(after) {
			if err := s.send(ctx, line, into); err != nil {
				return err
			}
			log.last = line.Time
		}
		for long && err == nil {
			_, long, err = reader.ReadLine()
		}
	}
}

func (s *streams) send(ctx context.Context, line Line, into chan<- Line) error {
	if s.options.Keep != nil && !s.options.Keep(line.Text) {
		return nil
	}
	select {
	case into <- line:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
