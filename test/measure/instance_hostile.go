package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/test/internal/figure"
)

const (
	hostileMemory = 64 << 20
	hostileTime   = 15 * time.Second
	// hostileClients is the number of addresses from which attacks come.
	hostileClients = 200
	// The goals for the memory of process 1 in MiB, and for the number of its descriptors.
	hostileResident    = 40
	hostileDescriptors = 300
)

// attack is an attack by a client that reaches the port.
type attack struct {
	name string
	// connections is the number of connections that are open at a time. do uses each one until it
	// returns an error.
	connections int
	do          func(conn net.Conn) error
}

var attacks = []attack{
	{"idle connections", 21_000, func(conn net.Conn) error {
		if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", instanceapi.PathLive); err != nil {
			return err
		}
		_, err := io.Copy(io.Discard, conn)
		return errors.Join(err, io.EOF)
	}},
	{"slow headers", 2_000, trickle("GET /readyz HTTP/1.1\r\n", "X")},
	{"slow bodies", 2_000, trickle("POST /v1/load HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n", "x")},
	{"scrapes", 100, repeat("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")},
	{"requests for the status", 100, repeat("GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n")},
	{"scrapes that are not read", 500, repeatUnread("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")},
	{"big requests", 100, repeat("POST /v1/load HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 7<<10) + "\r\nContent-Length: 1000000\r\n\r\n" + strings.Repeat("x", 1_000_000))},
	{"a connection for each request", 20, func(conn net.Conn) error {
		_, err := fmt.Fprint(conn, "GET /readyz HTTP/1.0\r\n\r\n")
		_, read := io.Copy(io.Discard, conn)
		return errors.Join(err, read, io.EOF)
	}},
}

// trickle sends head at once, and then more every second.
func trickle(head, more string) func(net.Conn) error {
	return func(conn net.Conn) error {
		if _, err := io.WriteString(conn, head); err != nil {
			return err
		}
		for {
			time.Sleep(time.Second)
			if _, err := io.WriteString(conn, more); err != nil {
				return err
			}
		}
	}
}

// repeat sends a request again and again, and reads the responses.
func repeat(request string) func(net.Conn) error {
	return func(conn net.Conn) error {
		go func() { _, _ = io.Copy(io.Discard, conn) }() // ends with the connection
		return repeatUnread(request)(conn)
	}
}

func repeatUnread(request string) func(net.Conn) error {
	return func(conn net.Conn) error {
		for {
			if _, err := io.WriteString(conn, request); err != nil {
				return err
			}
		}
	}
}

// measureInstanceHostile attacks the port of an instance that serves requests.
func measureInstanceHostile(ctx context.Context, s *session) (figures []figure.Figure, err error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return nil, err
	}
	for _, each := range attacks {
		// This program holds one end of each connection, and some other files.
		each.connections = min(each.connections, int(limit.Max)-1000)
		s.progress("instance-hostile: %s: %d connections at a time", each.name, each.connections)
		found, err := each.measure(ctx)
		figures = append(figures, found...)
		if err != nil {
			return figures, err
		}
	}
	return figures, nil
}

func (k *attack) measure(ctx context.Context) (figures []figure.Figure, err error) {
	a, err := startAlone(ctx, aloneSite, hostileMemory)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.end()) }()
	attacking, stop := context.WithTimeout(ctx, hostileTime)
	defer stop()
	var group sync.WaitGroup
	probes, requests := &requestCount{}, &requestCount{}
	group.Go(func() { probes.every(attacking, a, 200*time.Millisecond, instanceapi.Port, instanceapi.PathReady) })
	group.Go(func() { probes.every(attacking, a, 500*time.Millisecond, instanceapi.Port, instanceapi.PathStatus) })
	group.Go(func() { requests.every(attacking, a, 10*time.Millisecond, 80, "/") })
	var resident, descriptors int64
	group.Go(func() { resident, descriptors = a.peak(attacking) })
	made := k.run(attacking, a, &group)
	group.Wait()
	ended := 0.
	if a.State() != nil {
		ended = 1
	}
	name := k.name + ": "
	return []figure.Figure{
		figure.Info(name+"connections made", float64(made.Load()), "connections"),
		figure.HasGoal(name+"memory of process 1", figure.MiB(resident), "MiB", figure.AtMost(hostileResident)),
		figure.HasGoal(name+"its descriptors", float64(descriptors), "descriptors", figure.AtMost(hostileDescriptors)),
		figure.HasGoal(name+"failed probes and status requests, of "+strconv.FormatInt(probes.all.Load(), 10), float64(probes.failed.Load()), "answers", figure.AtMost(0), probes.why()...),
		figure.HasGoal(name+"failed requests to nginx, of "+strconv.FormatInt(requests.all.Load(), 10), float64(requests.failed.Load()), "requests", figure.AtMost(0), requests.why()...),
		figure.HasGoal(name+"containers ended", ended, "containers", figure.AtMost(0)),
	}, nil
}

// run keeps the attack's connections busy, from many addresses.
func (k *attack) run(ctx context.Context, a *alone, group *sync.WaitGroup) *atomic.Int64 {
	made := &atomic.Int64{}
	for i := range k.connections {
		from := &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(1+i%hostileClients))}
		group.Go(func() {
			for ctx.Err() == nil {
				conn, err := a.dialFrom(ctx, from)
				if err != nil {
					_ = pause(ctx, 100*time.Millisecond) // try again until the end
					continue
				}
				made.Add(1)
				stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
				_ = k.do(conn) // an attack may fail
				stop()
				_ = conn.Close()
				if k.connections > 1000 {
					_ = pause(ctx, time.Second)
				}
			}
		})
	}
	return made
}

func (a *alone) dialFrom(ctx context.Context, from net.Addr) (net.Conn, error) {
	// Each dial takes a thread.
	a.dialing <- struct{}{}
	defer func() { <-a.dialing }()
	var conn net.Conn
	err := a.Inside(func() (err error) {
		dialer := net.Dialer{LocalAddr: from, Timeout: 5 * time.Second}
		conn, err = dialer.DialContext(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(instanceapi.Port)))
		return err
	})
	return conn, err
}

// requestCount counts requests, and those that failed.
type requestCount struct {
	all, failed atomic.Int64
	last        atomic.Value
}

func (q *requestCount) every(ctx context.Context, a *alone, apart time.Duration, port int, path string) {
	for ctx.Err() == nil {
		q.all.Add(1)
		// A response may arrive after the end of the attack.
		if err := a.probe(context.WithoutCancel(ctx), port, path); err != nil {
			q.failed.Add(1)
			q.last.Store(err.Error())
		}
		_ = pause(ctx, apart) // the loop ends as well
	}
}

func (q *requestCount) why() []string {
	if last, ok := q.last.Load().(string); ok {
		return []string{"last error: " + last}
	}
	return nil
}

// peak returns the peaks of the memory and of the descriptors of process 1.
func (a *alone) peak(ctx context.Context) (resident, descriptors int64) {
	for ctx.Err() == nil && a.State() == nil {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", a.PID()))
		if fields := strings.Fields(string(text)); err == nil && len(fields) > 1 {
			if pages, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
				resident = max(resident, pages*int64(os.Getpagesize()))
			}
		}
		if open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", a.PID())); err == nil {
			descriptors = max(descriptors, int64(len(open)))
		}
		_ = pause(ctx, 100*time.Millisecond) // the loop ends as well
	}
	return resident, descriptors
}
