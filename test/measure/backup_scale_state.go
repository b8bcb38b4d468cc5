package main

import (
	"context"
	"fmt"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/plan"
	"example.com/nginx-operator/internal/backup/snapshot"
)

// scaleState is the state at the end.
type scaleState struct {
	// held is the number of applications whose last backup contains their current state; missed are
	// the others.
	held   int
	missed []string
	// objects is the number of leftover objects of jobs, which should have been deleted.
	objects int
}

// left describes what is not done yet; empty: nothing.
func (b *scaleBench) left(ctx context.Context) (string, error) {
	applications, err := b.applications(ctx)
	if err != nil {
		return "", err
	}
	backups, err := b.backups(ctx)
	if err != nil {
		return "", err
	}
	last := lastBackups(backups)
	behind := 0
	for i := range applications {
		state, err := snapshot.FingerprintOf(&applications[i])
		if err != nil {
			return "", err
		}
		if newest := last[applications[i].Name]; newest == nil || !plan.Good(newest) || plan.BackedUpState(newest) != state {
			behind++
		}
	}
	objects, err := b.objects(ctx)
	if err != nil || behind == 0 && objects == 0 {
		return "", err
	}
	return fmt.Sprintf("%d applications are not backed up in their current state; jobs have left %d objects", behind, objects), nil
}

// lastBackups returns the newest backup of each target, by the target's name.
func lastBackups(backups []v1alpha1.NginxBackup) map[string]*v1alpha1.NginxBackup {
	number := func(b *v1alpha1.NginxBackup) int {
		// A policy numbers its backups.
		n, err := strconv.Atoi(b.Annotations[v1alpha1.AnnotationSequence])
		if err != nil {
			return 0
		}
		return n
	}
	last := map[string]*v1alpha1.NginxBackup{}
	for i := range backups {
		target := backups[i].Spec.Target.Name
		if last[target] == nil || number(last[target]) < number(&backups[i]) {
			last[target] = &backups[i]
		}
	}
	return last
}

// objects counts the objects of jobs.
func (b *scaleBench) objects(ctx context.Context) (int, error) {
	n := 0
	for _, list := range []client.ObjectList{&batchv1.JobList{}, &corev1.ConfigMapList{}, &corev1.PodList{}} {
		if err := b.plane.Client.List(ctx, list, client.InNamespace(scaleNamespace), client.HasLabels{v1alpha1.LabelBackup}); err != nil {
			return 0, err
		}
		n += meta.LenList(list)
	}
	return n, nil
}

// observe reads the archive of every application's last backup.
func (b *scaleBench) observe(ctx context.Context) (state scaleState, err error) {
	applications, err := b.applications(ctx)
	if err != nil {
		return state, err
	}
	backups, err := b.backups(ctx)
	if err != nil {
		return state, err
	}
	last := lastBackups(backups)
	for i := range applications {
		nginx := &applications[i]
		if err := b.holds(ctx, last[nginx.Name], nginx); err != nil {
			state.missed = append(state.missed, fmt.Sprintf("%s: %v", nginx.Name, err))
			continue
		}
		state.held++
	}
	state.objects, err = b.objects(ctx)
	return state, err
}

// holds returns an error if the archive of a backup does not contain an application's current
// state.
func (b *scaleBench) holds(ctx context.Context, backup *v1alpha1.NginxBackup, nginx *v1alpha2.NginxOperator) error {
	if backup == nil {
		return fmt.Errorf("it has no backup")
	}
	text, err := b.place.Document(ctx, scaleFolder, backup, "nginxoperator.yaml")
	if err != nil {
		return err
	}
	held := &v1alpha2.NginxOperator{}
	if err := yaml.UnmarshalStrict(text, held); err != nil {
		return err
	}
	if !apiequality.Semantic.DeepEqual(held.Spec, nginx.Spec) {
		return fmt.Errorf("backup %s does not contain the declared state", backup.Name)
	}
	return nil
}
