package backup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/outcome"
)

// shop is the application that most tests back up and restore.
const shop = `
replicas: 2
ports: [{name: http, port: 80, protocol: TCP}]
config: {configMap: {name: conf}}
content:
- {mountPath: /srv/pages, configMap: {name: pages}}
- {mountPath: /srv/films, persistentVolumeClaim: {claimName: films}}
podTemplate: {imagePullSecrets: [{name: registry}]}
`

// exposedShop is added to the shop that exists. It has fields with defaults of the API server, a reference in every field
// of the configuration, and what makes an application reachable from outside.
const exposedShop = `
ports: [{name: http, port: 80, targetPort: 8080, protocol: TCP, nodePort: 30080}, {name: https, port: 443, protocol: TCP}]
serviceAccount: {annotations: {example.com/role: shop}}
disruption: {minAvailable: 75%}
readiness: {path: /ready, periodSeconds: 2}
imagePullSecrets: [{name: mirror}]
tls: [{name: site, secretName: site-tls, certificate: {issuerRef: {name: ca}, dnsNames: [shop.example.com], duration: 2160h}}]
service:
  type: NodePort
  labels: {team: shop}
  annotations: {external-dns.alpha.kubernetes.io/hostname: shop.example.com}
  externalTrafficPolicy: Local
  internalTrafficPolicy: Local
  sessionAffinity: ClientIP
  sessionAffinityTimeoutSeconds: 600
  ipFamilyPolicy: PreferDualStack
  ipFamilies: [IPv4]
  trafficDistribution: PreferClose
ingress:
  className: public
  hosts: [{host: shop.example.com}]
  tls: [{tlsName: site}, {hosts: [shop.example.com], secretName: edge-tls}]
httpRoutes:
- name: main
  parentRefs: [{namespace: infra, name: public}]
  hostnames: [shop.example.com]
  rules: [{paths: [{value: /shop}], backends: [{weight: 9}, {service: next, port: 80, weight: 1}]}]
config:
  env: [{name: COLOR, valueFrom: {configMapKeyRef: {name: values, key: nginx.conf}}}, {name: TOKEN, valueFrom: {secretKeyRef: {name: tokens, key: a}}}]
  envFrom: [{prefix: SITE_, configMapRef: {name: values}}]
podTemplate:
  dnsPolicy: None
  dnsConfig: {nameservers: [10.0.0.10], searches: [shop.example.com], options: [{name: ndots, value: "2"}]}
  hostAliases: [{ip: 10.0.0.20, hostnames: [backend.example.com]}]
  securityContext: {runAsUser: 1001, runAsGroup: 0, fsGroup: 2000, supplementalGroups: [3000]}
`

// secretsOfShop are the Secrets that it uses.
var secretsOfShop = []string{"edge-tls", "mirror", "registry", "site-tls", "tokens"}

var films = map[string]string{"a/first.txt": "the first film", "a/second.txt": "the second film", "b/c/third.txt": "the third film"}

// open creates the shop and a backup of it.
func (b *bench) open() *v1alpha1.NginxBackup {
	b.t.Helper()
	b.build()
	b.backup("saved", "web", claimURL)
	return &b.waitBackups(1)[0]
}

// build creates the shop.
func (b *bench) build() {
	b.t.Helper()
	for name, text := range map[string]string{"conf": "events {}\n", "pages": "<h1>Hello</h1>\n", "values": "red"} {
		b.configMap(name, text)
	}
	for name, text := range films {
		b.file("films", name, text)
	}
	var spec v1alpha2.NginxOperatorSpec
	for _, text := range []string{shop, exposedShop} {
		must(b.t, yaml.UnmarshalStrict([]byte(text), &spec))
	}
	b.application("web", spec)
}

func (b *bench) configMap(name, text string) *corev1.ConfigMap {
	b.t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: name}, Data: map[string]string{"nginx.conf": text}}
	must(b.t, kube.Create(b.t.Context(), cm))
	return cm
}

// object returns the metadata of an object in the namespace.
func (b *bench) object(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: b.namespace, Name: name}
}

func (b *bench) file(claim, name, text string) {
	b.t.Helper()
	full := filepath.Join(b.place.Content, claim, name)
	must(b.t, os.MkdirAll(filepath.Dir(full), 0o755))
	must(b.t, os.WriteFile(full, []byte(text), 0o644))
}

func (b *bench) claim(name string) {
	b.t.Helper()
	must(b.t, os.MkdirAll(filepath.Join(b.place.Content, name), 0o755))
}

