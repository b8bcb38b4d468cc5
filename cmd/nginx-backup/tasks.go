package main

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/nginx-operator/internal/backup/agent"
	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/job"
)

type taskFunc func(*agent.Agent, context.Context) (job.Result, error)

// newTask returns the command of a task, with the flags that all tasks have.
func newTask(name job.Task, short string, a *agent.Agent, run taskFunc) *cobra.Command {
	var o options
	a.Now, a.Nonce = time.Now, strings.ToLower(rand.Text()[:8])
	cmd := &cobra.Command{Use: string(name), Short: short, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		a.Dirs = agent.Dirs{
			Snapshot: filepath.Join(o.root, job.SnapshotDir), Content: filepath.Join(o.root, job.ContentDir),
			Secrets: filepath.Join(o.root, job.SecretsDir), Scratch: filepath.Join(o.root, job.ScratchDir),
		}
		return report(cmd.Context(), a, o, run)
	}}
	flags := cmd.Flags()
	flags.StringVar(&o.root, "root", "/", "folder that contains all mounts")
	flags.StringVar(&o.destination, "destination", "", "URL of the folder that contains the backups")
	flags.StringVar(&a.Key, "key", "", "folder of the backup below the destination; for the listing, that of the namespace")
	flags.StringVar(&o.result, "result", job.TerminationLog, "file for the result")
	require(cmd, "destination", "key")
	return cmd
}

func require(cmd *cobra.Command, flags ...string) {
	for _, name := range flags {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err)
		}
	}
}

func newCreate() *cobra.Command {
	a := &agent.Agent{}
	cmd := newTask(job.Create, "Write the archive of a backup, read it back and commit it", a, (*agent.Agent).Create)
	addBackupFlags(cmd, a)
	return cmd
}

func newDelete() *cobra.Command {
	a := &agent.Agent{}
	cmd := newTask(job.Delete, "Delete the data of a backup", a, (*agent.Agent).Delete)
	addBackupFlags(cmd, a)
	return cmd
}

func newAdopt() *cobra.Command {
	a := &agent.Agent{}
	cmd := newTask(job.VerifyExisting, "Verify an existing backup that another NginxBackup wrote", a, (*agent.Agent).Adopt)
	addBackupFlags(cmd, a)
	return cmd
}

func newList() *cobra.Command {
	return newTask(job.List, "List backups without an NginxBackup", &agent.Agent{}, (*agent.Agent).List)
}

// addBackupFlags adds the flags of tasks for an NginxBackup.
func addBackupFlags(cmd *cobra.Command, a *agent.Agent) {
	cmd.Flags().StringVar(&a.UID, "uid", "", "UID of the NginxBackup, or its first characters")
	cmd.Flags().IntVar(&a.Attempt, "attempt", 1, "number of the attempt")
	require(cmd, "uid")
}

func newServe() *cobra.Command {
	a, r := &agent.Agent{}, agent.ReadOptions{}
	cmd := newTask(job.Read, "Verify a backup and serve its declarations to the operator until terminated", a, func(a *agent.Agent, ctx context.Context) (job.Result, error) {
		r.Token = os.Getenv(job.TokenVariable)
		return a.Read(ctx, r)
	})
	addRestoreFlags(cmd, a)
	cmd.Flags().StringVar(&r.Listen, "listen", "", "address to listen on for the operator")
	cmd.Flags().DurationVar(&r.Timeout, "patience", time.Hour, "how long to wait for the operator")
	require(cmd, "listen")
	return cmd
}

func newCompareVolumes() *cobra.Command {
	a, indexes := &agent.Agent{}, []int{}
	cmd := newTask(job.Match, "Compare volumes with a backup and change nothing", a, func(a *agent.Agent, ctx context.Context) (job.Result, error) {
		return a.CompareVolumes(ctx, indexes)
	})
	addRestoreFlags(cmd, a)
	addVolumeFlag(cmd, &indexes)
	return cmd
}

func newExtract() *cobra.Command {
	a, e := &agent.Agent{}, agent.ExtractOptions{}
	cmd := newTask(job.Extract, "Restore the files of volumes", a, func(a *agent.Agent, ctx context.Context) (job.Result, error) {
		return a.Extract(ctx, e)
	})
	addRestoreFlags(cmd, a)
	addVolumeFlag(cmd, &e.Volumes)
	cmd.Flags().StringVar((*string)(&e.OnConflict), "on-conflict", string(archive.Refuse), "what to do if existing files differ: Refuse or Overwrite")
	return cmd
}

func addVolumeFlag(cmd *cobra.Command, indexes *[]int) {
	cmd.Flags().IntSliceVar(indexes, "volume", nil, "index of a volume in the archive (repeatable)")
	require(cmd, "volume")
}

// addRestoreFlags adds the flags of tasks for an NginxRestore.
func addRestoreFlags(cmd *cobra.Command, a *agent.Agent) {
	cmd.Flags().StringVar(&a.SHA256, "sha256", "", "expected digest of the archive, in hexadecimal; empty: any")
}
