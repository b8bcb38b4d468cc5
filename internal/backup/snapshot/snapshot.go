// Package snapshot records the state of an application when a backup of it is decided: the
// declarations, the ConfigMaps that they refer to, the served configuration, and the history. A job
// may run much later and still reads the recorded state. The contents of volumes are not part of a
// snapshot: the job reads them itself.
//
// The package is pure, and depends on the API of NginxOperators alone.
package snapshot

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/archive"
)

// Source holds the objects of an application, as read from the API server.
type Source struct {
	Nginx *v1alpha2.NginxOperator
	// ConfigMaps holds the existing ConfigMaps that the application refers to.
	ConfigMaps []corev1.ConfigMap
	// Rendered holds the ConfigMaps that the operator created for the application.
	Rendered []corev1.ConfigMap
	// History holds the application's ControllerRevisions.
	History []appsv1.ControllerRevision
}

// Snapshot is what a job needs, apart from the contents of volumes and Secrets.
type Snapshot struct {
	// Info is complete except for the fingerprints.
	Info archive.Info `json:"info"`
	// Documents holds the documents of the archive, in its order.
	Documents []archive.File `json:"-"`
	// Volumes are mounted into the pod of the job in this order, and Secrets by their names.
	Volumes []Volume `json:"volumes,omitempty"`
	Secrets []Secret `json:"secrets,omitempty"`
	// Recipients are the keys that the Secrets are encrypted for. If there are none, the archive
	// holds no Secrets.
	Recipients []string `json:"recipients,omitempty"`
	// Fingerprint is what a policy compares.
	State Fingerprint `json:"state"`
	// ConfigMaps holds the names of the ConfigMaps in the documents. Revisions is the number of
	// revisions in the history.
	ConfigMaps []string `json:"configMaps,omitempty"`
	Revisions  int      `json:"revisions,omitempty"`
	// Tolerations are those of the application's pods, since their volumes may be on tainted nodes.
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
}

// Take takes a snapshot of an application for a backup.
func Take(backup *v1alpha1.NginxBackup, source Source, operatorVersion string, now time.Time) (Snapshot, error) {
	spec := &source.Nginx.Spec
	state, err := FingerprintOf(source.Nginx)
	if err != nil {
		return Snapshot{}, err
	}
	s := Snapshot{
		State:   state,
		Info:    info(backup, source, state, operatorVersion, now),
		Secrets: Secrets(spec),
	}
	s.Volumes, s.Info.LeftOut = included(backup, spec)
	s.Info.ExcludeClaims = slices.Clone(backup.Spec.ExcludeClaims)
	if include := backup.Spec.IncludeSecrets; include != nil {
		s.Recipients = slices.Clone(include.AgeRecipients)
		s.Info.Recipients = s.Recipients
	}
	for i, v := range s.Volumes {
		s.Info.Content = append(s.Info.Content, archive.Volume{Index: i, Claim: v.Claim, MountPath: v.MountPath})
	}
	for _, secret := range s.Secrets {
		s.Info.Secrets = append(s.Info.Secrets, archive.Secret{Name: secret.Name, UsedFor: secret.UsedFor})
	}
	for _, cm := range source.ConfigMaps {
		s.ConfigMaps = append(s.ConfigMaps, cm.Name)
	}
	s.Revisions = len(source.History)
	if spec.PodTemplate != nil {
		s.Tolerations = spec.PodTemplate.Tolerations
	}
	s.Documents, err = documents(source)
	return s, err
}

func info(backup *v1alpha1.NginxBackup, source Source, state Fingerprint, operatorVersion string, now time.Time) archive.Info {
	nginx := source.Nginx
	requested, served := configRevisions(nginx)
	return archive.Info{
		Format:    archive.Format,
		Name:      backup.Name,
		UID:       string(backup.UID),
		Namespace: backup.Namespace,
		Application: archive.Application{
			Name: nginx.Name, UID: string(nginx.UID), Generation: nginx.Generation, State: state.Change, Replicas: &state.Replicas,
		},
		TakenAt:         now.UTC().Truncate(time.Second),
		Trigger:         string(backup.Spec.Trigger),
		Reason:          backup.Annotations[v1alpha1.AnnotationReason],
		Policy:          ptr.Deref(backup.Spec.PolicyName, ""),
		ScheduledAt:     scheduledAt(backup),
		OperatorVersion: operatorVersion,
		Image:           nginx.Status.Image,
		ImageDigest:     imageDigest(source),
		NginxVersion:    nginx.Status.NginxVersion,
		ConfigRevision:  requested,
		ServedRevision:  served,
	}
}

// scheduledAt returns the time of the schedule that a backup was created for, or nil if there is
// none.
func scheduledAt(backup *v1alpha1.NginxBackup) *time.Time {
	at, err := time.Parse(time.RFC3339, backup.Annotations[v1alpha1.AnnotationScheduledAt])
	if err != nil {
		return nil
	}
	return &at
}

