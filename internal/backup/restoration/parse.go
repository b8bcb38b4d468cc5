// Package restoration decides what a restore changes, from the contents of a backup, the request
// and the existing objects. It is pure.
package restoration

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/snapshot"
)

// Backup holds the declarations of an archive.
type Backup struct {
	Info       archive.Info
	Nginx      *v1alpha2.NginxOperator
	ConfigMaps []corev1.ConfigMap
}

// Parse parses the documents of an archive in the form that ToJSON returns. They are not trusted:
// everything must be in the namespace in which the backup is restored, and of the expected kinds.
func Parse(info archive.Info, files []archive.File, namespace string) (Backup, error) {
	b := Backup{Info: info}
	if info.Namespace != namespace {
		return b, fmt.Errorf("the backup belongs to namespace %q, and can be restored only there: this is namespace %q", info.Namespace, namespace)
	}
	for _, f := range files {
		if err := b.parseDocument(f); err != nil {
			return b, fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	if b.Nginx == nil {
		return b, errors.New("the backup holds no NginxOperator")
	}
	return b, b.belongs()
}

// belongs returns an error unless everything belongs to the application: files must be for claims
// that its pods mount, and ConfigMaps must be those that it refers to. An archive must not cause writes
// to anything else in the namespace.
func (b *Backup) belongs() error {
	referenced := snapshot.ConfigMaps(&b.Nginx.Spec)
	for i := range b.ConfigMaps {
		if name := b.ConfigMaps[i].Name; !slices.Contains(referenced, name) {
			return fmt.Errorf("the backup has ConfigMap %s, which its application does not refer to", name)
		}
	}
	mounted := snapshot.Volumes(&b.Nginx.Spec)
	for _, v := range b.Info.Content {
		if !slices.ContainsFunc(mounted, func(s snapshot.Volume) bool { return s.Claim == v.Claim }) {
			return fmt.Errorf("the backup has files for PersistentVolumeClaim %s, which its application does not mount", v.Claim)
		}
	}
	return nil
}

// missingClaims returns the claims that the application mounts and whose files are not in the backup. unexplained are
// those of which the backup does not say so, because an earlier release wrote it.
func (b *Backup) missingClaims() (explained, unexplained []string) {
	for _, v := range snapshot.Volumes(&b.Nginx.Spec) {
		switch {
		case slices.ContainsFunc(b.Info.Content, func(c archive.Volume) bool { return c.Claim == v.Claim }):
		case slices.ContainsFunc(b.Info.LeftOut, func(l archive.LeftOut) bool { return l.Kind == snapshot.Claim && l.Name == v.Claim }):
			explained = append(explained, v.Claim)
		default:
			unexplained = append(unexplained, v.Claim)
		}
	}
	return explained, unexplained
}

// nameLimit bounds the name of an NginxOperator, in bytes, as in its schema.
const nameLimit = 45

func (b *Backup) parseDocument(f archive.File) error {
	switch {
	case f.Path == archive.ApplicationPath:
		b.Nginx = &v1alpha2.NginxOperator{}
		if err := readable(f.Data); err != nil {
			return err
		}
		if err := read(f.Data, b.Nginx, v1alpha2.Kind, v1alpha2.GroupVersion.String()); err != nil {
			return err
		}
		if b.Nginx.Namespace != b.Info.Namespace || b.Nginx.Name != b.Info.Application.Name {
			return fmt.Errorf("it belongs to %s/%s, but the backup to %s/%s", b.Nginx.Namespace, b.Nginx.Name, b.Info.Namespace, b.Info.Application.Name)
		}
		if len(b.Nginx.Name) > nameLimit {
			return fmt.Errorf("its name has %d bytes: at most %d are allowed", len(b.Nginx.Name), nameLimit)
		}
		b.Nginx.ObjectMeta = snapshot.DeclaredMeta(&b.Nginx.ObjectMeta)
	case strings.HasPrefix(f.Path, archive.ConfigMapsFolder):
		var cm corev1.ConfigMap
		if err := read(f.Data, &cm, "ConfigMap", "v1"); err != nil {
			return err
		}
		if cm.Namespace != b.Info.Namespace || f.Path != archive.ConfigMapsFolder+cm.Name+".yaml" {
			return fmt.Errorf("it is %s/%s, but the backup belongs to namespace %s", cm.Namespace, cm.Name, b.Info.Namespace)
		}
		cm.ObjectMeta = snapshot.DeclaredMeta(&cm.ObjectMeta)
		b.ConfigMaps = append(b.ConfigMaps, cm)
	}
	return nil
}
