// Command kubernetes contains every Kubernetes program of the local cluster in one binary, and the
// provisioner of its volumes. As in busybox, the name of the executable selects the program.
//
// Upstream ships seven binaries that share most of their code. One binary is linked once instead of
// seven times, is a fraction of their total size, and its pages are in memory only once.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	_ "time/tzdata" // CronJobs may name time zones that the machine does not have

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"

	"example.com/nginx-operator/hack/cluster/components/kubernetes/volumes"
)

var programs = map[string]func(){
	"etcd":                    func() { etcdmain.Main(os.Args) },
	"kube-apiserver":          func() { runCommand(apiserver.NewAPIServerCommand()) },
	"kube-controller-manager": func() { runCommand(controllermanager.NewControllerManagerCommand()) },
	"kube-proxy":              func() { runCommand(proxy.NewProxyCommand()) },
	"kube-scheduler":          func() { runCommand(scheduler.NewSchedulerCommand()) },
	"kubectl":                 runKubectl,
	"kubelet":                 func() { runCommand(kubelet.NewKubeletCommand(context.Background())) },
	"volume-provisioner":      func() { runCommand(volumes.NewCommand()) },
}

func main() {
	name := filepath.Base(os.Args[0])
	program, ok := programs[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "%s: not a program of this binary; run it by a symbolic link such as kubectl\n", name)
		os.Exit(2)
	}
	program()
}

// runCommand runs a command and exits like the upstream main functions.
func runCommand(command *cobra.Command) {
	os.Exit(cli.Run(command))
}

// runKubectl runs kubectl. Unlike the servers, kubectl needs its log level before the command is
// built, and prints its errors itself.
func runKubectl() {
	if _, err := logs.GlogSetter(kubectl.GetLogVerbosity(os.Args)); err != nil {
		fmt.Fprintln(os.Stderr, "kubectl:", err)
		os.Exit(1)
	}
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
}
