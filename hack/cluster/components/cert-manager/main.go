// Command cert-manager is cert-manager for the local cluster: its controller, its webhook and its CA
// injector in one program, whose argument selects one of them.
//
// It has the issuers that need nothing outside of the cluster (self-signed, CA), and creates
// certificates for annotated Ingresses. The other issuers would link the clients of many clouds.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	logf "github.com/cert-manager/cert-manager/pkg/logs"
)

var programs = map[string]func(context.Context) error{
	"controller": runController,
	"webhook":    runWebhook,
	"cainjector": runCAInjector,
}

// namespace is where the programs run. It has the certificates of ClusterIssuers, too.
const namespace = "cert-manager"

func main() {
	if len(os.Args) != 2 || programs[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: cert-manager controller|webhook|cainjector")
		os.Exit(2)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	ctx = logf.NewContext(ctx, logf.Log, os.Args[1])
	err := programs[os.Args[1]](ctx)
	cancel()
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "cert-manager:", err)
		os.Exit(1)
	}
}