// files returns the files on a claim.
func (b *bench) files(claim string) map[string]string {
	b.t.Helper()
	found := map[string]string{}
	root := filepath.Join(b.place.Content, claim)
	must(b.t, filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // The program that extracts has renamed it.
		}
		relative, _ := filepath.Rel(root, name)
		found[relative] = string(text)
		return err
	}))
	return found
}

// burn destroys the shop and empties the claim.
func (b *bench) burn() {
	b.t.Helper()
	must(b.t, kube.DeleteAllOf(b.t.Context(), &v1alpha2.NginxOperator{}, client.InNamespace(b.namespace)))
	must(b.t, kube.DeleteAllOf(b.t.Context(), &corev1.ConfigMap{}, client.InNamespace(b.namespace)))
	must(b.t, os.RemoveAll(filepath.Join(b.place.Content, "films")))
	b.claim("films")
}

// declared returns what users have declared in the namespace, by kind and name.
func (b *bench) declared() map[string]any {
	b.t.Helper()
	all := map[string]any{}
	b.each(func(object client.Object) {
		switch o := object.(type) {
		case *v1alpha2.NginxOperator:
			all["NginxOperator "+o.Name] = &o.Spec
		case *corev1.ConfigMap:
			all["ConfigMap "+o.Name] = o.Data
		}
	})
	return all
}

// versions returns the versions of these objects, which show whether any was written.
func (b *bench) versions() map[string]string {
	b.t.Helper()
	all := map[string]string{}
	b.each(func(object client.Object) {
		all[fmt.Sprintf("%T %s", object, object.GetName())] = string(object.GetUID()) + " " + object.GetResourceVersion()
	})
	return all
}

func (b *bench) each(do func(client.Object)) {
	b.t.Helper()
	applications, configMaps := &v1alpha2.NginxOperatorList{}, &corev1.ConfigMapList{}
	must(b.t, kube.List(b.t.Context(), applications, client.InNamespace(b.namespace)))
	must(b.t, kube.List(b.t.Context(), configMaps, client.InNamespace(b.namespace)))
	for i := range applications.Items {
		do(&applications.Items[i])
	}
	for i := range configMaps.Items {
		if _, temporary := configMaps.Items[i].Labels[v1alpha1.LabelBackup]; !temporary {
			do(&configMaps.Items[i])
		}
	}
}

// observed waits until the stand-in of the other operator has observed all applications.
func (b *bench) observed() {
	b.t.Helper()
	b.eventually("the applications are observed", func() error {
		list := &v1alpha2.NginxOperatorList{}
		must(b.t, kube.List(b.t.Context(), list, client.InNamespace(b.namespace)))
		for _, nginx := range list.Items {
			if nginx.Status.ObservedGeneration != nginx.Generation {
				return fmt.Errorf("%s is not", nginx.Name)
			}
		}
		return nil
	})
}

// unchanged calls do and checks that no object or file of a user was written.
func (b *bench) unchanged(do func()) {
	b.t.Helper()
	b.observed()
	versions, before := b.versions(), b.files("films")
	do()
	if diff := cmp.Diff(versions, b.versions()); diff != "" {
		b.t.Errorf("objects were written, -before +after:\n%s", diff)
	}
	if diff := cmp.Diff(before, b.files("films")); diff != "" {
		b.t.Errorf("files were written, -before +after:\n%s", diff)
	}
}

// same checks that exactly the wanted objects are declared.
func (b *bench) same(want map[string]any) {
	b.t.Helper()
	if got := b.declared(); !apiequality.Semantic.DeepEqual(want, got) {
		b.t.Errorf("declared, -want +got:\n%s", cmp.Diff(want, got))
	}
}

func (b *bench) has(claim string, want map[string]string) {
	b.t.Helper()
	if diff := cmp.Diff(want, b.files(claim)); diff != "" {
		b.t.Errorf("files on %s, -want +got:\n%s", claim, diff)
	}
}

type restoreSpec = v1alpha1.NginxRestoreSpec

// restore restores the backup that open has created.
func (b *bench) restore(name string, change ...func(*restoreSpec)) *v1alpha1.NginxRestore {
	b.t.Helper()
	r := &v1alpha1.NginxRestore{
		ObjectMeta: b.object(name),
		Spec:       restoreSpec{Backup: &v1alpha1.BackupReference{Name: "saved"}},
	}
	for _, c := range change {
		c(&r.Spec)
	}
	must(b.t, kube.Create(b.t.Context(), r))
	return r
}

func toNew(spec *restoreSpec)     { spec.Target = &v1alpha1.TargetReference{Name: "new"} }
func dryRun(spec *restoreSpec)    { spec.DryRun = new(true) }
func overwrite(spec *restoreSpec) { spec.OnConflict = v1alpha1.ConflictOverwrite }

