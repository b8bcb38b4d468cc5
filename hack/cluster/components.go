package main

import (
	"context"
	"log"

	"example.com/nginx-operator/hack/cluster/internal/build"
	"example.com/nginx-operator/hack/cluster/internal/state"
)

// buildComponents builds the components that are not in the cache yet.
func buildComponents(ctx context.Context, cache state.Cache, progress *log.Logger, components ...build.Component) (build.Programs, error) {
	source, err := build.FindSource()
	if err != nil {
		return nil, err
	}
	builder := build.Builder{Cache: cache, Source: source, Progress: progress}
	return builder.All(ctx, components...)
}
