package importer

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/api/v1alpha2"
)

// mounts are the mounts of nginx's container, by what they are for.
type mounts struct {
	// config are the files of the configuration, by their path.
	config Map
	// kept are mounted in the application, too, and secrets are those of them with a Secret.
	kept    []v1alpha2.VolumeMount
	secrets map[string]*corev1.SecretVolumeSource
	// paths are those of kept mounts in the review, by the path of the mount.
	paths map[string]string
	// unknown are ConfigMaps with the configuration that are not in the input.
	unknown []string
	objects []*object
}

// configuration imports the files of ConfigMaps that are mounted where nginx reads its configuration.
func (w *workload) configuration(done map[*object]bool) (*fileSet, []v1alpha2.Port, error) {
	m := w.mounts()
	for _, o := range m.objects {
		done[o] = true
		o.review(w.review, "nginx's container does not mount it, or it is no text")
	}
	t := w.app.Spec.PodTemplate
	defer func() {
		t.VolumeMounts = append(m.kept, t.VolumeMounts...)
		w.dropUnused(nil)
	}()
	main := mainOf(m.config)
	if len(main) == 0 {
		w.withoutFiles(m)
		return newFiles(), nil, nil
	}
	w.templates(m.config)
	c := newConf(m.config, w.inputs.options)
	c.keepImage = true
	c.inPod = func(p string) bool {
		return slices.ContainsFunc(m.kept, func(mount v1alpha2.VolumeMount) bool {
			return p == mount.MountPath || strings.HasPrefix(p, mount.MountPath+"/")
		})
	}
	c.secretOf = m.secretOf
	if err := c.run(mainOf(m.config)); err != nil {
		return nil, nil, err
	}
	w.review.Items = append(w.review.Items, c.review.Items...)
	for _, step := range c.review.Steps {
		w.review.step("%s", step)
	}
	for _, name := range slices.Sorted(maps.Keys(c.certificates)) {
		w.app.Spec.TLS = append(w.app.Spec.TLS, c.certificates[name])
	}
	c.review = *w.review
	c.mountSecretFiles(w.app)
	*w.review = c.review
	files := c.files()
	w.dropCertificates(m, files.texts)
	w.reviewUnread(m.config, c)
	return files, c.ports, nil
}

// mounts sorts the mounts of nginx's container.
func (w *workload) mounts() *mounts {
	m := &mounts{config: Map{}, secrets: map[string]*corev1.SecretVolumeSource{}, paths: map[string]string{}}
	container := w.pod.Containers[w.nginx]
	for i, mount := range container.VolumeMounts {
		at := fmt.Sprintf("%s.containers[%d].volumeMounts[%d]", w.podPath, w.nginx, i)
		volume := w.volume(mount.Name)
		switch {
		case volume != nil && volume.ConfigMap != nil && within(path.Clean(mount.MountPath), configDirs):
			w.configMount(m, at, volume.ConfigMap, mount)
		case within(path.Clean(mount.MountPath), writable):
			w.scratchMount(at, volume)
		case slices.Contains([]string{"/etc", "/opt"}, path.Clean(mount.MountPath)):
			w.take(at, NotCarried, "the folder contains folders of the operator: mount the volume at a folder below it")
		default:
			kept, ok := w.mount(at, mount)
			if !ok {
				continue
			}
			m.kept = append(m.kept, kept)
			m.paths[kept.MountPath] = at
			if volume.Secret != nil {
				m.secrets[kept.MountPath] = volume.Secret
			}
		}
	}
	return m
}

func (w *workload) scratchMount(at string, volume *corev1.Volume) {
	if volume != nil && volume.EmptyDir != nil {
		w.take(at, Carried, "")
		return
	}
	w.take(at, NotCarried, "the folder is that of nginx's temporary files, which is an emptyDir: mount the volume elsewhere")
}

// configMount adds the files of a ConfigMap to the configuration.
func (w *workload) configMount(m *mounts, at string, source *corev1.ConfigMapVolumeSource, mount corev1.VolumeMount) {
	o, found := w.inputs.configMap(w.meta.Namespace, source.Name)
	if found == nil {
		m.unknown = append(m.unknown, source.Name)
		w.take(at, NotCarried, "the ConfigMap "+source.Name+" is not in the input: pass it, too, and import again")
		return
	}
	w.take(at, Changed, "the files are those of spec.config")
	if !slices.Contains(m.objects, o) {
		m.objects = append(m.objects, o)
		o.take("metadata", NotCarried, "the application has the files")
	}
	base := configDir
	if mount.MountPath != configDir {
		base = locatePath(mount.MountPath)
	}
	for key, text := range found.Data {
		for _, name := range itemPaths(source.Items, key) {
			if mount.SubPath != "" && mount.SubPath != name {
				continue
			}
			o.take(childPath("data", key), Changed, "a file of spec.config of "+w.app.Name)
			if mount.SubPath != "" {
				m.config[base] = text
			} else {
				m.config[path.Join(base, name)] = text
			}
		}
	}
}

// itemPaths returns the files that a volume makes of a key.
func itemPaths(items []corev1.KeyToPath, key string) []string {
	if len(items) == 0 {
		return []string{key}
	}
	var paths []string
	for _, item := range items {
		if item.Key == key {
			paths = append(paths, item.Path)
		}
	}
	return paths
}

// configMap returns a ConfigMap of a namespace, or nil.
func (s *inputs) configMap(namespace, name string) (*object, *corev1.ConfigMap) {
	objects, maps := ofType[*corev1.ConfigMap](s)
	for i, c := range maps {
		if c.Name == name && (c.Namespace == namespace || c.Namespace == "" || namespace == "") {
			return objects[i], c
		}
	}
	return nil, nil
}