// imageDigest returns the image digest that the pods of the last good revision reported.
func imageDigest(source Source) string {
	for _, r := range source.History {
		if r.Revision == source.Nginx.Status.Revision {
			return r.Annotations[v1alpha2.AnnotationImageDigest]
		}
	}
	return ""
}

// documents returns the documents in the order of the archive.
func documents(source Source) ([]archive.File, error) {
	application, err := plainApplication(source.Nginx)
	if err != nil {
		return nil, err
	}
	files := []archive.File{{Path: archive.ApplicationPath, Data: application}}
	referenced, err := configMaps(source.ConfigMaps)
	if err != nil {
		return nil, err
	}
	files = append(files, referenced...)
	requested, served := configRevisions(source.Nginx)
	files = append(files, configuration("config/asked/", requested, source.Rendered)...)
	files = append(files, configuration("config/served/", served, source.Rendered)...)
	past, err := history(source.History)
	return append(files, past...), err
}

func configMaps(objects []corev1.ConfigMap) ([]archive.File, error) {
	var files []archive.File
	for i := range objects {
		text, err := yaml.Marshal(plainConfigMap(&objects[i]))
		if err != nil {
			return nil, fmt.Errorf("write ConfigMap %s: %w", objects[i].Name, err)
		}
		files = append(files, archive.File{Path: archive.ConfigMapsFolder + objects[i].Name + ".yaml", Data: text})
	}
	return slices.SortedFunc(slices.Values(files), byPath), nil
}

func byPath(a, b archive.File) int { return strings.Compare(a.Path, b.Path) }

// configuration returns the files of a configuration revision, if one of the ConfigMaps holds it.
func configuration(folder, revision string, rendered []corev1.ConfigMap) []archive.File {
	if revision == "" {
		return nil
	}
	for _, cm := range rendered {
		if cm.Annotations[v1alpha2.AnnotationConfigRevision] != revision {
			continue
		}
		var files []archive.File
		for _, name := range slices.Sorted(maps.Keys(cm.Data)) {
			files = append(files, archive.File{Path: folder + name, Data: []byte(cm.Data[name])})
		}
		return files
	}
	return nil
}

// history returns the revisions, one file for each revision number, sorted by path.
func history(revisions []appsv1.ControllerRevision) ([]archive.File, error) {
	files := map[string]archive.File{}
	for i := range revisions {
		r := revisions[i].DeepCopy()
		r.TypeMeta = metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ControllerRevision"}
		r.ObjectMeta = DeclaredMeta(&r.ObjectMeta)
		text, err := yaml.Marshal(r)
		if err != nil {
			return nil, fmt.Errorf("write ControllerRevision %s: %w", r.Name, err)
		}
		path := "revisions/" + strconv.FormatInt(r.Revision, 10) + ".yaml"
		files[path] = archive.File{Path: path, Data: text}
	}
	return slices.SortedFunc(maps.Values(files), byPath), nil
}

// plainApplication returns a manifest as a user would write it, which can be applied by hand.
func plainApplication(nginx *v1alpha2.NginxOperator) ([]byte, error) {
	plain := &v1alpha2.NginxOperator{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha2.GroupVersion.String(), Kind: v1alpha2.Kind},
		ObjectMeta: DeclaredMeta(&nginx.ObjectMeta),
		Spec:       nginx.Spec,
	}
	text, err := plainYAML(plain)
	if err != nil {
		return nil, fmt.Errorf("write NginxOperator %s: %w", nginx.Name, err)
	}
	return text, nil
}

// plainYAML omits the status, since its zero values are not declared.
func plainYAML(object any) ([]byte, error) {
	text, err := yaml.Marshal(object)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := yaml.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	delete(fields, "status")
	return yaml.Marshal(fields)
}

func plainConfigMap(cm *corev1.ConfigMap) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: DeclaredMeta(&cm.ObjectMeta),
		Data:       cm.Data,
		BinaryData: cm.BinaryData,
		Immutable:  cm.Immutable,
	}
}

// lastApplied holds a copy of the whole object for kubectl, possibly an outdated one.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// DeclaredMeta returns the declared part of an object's metadata, without what the API server sets
// and what binds it to other objects. The annotations of an open gate and of a promotion are left
// out, too: if they were restored, they would apply to the same rollout again.
func DeclaredMeta(meta *metav1.ObjectMeta) metav1.ObjectMeta {
	annotations := maps.Clone(meta.Annotations)
	maps.DeleteFunc(annotations, func(key, _ string) bool {
		return key == lastApplied || key == v1alpha2.AnnotationPromote || strings.HasPrefix(key, v1alpha2.AnnotationGatePrefix)
	})
	return metav1.ObjectMeta{Namespace: meta.Namespace, Name: meta.Name, Labels: meta.Labels, Annotations: annotations}
}
