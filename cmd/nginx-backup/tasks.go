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

type task func(*agent.Agent, context.Context) (job.Result, error)

// newTask is a command for a task, with the flags of them all.
func newTask(name job.Task, short string, a *agent.Agent, run task) *cobra.Command {
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
	flags.StringVar(&o.root, "root", "/", "folder below which everything is mounted")
	flags.StringVar(&o.destination, "destination", "", "URL of the folder that backups are kept in")
	flags.StringVar(&a.Key, "key", "", "folder of the backup or, to list, of the namespace, below the destination")
	flags.StringVar(&o.result, "result", job.TerminationLog, "file that the result is left in")
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
	ofBackup(cmd, a)
	return cmd
}

func newDelete() *cobra.Command {
	a := &agent.Agent{}
	cmd := newTask(job.Delete, "Delete the data of a backup", a, (*agent.Agent).Delete)
	ofBackup(cmd, a)
	return cmd
}

func newAdopt() *cobra.Command {
	a := &agent.Agent{}
	cmd := newTask(job.Adopt, "Verify a backup that was made under another object", a, (*agent.Agent).Adopt)
	ofBackup(cmd, a)
	return cmd
}

func newList() *cobra.Command {
	return newTask(job.List, "Look for backups that have no object", &agent.Agent{}, (*agent.Agent).List)
}

// ofBackup are the flags of tasks that work for an NginxBackup.
func ofBackup(cmd *cobra.Command, a *agent.Agent) {
	cmd.Flags().StringVar(&a.UID, "uid", "", "UID of the backup's object, or how it begins")
	cmd.Flags().IntVar(&a.Attempt, "attempt", 1, "number of the attempt")
	require(cmd, "uid")
}

func newRead() *cobra.Command {
	a, r := &agent.Agent{}, agent.Reading{}
	cmd := newTask(job.Read, "Verify a backup, and tell the operator what it declares, until told to end", a, func(a *agent.Agent, ctx context.Context) (job.Result, error) {
		r.Token = os.Getenv(job.TokenVariable)
		return a.Read(ctx, r)
	})
	ofRestore(cmd, a)
	cmd.Flags().StringVar(&r.Listen, "listen", "", "address to answer the operator at")
	cmd.Flags().DurationVar(&r.Patience, "patience", time.Hour, "how long to wait for the operator")
	require(cmd, "listen")
	return cmd
}

func newMatch() *cobra.Command {
	a, indexes := &agent.Agent{}, []int{}
	cmd := newTask(job.Match, "Compare volumes with a backup, and change nothing", a, func(a *agent.Agent, ctx context.Context) (job.Result, error) {
		return a.Match(ctx, indexes)
	})
	ofRestore(cmd, a)
	withVolumes(cmd, &indexes)
	return cmd
}

func newExtract() *cobra.Command {
	a, e := &agent.Agent{}, agent.Extraction{}
	cmd := newTask(job.Extract, "Bring the files of volumes back", a, func(a *agent.Agent, ctx context.Context) (job.Result, error) {
		return a.Extract(ctx, e)
	})
	ofRestore(cmd, a)
	withVolumes(cmd, &e.Volumes)
	cmd.Flags().StringVar((*string)(&e.OnConflict), "on-conflict", string(archive.Refuse), "what happens to files that are others: Refuse or Overwrite")
	return cmd
}

func withVolumes(cmd *cobra.Command, indexes *[]int) {
	cmd.Flags().IntSliceVar(indexes, "volume", nil, "index of a volume in the archive; more than one is possible")
	require(cmd, "volume")
}

// ofRestore are the flags of tasks that work for an NginxRestore.
func ofRestore(cmd *cobra.Command, a *agent.Agent) {
	cmd.Flags().StringVar(&a.SHA256, "sha256", "", "digest that the archive has to have, in hexadecimal; empty: any")
}
