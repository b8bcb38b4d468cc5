// Command nginx-load runs test/load inside a cluster, from where Services and pods are reachable.
//
//	nginx-load run OPTIONS   puts load on the targets of OPTIONS (JSON of load.Options)
//	                         until it is stopped or the options' duration has passed,
//	                         and prints the report as one line of JSON
//	nginx-load echo          is a backend that describes the requests that it gets
//	nginx-load file PATH     serves the current content of a file
//
// All listen on :8080, or on the address in the environment variable LISTEN. There, a run serves
//
//	POST /v1/submit?revision=R   allows responses with revision R from now on
//	GET  /v1/report              returns the report so far
//	POST /v1/stop                ends the run, and returns the report
//
// SIGTERM also ends a run. The exit status only reports whether the load could run. The report says how
// the requests were answered.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"example.com/nginx-operator/test/load"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string, out io.Writer) error {
	address := os.Getenv("LISTEN")
	if address == "" {
		address = ":8080"
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	switch {
	case len(args) == 2 && args[0] == "run":
		var options load.Options
		if err := json.Unmarshal([]byte(args[1]), &options); err != nil {
			return fmt.Errorf("read the options: %w", err)
		}
		return run(ctx, listener, options, out)
	case len(args) == 1 && args[0] == "echo":
		return serve(ctx, listener, http.HandlerFunc(echo))
	case len(args) == 2 && args[0] == "file":
		return serve(ctx, listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { file(w, r, args[1]) }))
	}
	return errors.New("usage: nginx-load run OPTIONS | nginx-load echo | nginx-load file PATH")
}

// run puts load on the targets and prints the report at the end.
func run(ctx context.Context, listener net.Listener, options load.Options, out io.Writer) error {
	reachable, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := load.Reachable(reachable, options); err != nil && ctx.Err() == nil {
		return err
	}
	running, err := load.Start(ctx, options)
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		<-running.Done()
		stop()
	}()
	served := serve(serving, listener, control(running))
	line, err := json.Marshal(running.Stop())
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "%s\n", line); err != nil {
		return err
	}
	return served
}

// serve ends when ctx ends, after the requests in progress.
func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return server.Shutdown(patient)
}
