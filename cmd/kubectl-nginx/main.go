// Command kubectl-nginx is the kubectl plugin for nginx applications: kubectl nginx --help.
package main

import (
	"context"
	"os"
	"os/signal"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // the credentials of cloud providers

	"example.com/nginx-operator/internal/plugin"
)

// version is set at build time.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	os.Exit(plugin.Run(ctx, plugin.NewCommand(streams, version), streams.ErrOut))
}
