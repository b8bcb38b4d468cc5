package main

import (
	"errors"
	"log"

	"github.com/spf13/cobra"

	"example.com/nginx-operator/hack/cluster/internal/host"
	"example.com/nginx-operator/hack/cluster/internal/state"
)

// newProgress returns the logger for a command's progress, which goes to standard error. Results go
// to standard output.
func newProgress(command *cobra.Command) *log.Logger {
	return log.New(command.ErrOrStderr(), "", 0)
}

// withCache runs a function that changes files of the cache. Only one runs at a time.
func withCache(progress *log.Logger, change func(state.Cache) error) (err error) {
	cache, err := state.DefaultCache()
	if err != nil {
		return err
	}
	unlock, err := host.Lock(cache.Lock(), progress)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	return change(cache)
}

// withCluster runs a function that changes the cluster. Only one runs at a time.
func withCluster(progress *log.Logger, change func(state.Cache) error) error {
	if err := host.Check(); err != nil {
		return err
	}
	return withCache(progress, change)
}
