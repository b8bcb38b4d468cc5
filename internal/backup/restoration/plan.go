package restoration

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
)

// Request is what a restore requests of a backup.
type Request struct {
	// Restore is the UID of the NginxRestore.
	Restore types.UID
	// Target is the name of the NginxOperator to restore.
	Target string
	Items  []v1alpha1.RestoreItem
	// Claims maps the names of claims in the backup to the claims that replace them.
	Claims map[string]string
}

// RequestOf returns the request of a restore for a backup.
func RequestOf(restore *v1alpha1.NginxRestore, b Backup) Request {
	w := Request{Restore: restore.UID, Target: b.Info.Application.Name, Items: restore.Spec.Items, Claims: map[string]string{}}
	if restore.Spec.Target != nil {
		w.Target = restore.Spec.Target.Name
	}
	for _, c := range restore.Spec.Claims {
		w.Claims[c.From] = c.To
	}
	return w
}

func (w *Request) includes(item v1alpha1.RestoreItem) bool { return slices.Contains(w.Items, item) }

func (w *Request) claim(name string) string {
	if other, replaced := w.Claims[name]; replaced {
		return other
	}
	return name
}

// Live holds the existing objects that a restore may change.
type Live struct {
	Nginx      *v1alpha2.NginxOperator
	ConfigMaps map[string]*corev1.ConfigMap
}

// Deleting names an object that is being deleted, or is empty if there is none. If it were restored
// now, it would be deleted again.
func (l Live) Deleting() string {
	if l.Nginx != nil && l.Nginx.DeletionTimestamp != nil {
		return v1alpha2.Kind + " " + l.Nginx.Name
	}
	for _, name := range slices.Sorted(maps.Keys(l.ConfigMaps)) {
		if l.ConfigMaps[name].DeletionTimestamp != nil {
			return "ConfigMap " + name
		}
	}
	return ""
}

// Plan is what a restore changes. Files come first, then ConfigMaps, and the NginxOperator last, so
// that it never refers to something that is not restored yet.
type Plan struct {
	Volumes []Volume
	// Tolerations are those of the application's pods, whose volumes may be on tainted nodes.
	Tolerations []corev1.Toleration
	ConfigMaps  []*corev1.ConfigMap
	Nginx       *v1alpha2.NginxOperator
	// Changes describes the changes to the objects above.
	Changes []v1alpha1.RestoreChange
	// Conflicts names the changes that replace something.
	Conflicts []string
	// Blocked names the volumes with directories in the place of files. A restore never replaces
	// directories.
	Blocked []string
	// NotInBackup are the claims that the application mounts and whose files the backup has left out.
	// Forgotten are those of which the backup does not even say so.
	NotInBackup, Forgotten []string
	// Begun reports whether this restore has already restored some of the objects.
	Begun bool
}

// Volume is a volume whose files are restored.
type Volume struct {
	// Index is the volume's index in the archive.
	Index int
	// Claim is the claim that the files are written to.
	Claim string
}

// ConfigMaps returns the names of the ConfigMaps that Build needs in Live.
func ConfigMaps(w Request, b Backup) []string {
	if !w.includes(v1alpha1.RestoreConfiguration) {
		return nil
	}
	var names []string
	for _, cm := range b.ConfigMaps {
		names = append(names, cm.Name)
		if w.Target != b.Nginx.Name {
			names = append(names, renamed(w.Target, cm.Name))
		}
	}
	return names
}

// Build returns the plan of a restore.
func Build(w Request, b Backup, live Live) (Plan, error) {
	m := &builder{Request: w, backup: b, live: live, references: map[string]string{}}
	for from := range w.Claims {
		if !slices.ContainsFunc(claimsOf(&b.Nginx.Spec), func(name *string) bool { return *name == from }) {
			return Plan{}, fmt.Errorf("claims: the application of the backup has no PersistentVolumeClaim %s", from)
		}
	}
	if err := m.volumes(); err != nil {
		return Plan{}, err
	}
	if err := m.configMaps(); err != nil {
		return Plan{}, err
	}
	err := m.nginx()
	return m.plan, err
}

// builder builds a plan.
type builder struct {
	Request
	backup Backup
	live   Live
	plan   Plan
	// references maps the names of ConfigMaps in the backup to the names under which they are
	// restored, if these differ.
	references map[string]string
}

// volumes plans the restore of volumes, each to a claim of its own: in a shared claim, the files of
// one would overwrite those of the other.
func (m *builder) volumes() error {
	if !m.includes(v1alpha1.RestoreContent) {
		return nil
	}
	if t := m.backup.Nginx.Spec.PodTemplate; t != nil {
		m.plan.Tolerations = t.Tolerations
	}
	m.plan.NotInBackup, m.plan.Forgotten = m.backup.missingClaims()
	taken := map[string]bool{}
	for _, v := range m.backup.Info.Content {
		claim, replaced := m.Claims[v.Claim]
		switch {
		case !replaced && m.Target != m.backup.Nginx.Name:
			return fmt.Errorf("claims: choose the PersistentVolumeClaim for the files of %[1]s, which NginxOperator %[2]s uses ({from: %[1]s, to: …}), or leave Content out of items",
				v.Claim, m.backup.Nginx.Name)
		case !replaced:
			claim = v.Claim
		}
		if taken[claim] {
			return fmt.Errorf("claims: the files of two volumes would be restored to PersistentVolumeClaim %s", claim)
		}
		taken[claim] = true
		m.plan.Volumes = append(m.plan.Volumes, Volume{Index: v.Index, Claim: claim})
	}
	return nil
}