// mainOf returns the files that nginx reads by itself: nginx.conf, or those of conf.d.
func mainOf(files Map) []string {
	if files[configDir+"/nginx.conf"] != "" {
		return []string{configDir + "/nginx.conf"}
	}
	var found []string
	for _, pattern := range []string{"/etc/nginx/conf.d/*.conf", "/etc/nginx/http.d/*.conf", "/etc/nginx/server_blocks/*.conf", "/etc/nginx/templates/*.conf.template"} {
		found = append(found, files.Glob(pattern)...)
	}
	return found
}

// withoutFiles handles a Deployment whose configuration is elsewhere.
func (w *workload) withoutFiles(m *mounts) {
	if len(m.unknown) == 1 {
		w.app.Spec.Config = &v1alpha2.Config{ConfigMap: &v1alpha2.ConfigMapReference{Name: m.unknown[0]}}
		w.review.step("The configuration is that of the ConfigMap %s, which was not reviewed: pass it, too, and import again.", m.unknown[0])
		return
	}
	w.review.step("The image's own configuration is not used: import that of a running container of the %s (kubectl cp POD:/etc/nginx nginx), and put its files into spec.config.", w.name)
}

// secretOf returns the Secret that a mount has a certificate's file from, if it is one of type kubernetes.io/tls.
func (m *mounts) secretOf(certificate string) string {
	for mountPath, secret := range m.secrets {
		if path.Dir(certificate) == mountPath && path.Base(certificate) == "tls.crt" && len(secret.Items) == 0 {
			return secret.SecretName
		}
	}
	return ""
}

// dropCertificates removes the mounts of Secrets that spec.tls mounts, and that no file names any more.
func (w *workload) dropCertificates(m *mounts, files map[string]string) {
	for mountPath, secret := range m.secrets {
		inTLS := slices.ContainsFunc(w.app.Spec.TLS, func(c v1alpha2.Certificate) bool { return c.SecretName == secret.SecretName })
		named := false
		for _, text := range files {
			named = named || strings.Contains(text, mountPath+"/")
		}
		if inTLS && !named {
			m.kept = slices.DeleteFunc(m.kept, func(k v1alpha2.VolumeMount) bool { return k.MountPath == mountPath })
			w.take(m.paths[mountPath], Changed, "spec.tls mounts the Secret")
		}
	}
}

// reviewUnread names the files of the ConfigMaps that nginx does not read.
func (w *workload) reviewUnread(files Map, c *conf) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if c.byPath[name] == nil {
			w.review.add(Item{Source: shown(name), Subject: "the whole file", Kind: KindFile, Outcome: NotCarried, Note: "no file includes it, so nginx does not read it"})
		}
	}
}

var reference = regexp.MustCompile(`\$(?:\{([A-Z_][A-Z0-9_]*)\}|([A-Z_][A-Z0-9_]*))`)

// templates turns the templates of the image's entrypoint into files with variables of spec.config.env.
func (w *workload) templates(files Map) {
	env := map[string]corev1.EnvVar{}
	container := w.pod.Containers[w.nginx]
	for _, e := range container.Env {
		env[e.Name] = e
	}
	used := map[string]bool{}
	for name, text := range files {
		if path.Dir(name) != configDir+"/templates" {
			continue
		}
		files[name] = reference.ReplaceAllStringFunc(text, func(found string) string {
			groups := reference.FindStringSubmatch(found)
			variable := cmp.Or(groups[1], groups[2])
			if _, known := env[variable]; !known && len(container.EnvFrom) == 0 {
				return found
			}
			used[variable] = true
			return "${" + variable + "}"
		})
	}
	for _, name := range slices.Sorted(maps.Keys(used)) {
		if e, known := env[name]; known {
			w.configVariable(e)
		}
	}
	if len(used) > 0 {
		w.configEnvFrom(container.EnvFrom)
	}
}

// configVariable declares a variable of the configuration.
func (w *workload) configVariable(e corev1.EnvVar) {
	into := v1alpha2.ConfigEnvVar{Name: e.Name}
	switch from := e.ValueFrom; {
	case from == nil:
		into.Value = &e.Value
	case from.SecretKeyRef != nil:
		into.ValueFrom = &v1alpha2.ConfigEnvVarSource{SecretKeyRef: &v1alpha2.KeyReference{Name: from.SecretKeyRef.Name, Key: from.SecretKeyRef.Key}}
	case from.ConfigMapKeyRef != nil:
		into.ValueFrom = &v1alpha2.ConfigEnvVarSource{ConfigMapKeyRef: &v1alpha2.KeyReference{Name: from.ConfigMapKeyRef.Name, Key: from.ConfigMapKeyRef.Key}}
	default:
		w.review.step("Set the variable %s of spec.config.env: it came from a field of the pod.", e.Name)
		return
	}
	w.config().Env = append(w.config().Env, into)
}

func (w *workload) configEnvFrom(sources []corev1.EnvFromSource) {
	for _, from := range sources {
		into := v1alpha2.ConfigEnvFromSource{}
		if from.Prefix != "" {
			into.Prefix = &from.Prefix
		}
		switch {
		case from.SecretRef != nil:
			into.SecretRef = &v1alpha2.SecretReference{Name: from.SecretRef.Name}
		case from.ConfigMapRef != nil:
			into.ConfigMapRef = &v1alpha2.ConfigMapReference{Name: from.ConfigMapRef.Name}
		}
		w.config().EnvFrom = append(w.config().EnvFrom, into)
	}
}

func (w *workload) config() *v1alpha2.Config {
	if w.app.Spec.Config == nil {
		w.app.Spec.Config = &v1alpha2.Config{}
	}
	return w.app.Spec.Config
}
