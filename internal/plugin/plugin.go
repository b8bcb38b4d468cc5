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

	"example.com/nginx-operator/internal/plugin/pods"
	"example.com/nginx-operator/internal/plugin/screen"
)

// Exit codes. Scripts rely on them.
const (
	exitError = 1
	// exitNotReady: the application is not ready.
	exitNotReady = 2
	// exitRefused: the API server or nginx refuses the request.
	exitRefused = 3
)

var (
	errNotReady = errors.New("not ready")
	// errShown is an error that the output of the command shows.
	errShown = fmt.Errorf("%w: see above", errNotReady)
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
	cmd.AddCommand(newList(c), newStatus(c), newTree(c), newHistory(c), newConfig(c), newExplain(c), newTop(c), newLogs(c), newCerts(c), newDiff(c), newBackups(c), newBackup(c), newRestore(c), newReport(c, version), newConsole(c), newImport(c), newLint())
	addEdits(cmd, c)
	return cmd
}

// Run executes a command, and returns the exit code of the process.
func Run(ctx context.Context, cmd *cobra.Command, errOut io.Writer) int {
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if !errors.Is(err, errShown) && !errors.Is(err, errRejected) {
		_, _ = fmt.Fprintln(errOut, "error: "+screen.Safe(err.Error())) // There is nowhere else to say that it fails.
	}
	refused := &pods.RefusedError{}
	switch {
	case errors.Is(err, errNotReady):
		return exitNotReady
	case errors.Is(err, errRejected), errors.As(err, &refused):
		return exitRefused
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		return exitRefused
	}
	return exitError
}
