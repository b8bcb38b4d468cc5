package importer

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
)

// These bound the files within an NginxOperator; more or larger ones are in a ConfigMap.
const (
	maxInlineFiles = 64
	maxInlineBytes = 128 << 10
)

func newApplication(name, namespace string) *v1alpha2.NginxOperator {
	return &v1alpha2.NginxOperator{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha2.GroupVersion.String(), Kind: "NginxOperator"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
	}
}

// store puts the files into the application, or into a ConfigMap of their own if they are many.
func (r *Result) store(app *v1alpha2.NginxOperator, files map[string]string) {
	total := 0
	for name, text := range files {
		total += len(name) + len(text)
	}
	if app.Spec.Config == nil {
		app.Spec.Config = &v1alpha2.Config{}
	}
	if len(files) <= maxInlineFiles && total <= maxInlineBytes {
		app.Spec.Config.Files = map[string]v1alpha2.ConfigFile{}
		for name, text := range files {
			app.Spec.Config.Files[name] = v1alpha2.ConfigFile(text)
		}
		return
	}
	name := app.Name + "-files"
	app.Spec.Config.ConfigMap = &v1alpha2.ConfigMapReference{Name: name}
	r.ConfigMaps = append(r.ConfigMaps, &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: app.Namespace},
		Data:       files,
	})
}

// fileSet collects the files of an application, of which no two have the same name.
type fileSet struct {
	texts map[string]string
	err   error
}

func newFiles() *fileSet { return &fileSet{texts: map[string]string{}} }

// add adds a file. The first error is that of the set.
func (f *fileSet) add(name, text string) {
	if _, taken := f.texts[name]; taken && f.err == nil {
		f.err = fmt.Errorf("two files of the application would be called %s, and one would replace the other: rename what they come from, and import again", name)
	}
	f.texts[name] = text
}

// add adds an application with its files. No two applications have the same name.
func (r *Result) add(app *v1alpha2.NginxOperator, files *fileSet) error {
	if files.err != nil {
		return fmt.Errorf("%s: %w", app.Name, files.err)
	}
	same := func(other *v1alpha2.NginxOperator) bool {
		return other.Name == app.Name && other.Namespace == app.Namespace
	}
	if slices.ContainsFunc(r.Applications, same) {
		return fmt.Errorf("two applications would be called %q in the namespace %q, and one would replace the other: import their objects one at a time, with another --name or -n", app.Name, app.Namespace)
	}
	r.Applications = append(r.Applications, app)
	if len(files.texts) > 0 {
		r.store(app, files.texts)
	}
	return nil
}

// secretDir is where the pods have the files that are not for a ConfigMap, filesVolume is the volume.
const (
	secretDir   = "/etc/nginx-files"
	filesVolume = "files"
)

// mountSecretFiles mounts a Secret with the files that the configuration names and the manifests cannot contain.
func (c *conf) mountSecretFiles(app *v1alpha2.NginxOperator) {
	if len(c.secretFiles) == 0 {
		return
	}
	name := app.Name + "-files"
	if app.Spec.PodTemplate == nil {
		app.Spec.PodTemplate = &v1alpha2.PodTemplate{}
	}
	t := app.Spec.PodTemplate
	t.Volumes = append(t.Volumes, v1alpha2.Volume{Name: filesVolume, Secret: &corev1.SecretVolumeSource{SecretName: name}})
	t.VolumeMounts = append(t.VolumeMounts, v1alpha2.VolumeMount{Name: filesVolume, MountPath: secretDir})
	t.ReloadOn = append(t.ReloadOn, filesVolume)
	command := []string{"kubectl create secret generic " + name}
	for _, key := range slices.Sorted(maps.Keys(c.secretFiles)) {
		command = append(command, "--from-file="+shellWord(key+"="+c.secretFiles[key]))
	}
	c.review.step("Create the Secret with the files that the configuration names: %s", strings.Join(command, " "))
}

// secretFile returns the path in the pods of a file that is not for a ConfigMap.
func (c *conf) secretFile(original string) string {
	key := flatName(path.Base(original))
	for i := 2; c.secretFiles[key] != "" && c.secretFiles[key] != original; i++ {
		key = fmt.Sprintf("%d-%s", i, flatName(path.Base(original)))
	}
	c.secretFiles[key] = original
	return secretDir + "/" + key
}
