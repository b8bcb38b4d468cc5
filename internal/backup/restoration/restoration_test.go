package restoration

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/archive"
)

const (
	application = `
apiVersion: operator.example.com/v1alpha2
kind: NginxOperator
metadata: {namespace: shop, name: web, labels: {team: red}, annotations: {note: hello}}
spec:
  replicas: 3
  config:
    configMap: {name: conf}
    env: [{name: HOST, valueFrom: {configMapKeyRef: {name: variable, key: host}}}]
    envFrom: [{prefix: SITE_, configMapRef: {name: variables}}]
  content:
  - {mountPath: /srv/pages, configMap: {name: pages}}
  - {mountPath: /srv/films, persistentVolumeClaim: {claimName: films}}
  podTemplate:
    tolerations: [{key: disks, operator: Exists}]
    env:
    - {name: GREETING, valueFrom: {configMapKeyRef: {name: env, key: greeting}}}
    - {name: PLAIN, value: conf}
    envFrom: [{configMapRef: {name: allenv}}]
    volumes:
    - {name: a, configMap: {name: mounted}}
    - {name: b, persistentVolumeClaim: {claimName: cache}}
    initContainers:
    - {name: prepare, image: busybox, env: [{name: A, valueFrom: {configMapKeyRef: {name: init, key: a}}}]}
    containers:
    - {name: beside, image: busybox, env: [{name: A, valueFrom: {configMapKeyRef: {name: sidecar, key: a}}}]}
`
	// referenced holds the names of its ConfigMaps.
	referenced = "conf variable variables pages env allenv mounted init sidecar"
)

func configMap(name, text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Data:       map[string]string{"text": text},
	}
}

func asFile(t *testing.T, path string, object any) archive.File {
	t.Helper()
	text, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return archive.File{Path: path, Data: text}
}

func info() archive.Info {
	return archive.Info{
		Format: archive.Format, Namespace: "shop", Application: archive.Application{Name: "web", UID: "web-uid"},
		Content: []archive.Volume{{Index: 0, Claim: "films", MountPath: "/srv/films"}},
	}
}

// documents returns the documents of a backup of the application.
func documents(t *testing.T) []archive.File {
	t.Helper()
	files := []archive.File{{Path: archive.ApplicationPath, Data: []byte(application)}}
	for name := range strings.FieldsSeq(referenced) {
		files = append(files, asFile(t, "configmaps/"+name+".yaml", configMap(name, "saved")))
	}
	return files
}

func aBackup(t *testing.T) Backup {
	t.Helper()
	b, err := parse(info(), documents(t))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// parse parses documents in the form that an archive holds.
func parse(info archive.Info, files []archive.File) (Backup, error) {
	var declared []archive.File
	for _, f := range files {
		text, err := YAMLToJSON(f.Data)
		if err != nil {
			return Backup{}, fmt.Errorf("%s: %w", f.Path, err)
		}
		declared = append(declared, archive.File{Path: f.Path, Data: text})
	}
	return Parse(info, declared, "shop")
}

// TestParseIsBounded: a document of many empty containers is refused, since it takes hundreds of
// times its size in memory. So is one whose errors would have long paths.
func TestParseIsBounded(t *testing.T) {
	const began = `{"apiVersion":"operator.example.com/v1alpha2","kind":"NginxOperator","spec":{`
	const levels = 9990
	for name, tt := range map[string]struct{ spec, want string }{
		"values": {`"podTemplate":{"containers":[` + strings.Repeat("{},", 500_000) + `{}]}`, "more than 100000 values"},
		"names":  {`"labels":{` + strings.Repeat(`"a":1,`, 60_000) + `"a":1}`, "more than 100000 names and values"},
		// Quantities are searched in all levels, and each has a path.
		"levels below a long name": {
			`"` + strings.Repeat("a", 240<<10) + `":` + strings.Repeat("[", levels) + strings.Repeat("]", levels), "more than 4096 bytes in one name",
		},
		"levels": {`"a":` + strings.Repeat("[", levels) + strings.Repeat("]", levels), "more than 32 nested lists and objects"},
		// The path of each unknown field contains the name above it.
		"unknown fields below a long name": {
			`"config":{"files":{"` + strings.Repeat("a", 240<<10) + `":{` + strings.Repeat(`"a":1,`, 100) + `"a":1}}}`, "more than 4096 bytes in one name",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(info(), []archive.File{{Path: archive.ApplicationPath, Data: []byte(began + tt.spec + "}}")}}, "shop")
			if err == nil || len(err.Error()) > 1<<10 || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("it says %.1000v", err)
			}
		})
	}
}