func (m *builder) configMaps() error {
	if !m.includes(v1alpha1.RestoreConfiguration) {
		return nil
	}
	taken := map[string]bool{}
	for i := range m.backup.ConfigMaps {
		name := m.configMap(&m.backup.ConfigMaps[i])
		if taken[name] {
			return fmt.Errorf("two ConfigMaps of the backup would be restored as %s: choose another target", name)
		}
		taken[name] = true
	}
	return nil
}

// configMap plans the restore of a ConfigMap and returns its name. If the application is restored
// under another name, an existing ConfigMap with other content may still be in use and is kept: the
// restored one gets another name.
func (m *builder) configMap(saved *corev1.ConfigMap) string {
	back := saved.DeepCopy()
	existing := m.live.ConfigMaps[back.Name]
	if m.Target != m.backup.Nginx.Name && existing != nil && !m.isBack(existing) && !sameConfigMap(existing, back) {
		back.Name = renamed(m.Target, saved.Name)
		m.references[saved.Name] = back.Name
		existing = m.live.ConfigMaps[back.Name]
	}
	switch {
	case existing == nil:
		m.change("ConfigMap", back.Name, created, "")
	case m.isBack(existing) || sameConfigMap(existing, back):
		m.change("ConfigMap", back.Name, unchanged, "")
		return back.Name
	default:
		m.change("ConfigMap", back.Name, replaced, differentKeys(existing, back))
		back.ObjectMeta = *existing.ObjectMeta.DeepCopy()
	}
	m.sign(&back.ObjectMeta)
	m.plan.ConfigMaps = append(m.plan.ConfigMaps, back)
	return back.Name
}

func (m *builder) nginx() error {
	if !m.includes(v1alpha1.RestoreSpec) && !m.includes(v1alpha1.RestoreConfiguration) {
		return nil
	}
	existing := m.live.Nginx
	back := m.backup.Nginx.DeepCopy()
	back.Name = m.Target
	m.refer(&back.Spec)
	left := m.ownExposure(&back.Spec)
	switch {
	case existing == nil && !m.includes(v1alpha1.RestoreSpec):
		return fmt.Errorf("NginxOperator %s does not exist, so its configuration cannot be restored alone: add Spec to items", m.Target)
	case existing == nil && !m.includes(v1alpha1.RestoreConfiguration):
		return fmt.Errorf("NginxOperator %s does not exist, so it has no configuration to keep: add Configuration to items", m.Target)
	case existing == nil:
		m.change(v1alpha2.Kind, m.Target, created, withLeftOut("", left))
	default:
		m.copyUnrestored(back, existing)
		if m.isBack(existing) || apiequality.Semantic.DeepEqual(existing.Spec, back.Spec) {
			m.change(v1alpha2.Kind, m.Target, unchanged, withLeftOut("", left))
			return nil
		}
		m.change(v1alpha2.Kind, m.Target, replaced, withLeftOut(differentFields(&existing.Spec, &back.Spec), left))
	}
	m.sign(&back.ObjectMeta)
	m.plan.Nginx = back
	return nil
}

// copyUnrestored copies what is not restored from an existing application.
func (m *builder) copyUnrestored(back, existing *v1alpha2.NginxOperator) {
	back.ObjectMeta = *existing.ObjectMeta.DeepCopy()
	switch {
	case !m.includes(v1alpha1.RestoreSpec):
		config := back.Spec.Config
		back.Spec = *existing.Spec.DeepCopy()
		back.Spec.Config = config
	case !m.includes(v1alpha1.RestoreConfiguration):
		back.Spec.Config = existing.Spec.Config
	}
}

// isBack reports whether this restore has already restored an object. Later changes of a user to
// such an object are kept.
func (m *builder) isBack(object metav1.Object) bool {
	back := object.GetAnnotations()[v1alpha1.AnnotationRestoredBy] == string(m.Restore)
	m.plan.Begun = m.plan.Begun || back
	return back
}

// sign records on an object which restore wrote it.
func (m *builder) sign(meta *metav1.ObjectMeta) {
	metav1.SetMetaDataAnnotation(meta, v1alpha1.AnnotationRestoredBy, string(m.Restore))
}

// The actions of a change, as in the API.
const (
	created   = "Create"
	replaced  = "Replace"
	unchanged = "None"
)

func (m *builder) change(kind, name, action, difference string) {
	m.plan.Changes = append(m.plan.Changes, v1alpha1.RestoreChange{Kind: kind, Name: name, Action: action, Difference: difference})
	if action == replaced {
		m.plan.Conflicts = append(m.plan.Conflicts, kind+" "+name)
	}
}

// renamed returns the name of a ConfigMap that is restored beside an existing one. It cannot be a
// name that an operator gives to its objects, since those begin with the name of the application.
func renamed(target, configMap string) string { return configMap + "-for-" + target }
