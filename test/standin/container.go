package standin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/backup/agent"
	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/location"
	"example.com/nginx-operator/internal/backup/store"
)

// work does what the program of the pod does, with its arguments and its mounts.
func (p *pod) work(ctx context.Context) outcome {
	if !p.place.use() {
		return outcome{code: 1, message: "the namespace was removed"}
	}
	defer p.place.release()
	result, err := p.perform(ctx)
	o := outcome{}
	if err != nil {
		result, o.code = agent.Failed(err), 1
	}
	if o.message, err = p.message(result); err != nil {
		return outcome{code: 1, message: err.Error()}
	}
	return o
}

// message returns what the kubelet reads from the termination log for a result.
func (p *pod) message(result job.Result) (message string, err error) {
	dir, err := os.MkdirTemp(p.place.Content, "result-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	log := filepath.Join(dir, "termination-log")
	if err := result.Write(log); err != nil {
		return "", err
	}
	text, err := os.ReadFile(log)
	return string(text), err
}

func (p *pod) perform(ctx context.Context) (result job.Result, err error) {
	task, args := p.arguments()
	where, err := location.Parse(args.Get("destination"))
	if err != nil {
		return job.Result{}, err
	}
	opened, err := store.Open(ctx, where, store.Options{PVCRoot: p.place.Claim})
	if err != nil {
		return job.Result{}, err
	}
	//nolint:contextcheck // what was opened is closed, whether or not the pod was told to end
	defer func() { err = errors.Join(err, opened.Close()) }()
	a := &agent.Agent{
		Store: opened, Key: args.Get("key"), UID: args.Get("uid"), SHA256: args.Get("sha256"),
		Now: time.Now, Nonce: strings.ToLower(rand.Text()[:8]),
	}
	dir, err := os.MkdirTemp(p.place.Content, "pod-")
	if err != nil {
		return job.Result{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if a.Dirs, err = p.mount(ctx, dir); err != nil {
		return job.Result{}, err
	}
	return p.carryOut(ctx, a, task, args)
}

// carryOut does what the program's main function does.
func (p *pod) carryOut(ctx context.Context, a *agent.Agent, task job.Task, args url.Values) (job.Result, error) {
	switch task {
	case job.Create:
		attempt, err := strconv.Atoi(args.Get("attempt"))
		if err != nil {
			return job.Result{}, err
		}
		a.Attempt = attempt
		return a.Create(ctx)
	case job.Delete:
		return a.Delete(ctx)
	case job.VerifyExisting:
		return a.Adopt(ctx)
	case job.List:
		return a.List(ctx)
	case job.Read:
		return a.Read(ctx, agent.ReadOptions{Listen: args.Get("listen"), Token: p.variable(job.TokenVariable), Timeout: time.Hour})
	case job.Extract:
		return a.Extract(ctx, agent.ExtractOptions{Volumes: indexes(args), OnConflict: archive.Policy(args.Get("on-conflict"))})
	case job.Match:
		return a.CompareVolumes(ctx, indexes(args))
	}
	return job.Result{}, fmt.Errorf("the stand-in does not know the task %s", task)
}

// indexes returns the indexes of the volumes that are passed to the program. A value that is not a
// number becomes -1, which is no volume.
func indexes(args url.Values) []int {
	var all []int
	for _, volume := range args["volume"] {
		index, err := strconv.Atoi(volume)
		if err != nil {
			index = -1
		}
		all = append(all, index)
	}
	return all
}

// arguments returns the task of the program and its flags. A flag can be repeated.
func (p *pod) arguments() (job.Task, url.Values) {
	args := p.job.Spec.Template.Spec.Containers[0].Args
	flags := url.Values{}
	for _, arg := range args[1:] {
		name, value, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		flags.Add(name, strings.ReplaceAll(value, "$(POD_IP)", p.ip))
	}
	return job.Task(args[0]), flags
}

// variable returns an environment variable of the container.
func (p *pod) variable(name string) string {
	for _, v := range p.job.Spec.Template.Spec.Containers[0].Env {
		if v.Name == name {
			return v.Value
		}
	}
	return ""
}

// mount creates the directories of the pod's volumes.
func (p *pod) mount(ctx context.Context, dir string) (agent.Dirs, error) {
	dirs := agent.Dirs{Snapshot: dir + job.SnapshotDir, Content: dir + job.ContentDir, Secrets: dir + job.SecretsDir, Scratch: dir + job.ScratchDir}
	for _, folder := range []string{dirs.Snapshot, dirs.Content, dirs.Secrets, dirs.Scratch} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			return dirs, err
		}
	}
	for _, v := range p.job.Spec.Template.Spec.Volumes {
		index, isContent := strings.CutPrefix(v.Name, "content-")
		switch {
		case v.Projected != nil:
			for _, source := range v.Projected.Sources {
				if err := p.project(ctx, source.ConfigMap, dirs.Snapshot); err != nil {
					return dirs, err
				}
			}
		case isContent:
			claim := filepath.Join(p.place.Content, v.PersistentVolumeClaim.ClaimName)
			if err := os.Symlink(claim, filepath.Join(dirs.Content, index)); err != nil {
				return dirs, err
			}
		}
	}
	return dirs, nil
}

// project writes the items of a ConfigMap that a volume projects into a directory.
func (p *pod) project(ctx context.Context, source *corev1.ConfigMapProjection, dir string) error {
	cm := &corev1.ConfigMap{}
	if err := p.kube.Get(ctx, client.ObjectKey{Namespace: p.job.Namespace, Name: source.Name}, cm); err != nil {
		return err
	}
	for _, item := range source.Items {
		if err := os.WriteFile(filepath.Join(dir, item.Path), cm.BinaryData[item.Key], 0o600); err != nil {
			return err
		}
	}
	return nil
}