// TestDepthOfApplications: no field of an application or a ConfigMap is as deep as a document may be.
func TestDepthOfApplications(t *testing.T) {
	if n := depth(reflect.TypeFor[v1alpha2.NginxOperator](), nil); n > documentLimits.Depth {
		t.Errorf("an application has %d levels, and a document may have %d", n, documentLimits.Depth)
	}
}

// depth returns the number of nested lists and objects in the JSON of a type. Those in above contain it.
func depth(of reflect.Type, above []reflect.Type) int {
	if slices.Contains(above, of) {
		return 0
	}
	switch deepest := 0; of.Kind() {
	case reflect.Pointer:
		return depth(of.Elem(), above)
	case reflect.Slice, reflect.Map:
		return 1 + depth(of.Elem(), above)
	case reflect.Struct:
		for field := range of.Fields() {
			if n := depth(field.Type, append(slices.Clone(above), of)); field.IsExported() {
				deepest = max(deepest, n)
			}
		}
		return 1 + deepest
	default:
		return 0
	}
}

// TestParse: an archive from an untrusted source can declare only its NginxOperator and the
// ConfigMaps that this refers to, in the namespace of the restore.
func TestParse(t *testing.T) {
	replaced := func(old, by string) archive.File {
		text := strings.Replace(application, old, by, 1)
		if text == application {
			t.Fatalf("%q is not in the application", old)
		}
		return archive.File{Path: archive.ApplicationPath, Data: []byte(text)}
	}
	named := func(name string) func(*archive.Info) {
		return func(i *archive.Info) { i.Application.Name = name }
	}
	elsewhere := configMap("conf", "")
	elsewhere.Namespace = "kube-system"
	good := archive.File{Path: archive.ApplicationPath, Data: []byte(application)}
	tests := []struct {
		name  string
		info  func(*archive.Info)
		files []archive.File
		want  string
	}{
		{"good", nil, []archive.File{good, asFile(t, "configmaps/conf.yaml", configMap("conf", ""))}, ""},
		{"of another namespace", func(i *archive.Info) { i.Namespace = "office" }, []archive.File{good}, `"office"`},
		{"application of another namespace", nil, []archive.File{replaced("namespace: shop", "namespace: office")}, "office/web"},
		{"application of another name", nil, []archive.File{replaced("name: web", "name: other")}, "shop/other"},
		{"application of another kind", nil, []archive.File{replaced("kind: NginxOperator", "kind: ClusterRole")}, "ClusterRole"},
		{"application of another version", nil, []archive.File{replaced("v1alpha2", "v1beta1")}, "v1beta1"},
		{"application with an unknown field", nil, []archive.File{replaced("replicas: 3", "replica: 3")}, `unknown field "spec.replica"`},
		{"application with a value of another type", nil, []archive.File{replaced("replicas: 3", "replicas: three")}, "replicas"},
		{"application with a quantity that takes for ever to be read", nil, []archive.File{replaced("replicas: 3", "replicas: 3\n  resources: {limits: {cpu: \"1e-99999999999\"}}")}, "spec.resources.limits.cpu"},
		{"application that is no YAML", nil, []archive.File{{Path: archive.ApplicationPath, Data: []byte("\t{")}}, "nginxoperator.yaml"},
		{"application with a name that none has", named(strings.Repeat("a", 46)), []archive.File{replaced("name: web", "name: "+strings.Repeat("a", 46))}, "45"},
		{"no application", nil, []archive.File{asFile(t, "configmaps/conf.yaml", configMap("conf", ""))}, "no NginxOperator"},
		{"nothing", nil, nil, "no NginxOperator"},
		{"ConfigMap of another namespace", nil, []archive.File{good, asFile(t, "configmaps/conf.yaml", elsewhere)}, "kube-system/conf"},
		{"ConfigMap in another's file", nil, []archive.File{good, asFile(t, "configmaps/conf.yaml", configMap("other", ""))}, "shop/other"},
		{"Secret among the ConfigMaps", nil, []archive.File{good, {Path: "configmaps/conf.yaml", Data: []byte("{apiVersion: v1, kind: Secret, metadata: {namespace: shop, name: conf}}")}}, "a Secret of v1"},
		{"ConfigMap with an unknown field", nil, []archive.File{good, {Path: "configmaps/conf.yaml", Data: []byte("{apiVersion: v1, kind: ConfigMap, metadata: {namespace: shop, name: conf}, stringData: {}}")}}, "stringData"},
		// A few of these lines expand to gigabytes.
		{"references to itself", nil, []archive.File{{Path: archive.ApplicationPath, Data: []byte("a: &a [x, x]\nb: [*a, *a]\n")}}, "line 1 has a YAML anchor"},
		{"references in a ConfigMap", nil, []archive.File{good, {Path: "configmaps/conf.yaml", Data: []byte("apiVersion: v1\nkind: ConfigMap\ndata: {<<: *a}\n")}}, "conf.yaml"},
		{"files of a claim that the application does not mount", func(i *archive.Info) { i.Content[0].Claim = "database" }, []archive.File{good}, "database"},
		{"files of a volume of the pod template", func(i *archive.Info) { i.Content[0].Claim = "cache" }, []archive.File{good}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			i := info()
			if tt.info != nil {
				tt.info(&i)
			}
			_, err := parse(i, tt.files)
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("it says %v, want something about %s", err, tt.want)
			}
		})
	}
}

