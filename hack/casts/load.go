package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// load sends requests to the applications through the API server until it is stopped.
func (c *cluster) load() (stop func(), err error) {
	proxy := exec.Command("kubectl", "proxy", "--port=0")
	proxy.Env = c.environment()
	output, err := proxy.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := proxy.Start(); err != nil {
		return nil, err
	}
	end := func() { _ = errors.Join(proxy.Process.Kill(), proxy.Wait()) } // it ends with a signal
	line, err := bufio.NewReader(output).ReadString('\n')
	at := strings.LastIndexByte(line, ' ')
	if err != nil || at < 0 {
		end()
		return nil, fmt.Errorf("kubectl proxy: %w: %q", err, line)
	}
	base := "http://" + strings.TrimSpace(line[at+1:]) + "/api/v1/namespaces/" + namespace + "/services/"
	done := make(chan struct{})
	var running sync.WaitGroup
	for path, pause := range map[string]time.Duration{"shop:8080/proxy/": 15 * time.Millisecond, "shop:8080/proxy/cart": 400 * time.Millisecond, "docs:8080/proxy/": 60 * time.Millisecond} {
		running.Go(func() { request(base+path, pause, done) })
	}
	return func() { close(done); running.Wait(); end() }, nil
}

// request requests an address again and again.
func request(address string, pause time.Duration, done <-chan struct{}) {
	ticks := time.NewTicker(pause)
	defer ticks.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticks.C:
		}
		response, err := http.Get(address) //nolint:gosec // It is the proxy's.
		if err != nil {
			continue // the picture shows how many requests there were
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
	}
}
