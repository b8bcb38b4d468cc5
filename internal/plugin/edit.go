package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/plugin/edits"
	"example.com/nginx-operator/internal/plugin/screen"
	"example.com/nginx-operator/internal/plugin/view"
)

// defaultTimeout is how long --wait waits. A rollout that makes no progress has failed by then, unless its deadline is longer.
const defaultTimeout = 15 * time.Minute

// addEdits adds a command for each change of an application. A change of two words is below a command of its first one.
func addEdits(root *cobra.Command, c *cluster) {
	groups := map[string]*cobra.Command{}
	var commands []*cobra.Command
	for _, e := range edits.All() {
		parent, word, nested := strings.Cut(e.Command, " ")
		if !nested {
			commands = append(commands, newEdit(c, e, parent))
			continue
		}
		if groups[parent] == nil {
			groups[parent] = newGroup(parent)
			commands = append(commands, groups[parent])
		}
		groups[parent].AddCommand(newEdit(c, e, word))
	}
	addGroup(root, "Changes:", commands...)
}

// newGroup returns the command whose commands set one field.
func newGroup(word string) *cobra.Command {
	return &cobra.Command{
		Use:   word,
		Short: "Set a field of an application",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
}

func newEdit(c *cluster, e edits.Edit, word string) *cobra.Command {
	var dryRun, wait bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   strings.Join(append([]string{word, "NAME"}, e.Arguments...), " "),
		Short: e.Short,
		Long:  e.Long,
		Args:  cobra.RangeArgs(1+e.Required(), 1+len(e.Arguments)),
		RunE: func(cmd *cobra.Command, args []string) error {
			connected, nginx, err := c.application(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			target := edits.Target{NginxOperator: nginx}
			if e.NeedsHistory {
				if target.History, err = view.ReadHistory(cmd.Context(), connected, nginx); err != nil {
					return err
				}
			}
			if err := apply(cmd.Context(), connected, e, target, args[1:], cmd.OutOrStdout(), dryRun); err != nil {
				return err
			}
			if !wait || dryRun {
				return nil
			}
			if why := e.NotLive(target); why != "" {
				return fmt.Errorf("%w: %s", errNotLive, why)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return waitReady(ctx, connected, nginx, cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "have the API server check the change, and make none")
	if e.Settles {
		cmd.Flags().BoolVar(&wait, "wait", false, "wait until the application is ready, and show the progress")
		cmd.Flags().DurationVar(&timeout, "timeout", defaultTimeout, "how long --wait waits")
	}
	return cmd
}

// apply sends what a change makes of an object, and says what is done. Fields that other clients change meanwhile stay.
func apply(ctx context.Context, c client.Client, e edits.Edit, target edits.Target, args []string, out io.Writer, dryRun bool) error {
	nginx := target.NginxOperator
	before := nginx.DeepCopy()
	done, err := e.Change(target, args)
	if err != nil {
		return err
	}
	options, suffix := []client.PatchOption{client.FieldOwner(edits.FieldOwner)}, ""
	if dryRun {
		options, suffix = append(options, client.DryRunAll), " (dry run)"
	}
	if err := c.Patch(ctx, nginx, e.Patch(before), options...); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s: %s%s\n", nginx.Name, screen.Safe(done), suffix)
	return err
}

// waitReady waits until the present spec is ready, and prints each message of Ready on the way.
func waitReady(ctx context.Context, c client.WithWatch, nginx *v1alpha2.NginxOperator, out io.Writer) error {
	p := &progress{nginx: nginx, out: out}
	err := waitUntil(ctx, c, &v1alpha2.NginxOperatorList{}, nginx, func(now client.Object) (bool, error) {
		if current, ok := now.(*v1alpha2.NginxOperator); ok {
			if err := p.show(current); err != nil {
				return false, err
			}
		}
		return p.ready, nil
	})
	return p.end(ctx, err)
}

// progress is what a wait has shown.
type progress struct {
	nginx *v1alpha2.NginxOperator
	out   io.Writer
	said  string
	ready bool
}

// show prints the message of Ready if it is about the present spec and has changed. A paused rollout is an error.
func (p *progress) show(now *v1alpha2.NginxOperator) error {
	c := meta.FindStatusCondition(now.Status.Conditions, v1alpha2.ConditionReady)
	if c == nil || c.ObservedGeneration < p.nginx.Generation {
		return nil
	}
	if err := p.paused(now); err != nil {
		return err
	}
	message := c.Message
	if p.ready = c.Status == metav1.ConditionTrue; p.ready {
		message = "ready"
	}
	if message == p.said {
		return nil
	}
	p.said = message
	_, err := fmt.Fprintf(p.out, "%s: %s\n", p.nginx.Name, screen.Safe(message))
	return err
}

// paused returns an error if the rollout is paused, because only the user can end a pause.
func (p *progress) paused(now *v1alpha2.NginxOperator) error {
	c := meta.FindStatusCondition(now.Status.Conditions, v1alpha2.ConditionUpToDate)
	if c == nil || c.ObservedGeneration < p.nginx.Generation || c.Status != metav1.ConditionFalse || c.Reason != v1alpha2.ReasonRolloutPaused {
		return nil
	}
	return fmt.Errorf("%s is %w: %s; to continue the rollout: kubectl nginx resume %s -n %s", p.nginx.Name, errNotReady, c.Message, p.nginx.Name, p.nginx.Namespace)
}

// end returns how a wait ended; err is why it could not go on.
func (p *progress) end(ctx context.Context, err error) error {
	switch {
	case p.ready:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%w in time: see kubectl nginx status %s -n %s", errNotReady, p.nginx.Name, p.nginx.Namespace)
	}
	return err
}
