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

// Wish is what is asked for.
type Wish struct {
	// Restore is the UID of the NginxRestore.
	Restore types.UID
	// Target is the name of the NginxOperator that is brought back.
	Target string
	Items  []v1alpha1.RestoreItem
	// Claims take the place of others, by the names of these.
	Claims map[string]string
}

// WishOf is what a restore asks for of a backup.
func WishOf(restore *v1alpha1.NginxRestore, b Backup) Wish {
	w := Wish{Restore: restore.UID, Target: b.Info.Application.Name, Items: restore.Spec.Items, Claims: map[string]string{}}
	if restore.Spec.Target != nil {
		w.Target = restore.Spec.Target.Name
	}
	for _, c := range restore.Spec.Claims {
		w.Claims[c.From] = c.To
	}
	return w
}

func (w *Wish) wants(item v1alpha1.RestoreItem) bool { return slices.Contains(w.Items, item) }

func (w *Wish) claim(name string) string {
	if other, replaced := w.Claims[name]; replaced {
		return other
	}
	return name
}

// Live is what there is of what a restore may change.
type Live struct {
	Nginx      *v1alpha2.NginxOperator
	ConfigMaps map[string]*corev1.ConfigMap
}

// Deleting names what is being deleted of it; empty: nothing is. It would go again if it were
// brought back now.
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

// Plan is what a restore changes. Files come first, then ConfigMaps, the NginxOperator last:
// what is served never refers to something that is not back yet.
type Plan struct {
	Volumes []Volume
	// Tolerations are those of the application's pods, whose volumes may be on tainted nodes.
	Tolerations []corev1.Toleration
	ConfigMaps  []*corev1.ConfigMap
	Nginx       *v1alpha2.NginxOperator
	// Changes tell of the objects above.
	Changes []v1alpha1.RestoreChange
	// Conflicts are those of the changes that replace something.
	Conflicts []string
	// Blocked are volumes with directories in the place of files, which nothing replaces.
	Blocked []string
	// Begun: this restore has brought some of it back already.
	Begun bool
}

// Volume is one whose files are brought back.
type Volume struct {
	// Index in the archive.
	Index int
	// Claim that takes them.
	Claim string
}

// ConfigMaps are the names of those that have to be looked at before Make.
func ConfigMaps(w Wish, b Backup) []string {
	if !w.wants(v1alpha1.RestoreConfiguration) {
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

// Make decides what becomes of the target.
func Make(w Wish, b Backup, live Live) (Plan, error) {
	m := &maker{Wish: w, backup: b, live: live, references: map[string]string{}}
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

// maker makes a plan.
type maker struct {
	Wish
	backup Backup
	live   Live
	plan   Plan
	// references are the ConfigMaps that are brought back under other names.
	references map[string]string
}

// volumes are brought back to a claim each: in one for two, the files of one would be those of
// the other.
func (m *maker) volumes() error {
	if !m.wants(v1alpha1.RestoreContent) {
		return nil
	}
	if t := m.backup.Nginx.Spec.PodTemplate; t != nil {
		m.plan.Tolerations = t.Tolerations
	}
	taken := map[string]bool{}
	for _, v := range m.backup.Info.Content {
		claim, replaced := m.Claims[v.Claim]
		switch {
		case !replaced && m.Target != m.backup.Nginx.Name:
			return fmt.Errorf("claims: say to which one the files of PersistentVolumeClaim %[1]s are brought back, which is that of %[2]s ({from: %[1]s, to: …}), or leave Content out of items",
				v.Claim, m.backup.Nginx.Name)
		case !replaced:
			claim = v.Claim
		}
		if taken[claim] {
			return fmt.Errorf("claims: the files of two volumes would be brought back to PersistentVolumeClaim %s", claim)
		}
		taken[claim] = true
		m.plan.Volumes = append(m.plan.Volumes, Volume{Index: v.Index, Claim: claim})
	}
	return nil
}

func (m *maker) configMaps() error {
	if !m.wants(v1alpha1.RestoreConfiguration) {
		return nil
	}
	taken := map[string]bool{}
	for i := range m.backup.ConfigMaps {
		name := m.configMap(&m.backup.ConfigMaps[i])
		if taken[name] {
			return fmt.Errorf("two ConfigMaps of the backup would be brought back as %s: choose another target", name)
		}
		taken[name] = true
	}
	return nil
}

// configMap brings a ConfigMap back, and returns its name. Under a new name of the application,
// one that is another belongs to somebody who still uses it: it is brought back beside it.
func (m *maker) configMap(saved *corev1.ConfigMap) string {
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

func (m *maker) nginx() error {
	if !m.wants(v1alpha1.RestoreSpec) && !m.wants(v1alpha1.RestoreConfiguration) {
		return nil
	}
	existing := m.live.Nginx
	back := m.backup.Nginx.DeepCopy()
	back.Name = m.Target
	m.refer(&back.Spec)
	switch {
	case existing == nil && !m.wants(v1alpha1.RestoreSpec):
		return fmt.Errorf("there is no NginxOperator %s whose configuration could be brought back: add Spec to items", m.Target)
	case existing == nil && !m.wants(v1alpha1.RestoreConfiguration):
		return fmt.Errorf("there is no NginxOperator %s that could keep its configuration: add Configuration to items", m.Target)
	case existing == nil:
		m.change(v1alpha2.Kind, m.Target, created, "")
	default:
		m.keep(back, existing)
		if m.isBack(existing) || apiequality.Semantic.DeepEqual(existing.Spec, back.Spec) {
			m.change(v1alpha2.Kind, m.Target, unchanged, "")
			return nil
		}
		m.change(v1alpha2.Kind, m.Target, replaced, differentFields(&existing.Spec, &back.Spec))
	}
	m.sign(&back.ObjectMeta)
	m.plan.Nginx = back
	return nil
}

// keep takes over from an existing application what is not restored.
func (m *maker) keep(back, existing *v1alpha2.NginxOperator) {
	back.ObjectMeta = *existing.ObjectMeta.DeepCopy()
	switch {
	case !m.wants(v1alpha1.RestoreSpec):
		config := back.Spec.Config
		back.Spec = *existing.Spec.DeepCopy()
		back.Spec.Config = config
	case !m.wants(v1alpha1.RestoreConfiguration):
		back.Spec.Config = existing.Spec.Config
	}
}

// isBack tells whether this restore has brought an object back already: whoever has changed it
// since shall find it so.
func (m *maker) isBack(object metav1.Object) bool {
	back := object.GetAnnotations()[v1alpha1.AnnotationRestoredBy] == string(m.Restore)
	m.plan.Begun = m.plan.Begun || back
	return back
}

// sign leaves on an object which restore it is of.
func (m *maker) sign(meta *metav1.ObjectMeta) {
	metav1.SetMetaDataAnnotation(meta, v1alpha1.AnnotationRestoredBy, string(m.Restore))
}

// Actions of a change, as in the API.
const (
	created   = "Create"
	replaced  = "Replace"
	unchanged = "None"
)

func (m *maker) change(kind, name, action, difference string) {
	m.plan.Changes = append(m.plan.Changes, v1alpha1.RestoreChange{Kind: kind, Name: name, Action: action, Difference: difference})
	if action == replaced {
		m.plan.Conflicts = append(m.plan.Conflicts, kind+" "+name)
	}
}

// renamed is the name of a ConfigMap that is brought back beside another one. It is none that an
// operator gives to what it makes for an application, which begins with the application's.
func renamed(target, configMap string) string { return configMap + "-for-" + target }
