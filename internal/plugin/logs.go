package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/internal/plugin/logs"
	"example.com/nginx-operator/internal/plugin/redact"
	"example.com/nginx-operator/internal/plugin/screen"
	"example.com/nginx-operator/internal/plugin/view"
)

func newLogs(c *cluster) *cobra.Command {
	l := &logsCommand{cluster: c}
	cmd := &cobra.Command{
		Use:   "logs NAME",
		Short: "Show the access and error logs of all pods, merged by time",
		Long: "Show the access and error logs of all pods, merged by time. With --follow, pods that start later are included.\n\n" +
			"What looks like a secret, such as the value of a parameter called token, is hidden, unless --raw is set. --status and --path " +
			"understand nginx's usual log format, and JSON with nginx's names of variables.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return l.run(cmd, args[0]) },
	}
	cmd.Flags().BoolVarP(&l.options.Follow, "follow", "f", false, "go on with new lines, until you interrupt it")
	cmd.Flags().Int64Var(&l.options.Tail, "tail", 100, "the number of the last lines of each pod; -1: all")
	cmd.Flags().DurationVar(&l.options.Since, "since", 0, "show only lines that are not older, such as 5m")
	cmd.Flags().StringVar(&l.options.Pod, "pod", "", "show only this pod")
	cmd.Flags().BoolVarP(&l.options.Previous, "previous", "p", false, "show the containers that ran before those that run now")
	cmd.Flags().StringVar(&l.filter.Status, "status", "", "show only requests with this status or class, such as 404 or 5xx")
	cmd.Flags().StringVar(&l.filter.Path, "path", "", "show only requests whose path begins with this")
	cmd.Flags().BoolVar(&l.raw, "raw", false, "show what looks like a secret")
	return cmd
}

// logsCommand is the command logs with its flags.
type logsCommand struct {
	cluster *cluster
	options logs.Options
	filter  logs.Filter
	raw     bool
}

func (l *logsCommand) run(cmd *cobra.Command, name string) error {
	if err := l.check(); err != nil {
		return err
	}
	connected, nginx, err := l.cluster.application(cmd.Context(), name)
	if err != nil {
		return err
	}
	pods, err := view.ReadPods(cmd.Context(), connected, nginx)
	if err != nil {
		return err
	}
	if err := l.checkPod(nginx.Name, nginx.Namespace, pods); err != nil {
		return err
	}
	client, err := l.cluster.raw()
	if err != nil {
		return err
	}
	l.options.Namespace, l.options.Application = nginx.Namespace, nginx.Name
	var unknown atomic.Int64
	l.options.Keep = func(text string) bool {
		matches, known := l.filter.Matches(text)
		if !known {
			unknown.Add(1)
		}
		return matches
	}
	show := func(line logs.Line) error { return l.print(cmd.OutOrStdout(), line) }
	err = logs.Show(cmd.Context(), client, l.options, pods, show, func(text string) { cmd.PrintErrln(screen.Safe(text)) })
	if n := unknown.Load(); n > 0 {
		cmd.PrintErrf("%d lines are not shown, because they are not those of a request in a format that is understood.\n", n)
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// check refuses bad flags.
func (l *logsCommand) check() error {
	switch {
	case l.filter.Status != "" && !logs.ValidStatus(l.filter.Status):
		return fmt.Errorf("--status is %q: set it to a status or a class, such as 404 or 5xx", l.filter.Status)
	case l.options.Tail < -1:
		return fmt.Errorf("--tail is %d: set it to a number of lines from 0, or to -1 for all", l.options.Tail)
	case l.options.Since < 0:
		return fmt.Errorf("--since is %s: set it to a duration from 0, such as 5m", l.options.Since)
	}
	return nil
}

func (l *logsCommand) checkPod(name, namespace string, pods []corev1.Pod) error {
	switch {
	case l.options.Pod != "" && !slices.ContainsFunc(pods, func(p corev1.Pod) bool { return p.Name == l.options.Pod }):
		return fmt.Errorf("%s has no pod %s: kubectl nginx status %s -n %s lists them", name, l.options.Pod, name, namespace)
	case len(pods) == 0 && !l.options.Follow:
		return fmt.Errorf("%s has no pods: kubectl nginx explain %s -n %s says why", name, name, namespace)
	}
	return nil
}

func (l *logsCommand) print(out io.Writer, line logs.Line) error {
	text := line.Text
	if !l.raw {
		text = redact.Text(text)
	}
	_, err := fmt.Fprintf(out, "%s %s %s\n", line.Time.UTC().Format(time.RFC3339), line.Pod, screen.Safe(text))
	return err
}