// TestParseTakesDeclarations: metadata that the API server sets or that binds an object to others
// is not restored from an archive.
func TestParseTakesDeclarations(t *testing.T) {
	bound := metav1.ObjectMeta{
		Namespace: "shop", Name: "web", Labels: map[string]string{"team": "red"}, Annotations: map[string]string{"note": "hello"},
		UID: "another", ResourceVersion: "7", Generation: 9, GenerateName: "x-", Finalizers: []string{"example.com/never"},
		OwnerReferences:   []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "gone", UID: "gone"}},
		DeletionTimestamp: &metav1.Time{}, CreationTimestamp: metav1.Now(),
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "somebody"}},
	}
	nginx := &v1alpha2.NginxOperator{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha2.GroupVersion.String(), Kind: v1alpha2.Kind}, ObjectMeta: bound}
	nginx.Spec.Config = &v1alpha2.Config{ConfigMap: &v1alpha2.ConfigMapReference{Name: "web"}}
	cm := configMap("web", "")
	cm.ObjectMeta = bound
	i := info()
	i.Content = nil
	b, err := parse(i, []archive.File{asFile(t, archive.ApplicationPath, nginx), asFile(t, "configmaps/web.yaml", cm)})
	if err != nil {
		t.Fatal(err)
	}
	want := metav1.ObjectMeta{Namespace: "shop", Name: "web", Labels: bound.Labels, Annotations: bound.Annotations}
	for kind, got := range map[string]metav1.ObjectMeta{"NginxOperator": b.Nginx.ObjectMeta, "ConfigMap": b.ConfigMaps[0].ObjectMeta} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s, -want +got:\n%s", kind, diff)
		}
	}
}

const everything = "Spec Configuration Content"

func aRequest(target, items string) Request {
	w := Request{Restore: "me", Target: target, Claims: map[string]string{}}
	for item := range strings.FieldsSeq(items) {
		w.Items = append(w.Items, v1alpha1.RestoreItem(item))
	}
	return w
}

