package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"slices"
	"time"

	"example.com/nginx-operator/test/internal/figure"
)

// session is what the measurements of one run share.
type session struct {
	options
	log *log.Logger
	// shared is nil until a measurement needs it.
	shared *sharedFleet
	// cleanups are called at the end, the last one first.
	cleanups []func(context.Context) error
}

func newSession(o options, progress io.Writer) *session {
	return &session{options: o, log: log.New(progress, "", 0)}
}

// count returns the number of objects that a measurement creates; its default is n.
func (s *session) count(n int) int {
	if len(s.objects) > 0 {
		return s.objects[0]
	}
	return n
}

// progress logs progress.
func (s *session) progress(format string, values ...any) {
	s.log.Printf(format, values...)
}

// atEnd registers a cleanup.
func (s *session) atEnd(cleanup func(context.Context) error) {
	s.cleanups = append(s.cleanups, cleanup)
}

// run takes measurements. If one fails, the others still run.
func (s *session) run(ctx context.Context, chosen []measurement) ([]figure.Figure, error) {
	var all []figure.Figure
	var errs []error
	for _, m := range chosen {
		if ctx.Err() != nil {
			break
		}
		s.progress("%s: %s", m.name, m.description)
		figures, err := m.take(ctx, s)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", m.name, err))
		}
		for _, f := range figures {
			f.Measurement = m.name
			all = append(all, f)
		}
	}
	return all, errors.Join(append(errs, ctx.Err(), s.cleanUp(ctx))...)
}

// cleanUp runs even if the run was interrupted.
func (s *session) cleanUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.patience)
	defer cancel()
	var errs []error
	for _, cleanup := range slices.Backward(s.cleanups) {
		errs = append(errs, cleanup(ctx))
	}
	return errors.Join(errs...)
}

// pause waits for d. If ctx ends first, it returns the cause.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