func items(some ...v1alpha1.RestoreItem) func(*restoreSpec) {
	return func(spec *restoreSpec) { spec.Items = some }
}

func copies(spec *restoreSpec) {
	spec.Claims = []v1alpha1.ClaimReplacement{{From: "films", To: "copies"}}
}

func from(url, folder string) func(*restoreSpec) {
	return func(spec *restoreSpec) {
		spec.Backup = nil
		spec.Location = &v1alpha1.BackupLocation{Destination: v1alpha1.Destination{URL: url}, Path: folder}
	}
}

// restores returns all restores.
func (b *bench) restores() []v1alpha1.NginxRestore {
	b.t.Helper()
	list := &v1alpha1.NginxRestoreList{}
	must(b.t, kube.List(b.t.Context(), list, client.InNamespace(b.namespace)))
	return list.Items
}

// waitRestore waits until the Completed condition of a restore has a reason. If the restore has
// ended, nothing may be left of its jobs.
func (b *bench) waitRestore(name, reason string) *v1alpha1.NginxRestore {
	b.t.Helper()
	r := &v1alpha1.NginxRestore{}
	b.eventually(fmt.Sprintf("restore %s says %s", name, reason), func() error {
		if err := kube.Get(b.t.Context(), client.ObjectKey{Namespace: b.namespace, Name: name}, r); err != nil {
			return err
		}
		c := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionCompleted)
		if c == nil || c.Reason != reason {
			return fmt.Errorf("it says %+v", c)
		}
		for _, left := range b.left() {
			if outcome.RestoreFinished(r) && strings.Contains(left, " "+name+"-") {
				return fmt.Errorf("left: %s", left)
			}
		}
		return nil
	})
	return r
}

// message returns the message about a restore's completion.
func message(r *v1alpha1.NginxRestore) string {
	return meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionCompleted).Message
}

// reports checks that the message about a restore's completion contains all words.
func (b *bench) reports(r *v1alpha1.NginxRestore, words ...string) {
	b.t.Helper()
	for _, word := range words {
		if !strings.Contains(message(r), word) {
			b.t.Errorf("restore %s does not speak of %s: %s", r.Name, word, message(r))
		}
	}
}

// changesAsText returns the changes of a restore as text.
func changesAsText(r *v1alpha1.NginxRestore) []string {
	var words []string
	for _, c := range r.Status.Changes {
		words = append(words, strings.TrimSpace(c.Action+" "+c.Kind+" "+c.Name+" "+c.Difference))
	}
	return words
}

// plant writes an archive into the store that no operator has created, and returns its folder.
func (b *bench) plant(name string, info archive.Info, files ...archive.File) string {
	b.t.Helper()
	info.Format, info.Name, info.UID, info.TakenAt = archive.Format, name, name, time.Now()
	var text bytes.Buffer
	w, err := archive.NewWriter(b.t.Context(), &text, info, nil, archive.DefaultLimits())
	must(b.t, err)
	must(b.t, w.Documents(files))
	for _, v := range info.Content {
		root, err := os.OpenRoot(filepath.Join(b.place.Content, "planted"))
		must(b.t, err)
		must(b.t, w.Content(v.Index, root))
		must(b.t, root.Close())
	}
	summary, err := w.Close()
	must(b.t, err)
	record, err := archive.NewCommit("data-1-planted.tar.gz", info, summary).Encode()
	must(b.t, err)
	folder := path.Join(b.namespace, "web", name)
	full := filepath.Join(b.place.Claim, "folder", folder)
	must(b.t, os.MkdirAll(full, 0o755))
	must(b.t, os.WriteFile(filepath.Join(full, "data-1-planted.tar.gz"), text.Bytes(), 0o644))
	must(b.t, os.WriteFile(filepath.Join(full, "backup.json"), record, 0o644))
	return folder
}

// info returns the information of an archive of the namespace.
func (b *bench) info() archive.Info {
	return archive.Info{Namespace: b.namespace, Application: archive.Application{Name: "web", UID: "planted"}}
}

// planted returns a document of an archive, with the namespace in place of NAMESPACE.
func (b *bench) planted(name, text string) archive.File {
	return archive.File{Path: name, Data: []byte(strings.ReplaceAll(text, "NAMESPACE", b.namespace))}
}

// folderOf returns the folder of a backup's data.
func folderOf(backup *v1alpha1.NginxBackup) string { return job.Key(backup) }

// joined merges two sets of files.
func joined(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// sorted returns the sorted names of declared objects.
func sorted(declared map[string]any) string {
	return strings.Join(slices.Sorted(maps.Keys(declared)), ", ")
}