// live returns a namespace with the objects of the backup, to which changes are made.
func live(t *testing.T, change ...func(*Live)) Live {
	t.Helper()
	b := aBackup(t)
	l := Live{Nginx: b.Nginx.DeepCopy(), ConfigMaps: map[string]*corev1.ConfigMap{}}
	l.Nginx.UID, l.Nginx.ResourceVersion = "live", "1"
	for i := range b.ConfigMaps {
		cm := b.ConfigMaps[i].DeepCopy()
		cm.ResourceVersion = "1"
		l.ConfigMaps[cm.Name] = cm
	}
	for _, c := range change {
		c(&l)
	}
	return l
}

func nothing(*Live)         {}
func withoutNginx(l *Live)  { l.Nginx = nil }
func empty(l *Live)         { *l = Live{} }
func otherPages(l *Live)    { l.ConfigMaps["pages"].Data["text"] = "another" }
func otherReplicas(l *Live) { l.Nginx.Spec.Replicas = new(int32(1)) }
func otherConfig(l *Live)   { l.Nginx.Spec.Config.ConfigMap.Name = "other" }
func signed(l *Live) {
	for _, object := range []metav1.Object{l.Nginx, l.ConfigMaps["pages"]} {
		object.SetAnnotations(map[string]string{v1alpha1.AnnotationRestoredBy: "me"})
	}
}

// summary describes a plan: what is written, and what is replaced.
func summary(p Plan) string {
	var words []string
	for _, v := range p.Volumes {
		words = append(words, fmt.Sprintf("volume %d to %s", v.Index, v.Claim))
	}
	for _, c := range p.Changes {
		if c.Action == unchanged {
			continue
		}
		words = append(words, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", c.Action, c.Kind, c.Name, c.Difference)))
	}
	if len(p.Conflicts) > 0 {
		words = append(words, "conflicts: "+strings.Join(p.Conflicts, ", "))
	}
	return strings.Join(words, "; ")
}

func TestMake(t *testing.T) {
	const created = "Create ConfigMap conf; Create ConfigMap variable; Create ConfigMap variables; Create ConfigMap pages; Create ConfigMap env; Create ConfigMap allenv; Create ConfigMap mounted; Create ConfigMap init; Create ConfigMap sidecar; "
	const films = "volume 0 to films"
	tests := []struct {
		name   string
		items  string
		change []func(*Live)
		want   string
	}{
		{"all of it is there", everything, []func(*Live){nothing}, films},
		{"nothing is there", everything, []func(*Live){empty}, films + "; " + created + "Create NginxOperator web"},
		{"the application is gone", everything, []func(*Live){withoutNginx}, films + "; Create NginxOperator web"},
		{"another ConfigMap", everything, []func(*Live){otherPages}, films + "; Replace ConfigMap pages text; conflicts: ConfigMap pages"},
		{"another spec", everything, []func(*Live){otherReplicas, otherConfig}, films + "; Replace NginxOperator web spec.config, spec.replicas; conflicts: NginxOperator web"},
		{"brought back already, and edited since", everything, []func(*Live){otherPages, otherReplicas, signed}, films},
		{"files alone", "Content", []func(*Live){empty}, films},
		{"files alone, others", "Content", []func(*Live){otherPages, otherReplicas}, films},
		{"spec alone", "Spec", []func(*Live){otherPages, otherReplicas, otherConfig}, "Replace NginxOperator web spec.replicas; conflicts: NginxOperator web"},
		{"configuration alone", "Configuration", []func(*Live){otherPages, otherReplicas, otherConfig}, "Replace ConfigMap pages text; Replace NginxOperator web spec.config; conflicts: ConfigMap pages, NginxOperator web"},
		{"spec and configuration", "Spec Configuration", []func(*Live){empty}, created + "Create NginxOperator web"},
		{"spec and files", "Spec Content", []func(*Live){otherConfig}, films},
		{"configuration and files", "Configuration Content", []func(*Live){otherReplicas}, films},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Build(aRequest("web", tt.items), aBackup(t), live(t, tt.change...))
			if err != nil {
				t.Fatal(err)
			}
			if got := summary(p); got != tt.want {
				t.Errorf("it makes\n%s\nwant\n%s", got, tt.want)
			}
			if begun := strings.Contains(tt.name, "brought back already"); p.Begun != begun {
				t.Errorf("begun: %v, want %v", p.Begun, begun)
			}
			for _, cm := range p.ConfigMaps {
				isSigned(t, cm)
			}
			if p.Nginx != nil {
				isSigned(t, p.Nginx)
			}
		})
	}
}

