// Package plugin has the commands of kubectl nginx. They read objects with the user's own rights, and render them with the
// pure functions of package screen.
package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"example.com/nginx-operator/internal/plugin/install"
	"example.com/nginx-operator/internal/plugin/pods"
	"example.com/nginx-operator/internal/plugin/screen"
)

// Exit codes. Scripts rely on them.
const (
	exitError = 1
	// exitNotReady: the application is not ready, or a change does not go live.
	exitNotReady = 2
	// exitRefused: the API server or nginx refuses the request.
	exitRefused = 3
)

var (
	errNotReady = errors.New("not ready")
	// errNotLive: the application is ready, but without the change that --wait waits for.
	errNotLive = errors.New("the change does not go live")
	// errQuiet is an error that the output of the command shows.
	errQuiet = errors.New("see above")
	errShown = fmt.Errorf("%w: %w", errNotReady, errQuiet)
)

// NewCommand returns the command kubectl nginx.
func NewCommand(streams genericiooptions.IOStreams, version string) *cobra.Command {
	cmd := &cobra.Command{
		Use:           "kubectl-nginx",
		Short:         "Show and change nginx applications",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl nginx"},
	}
	cmd.SetIn(streams.In)
	cmd.SetOut(streams.Out)
	cmd.SetErr(streams.ErrOut)
	flags := genericclioptions.NewConfigFlags(true)
	flags.AddFlags(cmd.PersistentFlags())
	c := &cluster{flags: flags}
	addGroup(cmd, "Inspect:", newList(c), newStatus(c), newExplain(c), newTree(c), newTop(c), newLogs(c), newCerts(c), newConsole(c), newReport(c, version))
	addGroup(cmd, "Revisions and configurations:", newHistory(c), newDiff(c), newConfig(c))
	addGroup(cmd, "Backups:", newBackups(c), newBackup(c), newRestore(c))
	addGroup(cmd, "Manifests:", newImport(c), newLint())
	addGroup(cmd, "The operator:", newInstall(c, version), newCheck(c, version), newUninstall(c))
	addEdits(cmd, c)
	if err := addCompletions(cmd, c); err != nil {
		// The flag --namespace is always there.
		panic(err)
	}
	return cmd
}

// addGroup adds commands under a title of their own in the help.
func addGroup(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, command := range commands {
		command.GroupID = title
		root.AddCommand(command)
	}
}

// Run executes a command, and returns the exit code of the process.
func Run(ctx context.Context, cmd *cobra.Command, errOut io.Writer) int {
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		// The user interrupts the command, and knows why it ends.
		return exitError
	}
	if !errors.Is(err, errQuiet) && !errors.Is(err, errRejected) {
		_, _ = fmt.Fprintln(errOut, "error: "+screen.Safe(err.Error())) // There is nowhere else to say that it fails.
	}
	refused := &pods.RefusedError{}
	switch {
	case errors.Is(err, errNotReady), errors.Is(err, errNotLive), errors.Is(err, install.ErrNotReady):
		return exitNotReady
	case errors.Is(err, errRejected), errors.As(err, &refused):
		return exitRefused
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		return exitRefused
	}
	return exitError
}
