package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/snapshot"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/internal/process"
	"example.com/nginx-operator/test/testenv"
)

// backupVolume is the size of the content to back up, in bytes.
const backupVolume = 1 << 30

// backupKeys are the credentials of the S3 server, which runs only during the measurement.
var backupKeys = []string{"measure", "measure-secret"}

// measureBackupMemory runs the program of backup jobs on a gibibyte of incompressible content, with
// the settings of the job's pod. It backs up to a folder and to an S3 server. As always, the
// program reads the archive back.
func measureBackupMemory(ctx context.Context, s *session) ([]figure.Figure, error) {
	dir, err := os.MkdirTemp("", "backup-memory-")
	if err != nil {
		return nil, err
	}
	s.atEnd(func(context.Context) error { return os.RemoveAll(dir) })
	program, err := buildBackup(ctx, dir)
	if err != nil {
		return nil, err
	}
	s.progress("backup-memory: creating a volume of %d MiB", backupVolume>>20)
	if err := makeBackupRoot(dir); err != nil {
		return nil, err
	}
	endpoint, err := startS3(ctx, s, dir)
	if err != nil {
		return nil, err
	}
	var figures []figure.Figure
	for _, destination := range []struct{ name, url string }{
		{"a volume", "pvc://backups/nginx"},
		{"S3", "s3://bucket/nginx?region=us-east-1&use_path_style=true&endpoint=" + endpoint},
	} {
		s.progress("backup-memory: to %s", destination.name)
		run, err := runBackup(ctx, program, dir, destination.url)
		if err != nil {
			return figures, fmt.Errorf("to %s: %w", destination.name, err)
		}
		figures = append(figures,
			figure.Info("to "+destination.name+": written and read back in", run.took.Seconds(), "s"),
			figure.Info("to "+destination.name+": archive", float64(run.result.Size)/(1<<20), "MiB"),
			figure.HasGoal("to "+destination.name+": memory of the program, at most", run.resident/(1<<20), "MiB", figure.AtMost(64)))
	}
	return figures, nil
}

func buildBackup(ctx context.Context, dir string) (string, error) {
	program := filepath.Join(dir, "nginx-backup")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, "./cmd/nginx-backup")
	build.Dir, build.Env = testenv.Root(), append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build nginx-backup: %w: %s", err, output)
	}
	return program, nil
}

// makeBackupRoot creates what the job's pod mounts.
func makeBackupRoot(dir string) error {
	for _, folder := range []string{job.SnapshotDir, job.ContentDir + "/0", job.DestinationDir, job.ScratchDir, "/s3/bucket"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			return err
		}
	}
	pieces, err := snapshot.Snapshot{
		Info: archive.Info{
			Format: archive.Format, Name: "measured", UID: "measured", Namespace: "shop", TakenAt: time.Now(), Trigger: "Manual",
			OperatorVersion: "measure", Image: "nginx", ConfigRevision: "r1", Application: archive.Application{Name: "web", UID: "web"},
			Content: []archive.Volume{{Index: 0, Claim: "films", MountPath: "/srv/films"}},
		},
		Documents: []archive.File{{Path: "nginxoperator.yaml", Data: []byte("kind: NginxOperator\n")}},
		Volumes:   []snapshot.Volume{{Claim: "films", MountPath: "/srv/films"}},
	}.Pack()
	if err != nil {
		return err
	}
	for i, piece := range pieces {
		if err := os.WriteFile(filepath.Join(dir, job.SnapshotDir, fmt.Sprintf("%03d", i)), piece, 0o600); err != nil {
			return err
		}
	}
	film, err := os.Create(filepath.Join(dir, job.ContentDir, "0", "film"))
	if err != nil {
		return err
	}
	_, err = io.CopyN(film, rand.NewChaCha8([32]byte{}), backupVolume)
	return errors.Join(err, film.Close())
}

// startS3 starts an S3 server with a bucket, and waits until it responds.
func startS3(ctx context.Context, s *session, dir string) (string, error) {
	program := os.Getenv("VERSITYGW")
	if program == "" {
		return "", errors.New("VERSITYGW is not set: the S3 server that `make measure` builds")
	}
	port, err := testenv.FreePort()
	if err != nil {
		return "", err
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	server := exec.Command(program, "--port", address, "--quiet", "posix", filepath.Join(dir, "s3"))
	server.Env = []string{"ROOT_ACCESS_KEY=" + backupKeys[0], "ROOT_SECRET_KEY=" + backupKeys[1]}
	if err := server.Start(); err != nil {
		return "", fmt.Errorf("start the S3 server: %w", err)
	}
	s.atEnd(func(context.Context) error {
		err := server.Process.Kill()
		// It was killed, so it returns an error.
		_ = server.Wait()
		return err
	})
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address, nil)
		if err != nil {
			return false, err
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return false, nil //nolint:nilerr // it does not answer yet
		}
		return true, answer.Body.Close()
	})
	if err != nil {
		return "", fmt.Errorf("the S3 server does not answer: %w", err)
	}
	return "http://" + address, nil
}

// backupRun is the result of one run of the program.
type backupRun struct {
	result job.Result
	took   time.Duration
	// resident is the peak of its resident memory in bytes, including the program's text and mapped
	// files.
	resident float64
}

func runBackup(ctx context.Context, program, dir, destination string) (backupRun, error) {
	result := filepath.Join(dir, "result")
	cmd := exec.CommandContext(ctx, program, "create", "--root", dir, "--destination", destination,
		"--key", "shop/web/measured-01234567", "--uid", "measured", "--result", result)
	limit, err := job.MemoryLimit()
	if err != nil {
		return backupRun{}, err
	}
	cmd.Env = []string{"GOMEMLIMIT=" + limit, "AWS_ACCESS_KEY_ID=" + backupKeys[0], "AWS_SECRET_ACCESS_KEY=" + backupKeys[1]}
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return backupRun{}, err
	}
	peak := watchPeak(cmd.Process.Pid)
	if err := cmd.Wait(); err != nil {
		return backupRun{}, fmt.Errorf("%w: %s", err, &output)
	}
	run := backupRun{took: time.Since(start), resident: float64(<-peak)}
	if run.resident == 0 {
		return run, errors.New("the program ended before its memory was read")
	}
	text, err := os.ReadFile(result)
	if err != nil {
		return run, err
	}
	run.result, err = job.ParseResult(job.Create, string(text))
	return run, err
}

// watchPeak returns a channel that receives the peak of a process's resident memory when the
// process has ended. It reads the value while the process runs: the kernel's value for an ended
// process is at least what its parent had when it started the process
// (https://man7.org/linux/man-pages/man2/getrusage.2.html).
func watchPeak(pid int) <-chan int64 {
	peaks := make(chan int64, 1)
	go func() {
		var peak int64
		for {
			m, err := process.MemoryOf(pid)
			if err != nil {
				peaks <- peak
				return
			}
			peak = max(peak, m.Peak)
			time.Sleep(5 * time.Millisecond)
		}
	}()
	return peaks
}
