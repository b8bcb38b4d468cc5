// Command kubelet contains the programs of a node, kubelet and kube-proxy, of one version of Kubernetes. The name of the
// executable selects the program, as in components/kubernetes.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	os.Exit(cli.Run(newCommand(filepath.Base(os.Args[0]))))
}

func newCommand(name string) *cobra.Command {
	if name == "kube-proxy" {
		return proxy.NewProxyCommand()
	}
	// The function has a context since 1.34.
	switch newKubelet := any(kubelet.NewKubeletCommand).(type) {
	case func() *cobra.Command:
		return newKubelet()
	case func(context.Context) *cobra.Command:
		return newKubelet(context.Background())
	default:
		panic(fmt.Sprintf("this version's NewKubeletCommand is a %T", newKubelet))
	}
}