func isSigned(t *testing.T, object metav1.Object) {
	t.Helper()
	if by := object.GetAnnotations()[v1alpha1.AnnotationRestoredBy]; by != "me" {
		t.Errorf("%s is restored by %q", object.GetName(), by)
	}
}

func TestBuildRejects(t *testing.T) {
	twice := func(b *Backup) {
		b.Info.Content = append(b.Info.Content, archive.Volume{Index: 1, Claim: "cache"})
	}
	tests := []struct {
		name, target, items string
		claims              map[string]string
		backup              func(*Backup)
		live                func(*Live)
		want                string
	}{
		{name: "a claim that is not the application's", target: "web", items: everything, claims: map[string]string{"database": "films"}, live: nothing, want: "database"},
		{name: "a configuration of nothing", target: "web", items: "Configuration", live: withoutNginx, want: "add Spec to items"},
		{name: "a spec without its configuration", target: "web", items: "Spec", live: withoutNginx, want: "add Configuration to items"},
		{name: "two volumes in one claim", target: "web", items: "Content", claims: map[string]string{"cache": "films"}, backup: twice, live: nothing, want: "PersistentVolumeClaim films"},
		{name: "files into the volume of another application", target: "new", items: everything, live: nothing, want: "PersistentVolumeClaim for the files of films, which NginxOperator web uses"},
		{name: "two ConfigMaps of one name", target: "new", items: everything, claims: map[string]string{"films": "copies"}, backup: func(b *Backup) {
			b.ConfigMaps = append(b.ConfigMaps, *configMap("pages-for-new", "saved"))
		}, live: otherPages, want: "pages-for-new"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := aBackup(t)
			if tt.backup != nil {
				tt.backup(&b)
			}
			w := aRequest(tt.target, tt.items)
			w.Claims = tt.claims
			if _, err := Build(w, b, live(t, tt.live)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("it says %v, want something about %s", err, tt.want)
			}
		})
	}
}

// TestNotInBackup: a plan names the claims whose files the backup does not have, and those of which the backup does not
// even say so.
func TestNotInBackup(t *testing.T) {
	for _, tt := range []struct {
		name, items            string
		info                   func(*archive.Info)
		notInBackup, forgotten []string
	}{
		{"a backup of an earlier release", everything, func(*archive.Info) {}, nil, []string{"cache"}},
		{"a backup that left out the claim", everything, func(i *archive.Info) {
			i.LeftOut = []archive.LeftOut{{Kind: "EmptyDir", Name: "cache"}, {Kind: "PersistentVolumeClaim", Name: "cache", Reason: "Excluded"}}
		}, []string{"cache"}, nil},
		{"a backup that left out another volume of this name", everything, func(i *archive.Info) { i.LeftOut = []archive.LeftOut{{Kind: "CSI", Name: "cache"}} }, nil, []string{"cache"}},
		{"a backup with all files", everything, func(i *archive.Info) { i.Content = append(i.Content, archive.Volume{Index: 1, Claim: "cache"}) }, nil, nil},
		{"no files are restored", "Spec Configuration", func(*archive.Info) {}, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := aBackup(t)
			tt.info(&b.Info)
			p, err := Build(aRequest("web", tt.items), b, live(t, nothing))
			if err != nil || !slices.Equal(p.NotInBackup, tt.notInBackup) || !slices.Equal(p.Forgotten, tt.forgotten) {
				t.Errorf("not in the backup: %v, forgotten: %v, %v", p.NotInBackup, p.Forgotten, err)
			}
		})
	}
}

