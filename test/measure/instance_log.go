package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/standin/container"
)

const (
	logRounds  = 5
	logWindow  = 6 * time.Second
	logClients = 32
	// logPrice is the goal for the cost in percent, both of the requests and of nginx's processor
	// time.
	logPrice = 5
	// logFlushed is the time until nginx has written, and the instance has read, every line.
	logFlushed = 4 * time.Second
)

// logRound is the result of one round of requests.
type logRound struct {
	requests, counted int64
	took              time.Duration
	// nginx and processOne are processor times.
	nginx, processOne time.Duration
}

// measureInstanceLog compares nginx with and without request metrics, in alternating rounds,
// because the speed of the machine varies. The processor time per request varies less.
func measureInstanceLog(ctx context.Context, s *session) (figures []figure.Figure, err error) {
	sides := []struct {
		name      string
		arguments []string
		rounds    []logRound
		instance  *alone
	}{{name: "with"}, {name: "without", arguments: []string{"--request-metrics=false"}}}
	for i := range sides {
		side := &sides[i]
		if side.instance, err = startAlone(ctx, aloneSite, 0, side.arguments...); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, side.instance.end()) }()
	}
	for n := range logRounds {
		for i := range sides {
			s.progress("instance-log: %s request metrics, %d of %d", sides[i].name, n+1, logRounds)
			round, err := sides[i].instance.logRound(ctx)
			if err != nil {
				return nil, err
			}
			sides[i].rounds = append(sides[i].rounds, round)
		}
	}
	rate := func(r logRound) float64 { return float64(r.requests) / r.took.Seconds() }
	workers := func(r logRound) float64 { return float64(r.nginx.Microseconds()) / float64(r.requests) }
	manager := func(r logRound) float64 { return float64(r.processOne.Nanoseconds()) / 1000 / float64(r.requests) }
	with, without := sides[0].rounds, sides[1].rounds
	price := func(of func(logRound) float64) float64 { return 100 * (1 - medianOf(with, of)/medianOf(without, of)) }
	var requests, counted int64
	for _, r := range with {
		requests, counted = requests+r.requests, counted+r.counted
	}
	return []figure.Figure{
		figure.Info("requests with request metrics", medianOf(with, rate), "requests/s"),
		figure.Info("requests without", medianOf(without, rate), "requests/s"),
		figure.HasGoal("decrease of requests", price(rate), "%", figure.AtMost(logPrice)),
		figure.Info("nginx's processor time per request, with", medianOf(with, workers), "µs"),
		figure.Info("nginx's processor time per request, without", medianOf(without, workers), "µs"),
		figure.Info("processor time of process 1 per request", medianOf(with, manager), "µs"),
		figure.HasGoal("uncounted requests, of "+strconv.FormatInt(requests, 10), float64(requests-counted), "requests", figure.AtMost(0)),
	}, nil
}

func medianOf(rounds []logRound, of func(logRound) float64) float64 {
	var all []float64
	for _, r := range rounds {
		all = append(all, of(r))
	}
	return median(all)
}

// logRound sends as many requests as possible for a while.
func (a *alone) logRound(ctx context.Context) (logRound, error) {
	counted, err := a.counted(ctx)
	if err != nil {
		return logRound{}, err
	}
	nginx, manager, err := a.times()
	if err != nil {
		return logRound{}, err
	}
	start := time.Now()
	requests, err := a.hammer(ctx)
	took := time.Since(start)
	if err != nil {
		return logRound{}, err
	}
	nginxAfter, managerAfter, err := a.times()
	if err != nil {
		return logRound{}, err
	}
	if err := pause(ctx, logFlushed); err != nil {
		return logRound{}, err
	}
	after, err := a.counted(ctx)
	return logRound{requests, after - counted, took, nginxAfter - nginx, managerAfter - manager}, err
}

// times returns the processor times of nginx's workers and of process 1.
func (a *alone) times() (nginx, manager time.Duration, err error) {
	for _, pid := range container.Children(a.Master()) {
		worker, err := spent(pid)
		if err != nil {
			return 0, 0, err
		}
		nginx += worker
	}
	manager, err = spent(a.PID())
	return nginx, manager, err
}

// hammer returns the number of requests that were answered.
func (a *alone) hammer(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, logWindow)
	defer cancel()
	var answered atomic.Int64
	var group sync.WaitGroup
	failures := make(chan error, logClients)
	for range logClients {
		conn, err := a.Dial(ctx, "tcp", "127.0.0.1:80")
		if err != nil {
			return 0, err
		}
		group.Go(func() {
			defer func() { _ = conn.Close() }()
			reader := bufio.NewReader(conn)
			for ctx.Err() == nil {
				if err := getOnce(conn, reader); err != nil {
					failures <- err
					return
				}
				answered.Add(1)
			}
		})
	}
	group.Wait()
	select {
	case err := <-failures:
		return answered.Load(), err
	default:
		return answered.Load(), nil
	}
}

func getOnce(conn io.Writer, reader *bufio.Reader) error {
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		return err
	}
	for length := 0; ; {
		line, err := reader.ReadSlice('\n')
		if err != nil {
			return err
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return err
			}
		}
		if len(line) == len("\r\n") {
			_, err := reader.Discard(length)
			return err
		}
	}
}

// counted returns how many requests the instance has counted; 0: it does not count.
func (a *alone) counted(ctx context.Context) (int64, error) {
	client := &http.Client{Transport: &http.Transport{DialContext: a.Dial, DisableKeepAlives: true}, Timeout: 10 * time.Second}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d%s", instanceapi.Port, instanceapi.PathMetrics), nil)
	if err != nil {
		return 0, err
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	text, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return 0, err
	}
	sum, _, err := sumOf(text, requestsMetric)
	return int64(sum), err
}
