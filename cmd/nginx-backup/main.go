// Command nginx-backup is the program of the backup jobs.
//
//	nginx-backup create [flags]    writes the archive of a backup, reads it back, and commits it
//	nginx-backup delete [flags]    deletes the data of a backup
//	nginx-backup read [flags]      verifies a backup, and serves its declarations to the operator
//	nginx-backup match [flags]     compares volumes with a backup
//	nginx-backup extract [flags]   restores the files of volumes
//	nginx-backup adopt [flags]     verifies a backup that was created under another object
//	nginx-backup list [flags]      lists the backups that have no object
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
	_ "golang.org/x/crypto/x509roots/fallback" // the image contains no certificate authorities

	"example.com/nginx-operator/internal/backup/agent"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/location"
	"example.com/nginx-operator/internal/backup/store"
)

// version is set at build time.
var version = "dev"

func main() {
	// Only the owner and the group may read a backup.
	syscall.Umask(0o027)
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, nil)))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		slog.Error("nginx-backup failed", "error", err)
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
	cmd.AddCommand(newCreate(), newDelete(), newServe(), newCompareVolumes(), newExtract(), newAdopt(), newList())
	return cmd
}

// options are the options of every task that are not the agent's.
type options struct{ destination, root, result string }

// report runs a task and writes its result, or its error.
func report(ctx context.Context, a *agent.Agent, o options, run taskFunc) error {
	result, err := perform(ctx, a, o, run)
	if err != nil {
		result = agent.Failed(err)
	} else {
		slog.Info("done", "result", result)
	}
	if writeErr := result.Write(o.result); writeErr != nil {
		return fmt.Errorf("write the result: %w (%w)", writeErr, err)
	}
	return err
}

func perform(ctx context.Context, a *agent.Agent, o options, run taskFunc) (result job.Result, err error) {
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
			slog.Warn("cannot close the store", "error", err)
		}
	}()
	return run(a, ctx)
}
