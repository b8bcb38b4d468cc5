// Command nginx-backup is what the jobs of backups run.
//
//	nginx-backup create [flags]   writes the archive of a backup, reads it back, commits it
//	nginx-backup delete [flags]   deletes the data of a backup
package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	_ "golang.org/x/crypto/x509roots/fallback" // the image has no certificate authorities

	"example.com/nginx-operator/internal/backup/agent"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/location"
	"example.com/nginx-operator/internal/backup/store"
)

// version is set at build time.
var version = "dev"

func main() {
	// What is in a backup is for its owner and its group.
	syscall.Umask(0o027)
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, nil)))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		slog.Error("nginx-backup ends", "error", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "nginx-backup",
		Short:         "Writes, reads and deletes backups of nginx applications",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
	}
	cmd.AddCommand(
		newTask("create", "Write the archive of a backup, read it back and commit it", (*agent.Agent).Create),
		newTask("delete", "Delete the data of a backup", (*agent.Agent).Delete),
	)
	return cmd
}

type task func(*agent.Agent, context.Context) (job.Result, error)

func newTask(name, short string, run task) *cobra.Command {
	var o options
	a := &agent.Agent{Now: time.Now, Nonce: strings.ToLower(rand.Text()[:8])}
	cmd := &cobra.Command{Use: name, Short: short, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		a.Dirs = agent.Dirs{
			Snapshot: filepath.Join(o.root, job.SnapshotDir), Content: filepath.Join(o.root, job.ContentDir),
			Secrets: filepath.Join(o.root, job.SecretsDir), Scratch: filepath.Join(o.root, job.ScratchDir),
		}
		return report(cmd.Context(), a, o, run)
	}}
	flags := cmd.Flags()
	flags.StringVar(&o.root, "root", "/", "folder below which everything is mounted")
	flags.StringVar(&o.destination, "destination", "", "URL of the folder that backups are kept in")
	flags.StringVar(&a.Key, "key", "", "folder of the backup, below the destination")
	flags.StringVar(&a.UID, "uid", "", "UID of the backup's object")
	flags.IntVar(&a.Attempt, "attempt", 1, "number of the attempt")
	flags.StringVar(&o.result, "result", job.TerminationLog, "file that the result is left in")
	for _, name := range []string{"destination", "key", "uid"} {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err)
		}
	}
	return cmd
}

// options are those of every task that are not the agent's.
type options struct{ destination, root, result string }

// report runs a task and leaves its result, or why there is none.
func report(ctx context.Context, a *agent.Agent, o options, run task) error {
	result, err := perform(ctx, a, o, run)
	if err != nil {
		result = agent.Failed(err)
	} else {
		slog.Info("done", "result", result)
	}
	if writeErr := result.Write(o.result); writeErr != nil {
		return fmt.Errorf("leave the result: %w (%w)", writeErr, err)
	}
	return err
}

func perform(ctx context.Context, a *agent.Agent, o options, run task) (result job.Result, err error) {
	where, err := location.Parse(o.destination)
	if err != nil {
		return job.Result{}, err
	}
	a.Store, err = store.Open(ctx, where, store.Options{
		PVCRoot: filepath.Join(o.root, job.DestinationDir), CredentialsDir: filepath.Join(o.root, job.CredentialsDir),
	})
	if err != nil {
		return job.Result{}, err
	}
	//nolint:contextcheck // what was opened is closed, whether or not the task was told to end
	defer func() {
		if err := a.Store.Close(); err != nil {
			slog.Warn("the store", "error", err)
		}
	}()
	return run(a, ctx)
}