// TestBuildUnderANewName: ConfigMaps with other content are restored beside the existing ones, and
// all references to them are updated.
func TestBuildUnderANewName(t *testing.T) {
	b := aBackup(t)
	w := aRequest("new", everything)
	w.Claims = map[string]string{"films": "copies", "cache": "other"}
	l := live(t, withoutNginx)
	for _, cm := range l.ConfigMaps {
		cm.Data["text"] = "another"
	}
	p, err := Build(w, b, l)
	if err != nil {
		t.Fatal(err)
	}
	want := "volume 0 to copies; Create ConfigMap conf-for-new; Create ConfigMap variable-for-new; Create ConfigMap variables-for-new; Create ConfigMap pages-for-new; Create ConfigMap env-for-new; Create ConfigMap allenv-for-new; Create ConfigMap mounted-for-new; Create ConfigMap init-for-new; Create ConfigMap sidecar-for-new; Create NginxOperator new"
	if got := summary(p); got != want {
		t.Errorf("it makes\n%s\nwant\n%s", got, want)
	}
	if len(p.Tolerations) != 1 || p.Tolerations[0].Key != "disks" {
		t.Errorf("who brings the files back tolerates %v", p.Tolerations)
	}
	expected := aBackup(t).Nginx
	expected.Name = "new"
	expected.Annotations[v1alpha1.AnnotationRestoredBy] = "me"
	spec := &expected.Spec
	spec.Config.ConfigMap.Name = "conf-for-new"
	spec.Config.Env[0].ValueFrom.ConfigMapKeyRef.Name = "variable-for-new"
	spec.Config.EnvFrom[0].ConfigMapRef.Name = "variables-for-new"
	spec.PodTemplate.EnvFrom[0].ConfigMapRef.Name = "allenv-for-new"
	spec.Content[0].ConfigMap.Name = "pages-for-new"
	spec.Content[1].PersistentVolumeClaim.ClaimName = "copies"
	spec.PodTemplate.Env[0].ValueFrom.ConfigMapKeyRef.Name = "env-for-new"
	spec.PodTemplate.Volumes[0].ConfigMap.Name = "mounted-for-new"
	spec.PodTemplate.Volumes[1].PersistentVolumeClaim.ClaimName = "other"
	spec.PodTemplate.InitContainers[0].Env[0].ValueFrom.ConfigMapKeyRef.Name = "init-for-new"
	spec.PodTemplate.Containers[0].Env[0].ValueFrom.ConfigMapKeyRef.Name = "sidecar-for-new"
	if diff := cmp.Diff(expected, p.Nginx); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(aBackup(t), b); diff != "" {
		t.Errorf("the backup itself is changed:\n%s", diff)
	}
	// With everything written, nothing is left to do.
	for _, cm := range p.ConfigMaps {
		l.ConfigMaps[cm.Name] = cm
	}
	l.Nginx = p.Nginx
	if p, err = Build(w, b, l); err != nil || summary(p) != "volume 0 to copies" {
		t.Errorf("the second time it makes %q, %v", summary(p), err)
	}
}

// TestBuildSharesConfigMaps: an application that is restored under a new name shares ConfigMaps with the same
// content.
func TestBuildSharesConfigMaps(t *testing.T) {
	p, err := Build(aRequest("new", "Spec Configuration"), aBackup(t), live(t, withoutNginx))
	if err != nil {
		t.Fatal(err)
	}
	if got := summary(p); got != "Create NginxOperator new" || p.Nginx.Spec.Config.ConfigMap.Name != "conf" {
		t.Errorf("it makes %s, with %+v", got, p.Nginx.Spec.Config)
	}
}

// TestConfigMapsToRead: ConfigMaps returns all ConfigMaps that Build reads.
func TestConfigMapsToRead(t *testing.T) {
	b := aBackup(t)
	if got := strings.Join(ConfigMaps(aRequest("web", everything), b), " "); got != referenced {
		t.Errorf("in place: %s", got)
	}
	if got := ConfigMaps(aRequest("new", everything), b); len(got) != 18 || got[1] != "conf-for-new" {
		t.Errorf("under a new name: %v", got)
	}
	if got := ConfigMaps(aRequest("web", "Spec Content"), b); got != nil {
		t.Errorf("without the configuration: %v", got)
	}
}

