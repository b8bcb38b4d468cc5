package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/test/internal/audit"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/internal/fleet"
	"example.com/nginx-operator/test/testenv"
)

const (
	// cliRuns is how often each command runs, and cliWrites how many changes are followed.
	cliRuns   = 7
	cliWrites = 20
	// The goals of the commands, in milliseconds.
	statusGoal = 500
	listGoal   = 2000
)

// cliBench is a fleet on a bare control plane, and the plugin with the rights of a viewer.
type cliBench struct {
	*consoleBench
	plugin, kubeconfig string
}

// measureCLI runs the commands of kubectl nginx among many objects.
func measureCLI(ctx context.Context, s *session) ([]figure.Figure, error) {
	b, err := newCLIBench(ctx, s)
	if err != nil {
		return nil, err
	}
	figures, err := b.commands(ctx)
	if err != nil {
		return figures, err
	}
	watched, err := b.watch(ctx)
	return append(figures, watched...), err
}

func newCLIBench(ctx context.Context, s *session) (*cliBench, error) {
	dir, err := os.MkdirTemp("", "nginx-operator-cli-")
	if err != nil {
		return nil, err
	}
	s.atEnd(func(context.Context) error { return os.RemoveAll(dir) })
	b := &cliBench{consoleBench: &consoleBench{session: s}, plugin: filepath.Join(testenv.Root(), "bin", "kubectl-nginx"), kubeconfig: filepath.Join(dir, "viewer")}
	if b.plane, err = testenv.Start(dir, testenv.Audited); err != nil {
		return nil, err
	}
	s.atEnd(func(context.Context) error { return b.plane.Stop() })
	b.requests = audit.Log{Path: b.plane.AuditLog}
	if err := b.plane.InstallCRD(ctx, 0); err != nil {
		return nil, err
	}
	if err := b.fill(ctx); err != nil {
		return nil, err
	}
	return b, b.writeKubeconfig(ctx)
}

// writeKubeconfig writes the kubeconfig of a viewer.
func (b *cliBench) writeKubeconfig(ctx context.Context) error {
	viewer, err := consoleViewer(ctx, b.plane)
	if err != nil {
		return err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["bench"] = &clientcmdapi.Cluster{Server: viewer.Host, CertificateAuthorityData: viewer.CAData, CertificateAuthority: viewer.CAFile}
	config.AuthInfos["viewer"] = &clientcmdapi.AuthInfo{Token: viewer.BearerToken}
	config.Contexts["viewer"] = &clientcmdapi.Context{Cluster: "bench", AuthInfo: "viewer", Namespace: consoleNamespace}
	config.CurrentContext = "viewer"
	return clientcmd.WriteToFile(*config, b.kubeconfig)
}

// command returns a command of the plugin.
func (b *cliBench) command(ctx context.Context, arguments ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, b.plugin, arguments...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+b.kubeconfig)
	return cmd
}

// commands runs commands a few times, and counts the requests of one run.
func (b *cliBench) commands(ctx context.Context) ([]figure.Figure, error) {
	var figures []figure.Figure
	among := fmt.Sprintf(" among %d objects: median", b.count(consoleObjects))
	for _, tt := range []struct {
		command string
		goal    float64
	}{
		{"status web-0", statusGoal}, {"status web-1", 0}, {"explain web-0", statusGoal}, {"tree web-0", statusGoal}, {"list", listGoal}, {"list -A -o json", listGoal},
	} {
		var times []float64
		var start, end time.Time
		for range cliRuns {
			start = time.Now()
			if output, err := b.command(ctx, strings.Fields(tt.command)...).CombinedOutput(); err != nil {
				return figures, fmt.Errorf("kubectl nginx %s: %w: %s", tt.command, err, output[:min(len(output), 1000)])
			}
			end = time.Now()
			times = append(times, float64(end.Sub(start).Milliseconds()))
		}
		slices.Sort(times)
		requests, err := b.sent(ctx, start, end)
		if err != nil {
			return figures, err
		}
		note := fmt.Sprintf("%s; %d requests", listed(times, "ms"), requests)
		name := "kubectl nginx " + tt.command + among
		if tt.goal == 0 {
			figures = append(figures, figure.Info(name+", with two pods that do not answer", times[len(times)/2], "ms", note))
			continue
		}
		figures = append(figures, figure.HasGoal(name, times[len(times)/2], "ms", figure.AtMost(tt.goal), note))
	}
	return figures, nil
}

// sent counts the viewer's requests in a time.
func (b *cliBench) sent(ctx context.Context, start, end time.Time) (int, error) {
	// The API server writes its log a moment later.
	if err := pause(ctx, settling); err != nil {
		return 0, err
	}
	events, err := b.requests.Requests(audit.Filter{User: consoleUser, Since: start, Until: end})
	return len(events), err
}

// watch follows an application, changes it, and counts the requests while nothing changes and afterwards.
func (b *cliBench) watch(ctx context.Context) ([]figure.Figure, error) {
	running, stop := context.WithCancel(ctx)
	defer stop()
	cmd := b.command(running, "status", "web-0", "-w")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lags, err := b.follow(ctx, output)
	if err != nil {
		return nil, errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	begin := time.Now().Add(settling)
	if err := pause(ctx, settling+b.window); err != nil {
		return nil, err
	}
	end := time.Now()
	stop()
	// An interrupted command ends without an error.
	if err := cmd.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return nil, err
	}
	closed := time.Now().Add(settling)
	if err := pause(ctx, 2*settling+b.window); err != nil {
		return nil, err
	}
	open, err := b.sent(ctx, begin, end)
	if err != nil {
		return nil, err
	}
	after, err := b.sent(ctx, closed, time.Now())
	if err != nil {
		return nil, err
	}
	return []figure.Figure{
		figure.HasGoal("lag of kubectl nginx status -w behind a write, longest", lags[len(lags)-1], "ms", figure.AtMost(lagGoal), listed(lags, "ms")),
		figure.Info("requests a minute of kubectl nginx status -w while nothing changes", float64(open)*60/end.Sub(begin).Seconds(), ""),
		figure.HasGoal("requests after it has ended", float64(after), "", figure.AtMost(0)),
	}, nil
}

// follow changes the number of replicas, and measures how long after the API server's answer the screen shows it.
func (b *cliBench) follow(ctx context.Context, output io.Reader) ([]float64, error) {
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(output); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	if err := awaitLine(ctx, lines, "Application:", b.patience); err != nil {
		return nil, err
	}
	var lags []float64
	for i := range cliWrites {
		patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"status":{"readyReplicas":%d}}`, i+2))
		if err := b.plane.Client.Status().Patch(ctx, fleet.Object(consoleNamespace, 0), patch); err != nil {
			return nil, err
		}
		written := time.Now()
		if err := awaitLine(ctx, lines, fmt.Sprintf(", %d of 1 pods", i+2), b.patience); err != nil {
			return nil, err
		}
		lags = append(lags, float64(time.Since(written).Milliseconds()))
	}
	slices.Sort(lags)
	return lags, nil
}

// awaitLine reads lines until one contains a text.
func awaitLine(ctx context.Context, lines <-chan string, text string, patience time.Duration) error {
	deadline := time.After(patience)
	for {
		select {
		case line, more := <-lines:
			if !more {
				return fmt.Errorf("the output ended before %q", text)
			}
			if strings.Contains(line, text) {
				return nil
			}
		case <-deadline:
			return fmt.Errorf("the output does not have %q", text)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