// TestBuildKeepsTheRest: an object that is replaced keeps its metadata.
func TestBuildKeepsTheRest(t *testing.T) {
	immutable := func(l *Live) {
		l.ConfigMaps["pages"].Labels = map[string]string{"its": "own"}
		l.Nginx.Labels = map[string]string{"its": "own"}
	}
	p, err := Build(aRequest("web", everything), aBackup(t), live(t, otherPages, otherReplicas, immutable))
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range []metav1.Object{p.ConfigMaps[0], p.Nginx} {
		if object.GetResourceVersion() != "1" || object.GetLabels()["its"] != "own" || object.GetLabels()["team"] != "" {
			t.Errorf("%s is replaced by %+v", object.GetName(), object)
		}
	}
	if p.ConfigMaps[0].Data["text"] != "saved" || *p.Nginx.Spec.Replicas != 3 {
		t.Errorf("what is brought back is not what was saved: %v, %d replicas", p.ConfigMaps[0].Data, *p.Nginx.Spec.Replicas)
	}
}

func TestRequestOf(t *testing.T) {
	r := &v1alpha1.NginxRestore{ObjectMeta: metav1.ObjectMeta{UID: "me"}, Spec: v1alpha1.NginxRestoreSpec{
		Items: []v1alpha1.RestoreItem{"Spec"}, Claims: []v1alpha1.ClaimReplacement{{From: "films", To: "copies"}},
	}}
	want := aRequest("web", "Spec")
	want.Claims = map[string]string{"films": "copies"}
	if diff := cmp.Diff(want, RequestOf(r, aBackup(t))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	r.Spec.Target = &v1alpha1.TargetReference{Name: "new"}
	want.Target = "new"
	if diff := cmp.Diff(want, RequestOf(r, aBackup(t))); diff != "" {
		t.Errorf("under a new name, -want +got:\n%s", diff)
	}
}

func TestWithVolumes(t *testing.T) {
	p := Plan{
		Volumes:   []Volume{{0, "films"}, {1, "pages"}, {2, "songs"}, {3, "books"}},
		Changes:   []v1alpha1.RestoreChange{{Kind: "NginxOperator", Name: "web", Action: created}},
		Conflicts: []string{"ConfigMap conf"},
	}
	got := p.WithVolumes([]VolumeComparison{
		{Index: 0, Same: 4},
		{Index: 1, Same: 4, Missing: 2},
		{Index: 2, Missing: 1, Differs: 2, Examples: "a, b"},
		{Index: 3, Blocked: 1, Examples: "c"},
	})
	want := []v1alpha1.RestoreChange{
		p.Changes[0],
		{Kind: "PersistentVolumeClaim", Name: "films", Action: unchanged},
		{Kind: "PersistentVolumeClaim", Name: "pages", Action: created, Difference: "2 files are missing"},
		{Kind: "PersistentVolumeClaim", Name: "songs", Action: replaced, Difference: "1 files are missing, 2 differ: a, b"},
		{Kind: "PersistentVolumeClaim", Name: "books", Action: replaced, Difference: "0 files are missing, 1 differ: c"},
	}
	if diff := cmp.Diff(want, got.Changes); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	conflicts := []string{"ConfigMap conf", "PersistentVolumeClaim songs (a, b)", "PersistentVolumeClaim books (c)"}
	if diff := cmp.Diff(conflicts, got.Conflicts); diff != "" {
		t.Errorf("conflicts, -want +got:\n%s", diff)
	}
	if len(p.Changes) != 1 || len(p.Conflicts) != 1 {
		t.Errorf("the plan itself is changed: %+v", p)
	}
}

func TestDifferencesAreListed(t *testing.T) {
	before, after := configMap("conf", "a"), configMap("conf", "a")
	before.Data["gone"], after.BinaryData = "x", map[string][]byte{"new": {1}}
	if got := differentKeys(before, after); got != "gone, new" {
		t.Errorf("keys: %s", got)
	}
	for i := range 20 {
		after.Data[fmt.Sprintf("key-%02d", i)] = "x"
	}
	if got := differentKeys(before, after); !strings.HasSuffix(got, "key-08, …") {
		t.Errorf("many keys: %s", got)
	}
}
