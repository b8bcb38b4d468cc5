package desired_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/revision"
	"example.com/nginx-operator/test/plan"
)

// contract contains what never changes between releases, because objects and pods of all of them
// coexist. Entries may be added. It spells out the names, so that changing a constant fails the
// tests.
var contract = struct {
	labels, annotations, names, paths, folders map[string]string
}{
	labels: map[string]string{
		"operator.example.com/nginxoperator":  naming.LabelApplication,
		"operator.example.com/revision-state": naming.LabelRevisionState,
	},
	annotations: map[string]string{
		"kubernetes.io/change-cause":          naming.AnnotationChangeCause,
		"operator.example.com/config":         naming.AnnotationConfig,
		"operator.example.com/config-grant":   naming.AnnotationConfigTokenHash,
		"operator.example.com/config-source":  naming.AnnotationConfigSourceVersion,
		"operator.example.com/config-test":    naming.AnnotationConfigTest,
		"operator.example.com/failed-attempt": naming.AnnotationFailedAttempt,
		"operator.example.com/failed-message": naming.AnnotationFailedMessage,
		"operator.example.com/failed-reason":  naming.AnnotationFailedReason,
		"operator.example.com/force-redeploy": naming.AnnotationForceRedeploy,
		"operator.example.com/generation":     naming.AnnotationGeneration,
		"operator.example.com/image":          naming.AnnotationImage,
		"operator.example.com/image-digest":   naming.AnnotationImageDigest,
		"operator.example.com/inputs":         naming.AnnotationInputs,
		"operator.example.com/intent":         naming.AnnotationIntent,
		"operator.example.com/rollout-stage":  naming.AnnotationStage,
		"operator.example.com/served-at":      naming.AnnotationServedAt,
		"operator.example.com/started-at":     naming.AnnotationStartedAt,
		"operator.example.com/sync":           naming.AnnotationSync,
		"operator.example.com/template":       naming.AnnotationTemplate,
	},
	names: map[string]string{
		"ConfigMap web-config":             "ConfigMap " + naming.ConfigMap("web"),
		"ConfigMap web-config-next":        "ConfigMap " + naming.ConfigMapNext("web"),
		"Deployment web":                   "Deployment " + naming.Workload("web"),
		"PodDisruptionBudget web":          "PodDisruptionBudget " + naming.PodDisruptionBudget("web"),
		"Service web":                      "Service " + naming.Service("web"),
		"ServiceAccount web-nginx":         "ServiceAccount " + naming.ServiceAccount("web"),
		"container nginx":                  "container " + naming.NginxContainer,
		"container nginx-operator-install": "container " + naming.InstallContainer,
		"field manager nginx-operator":     "field manager " + naming.FieldManager,
	},
	// Releases before 0.5 also had /v1/load.
	paths: map[string]string{
		"/livez": instanceapi.PathLive, "/readyz": instanceapi.PathReady, "/metrics": instanceapi.PathMetrics,
		"/v1/status": instanceapi.PathStatus, "/v1/orders": instanceapi.PathOrders, "/v1/requests": instanceapi.PathRequests,
	},
	folders: map[string]string{
		"/etc/nginx-operator/stable": instanceapi.DirStable, "/etc/nginx-operator/next": instanceapi.DirNext,
		"/etc/nginx-operator/requests": instanceapi.DirRequests, "/etc/nginx-operator/tls": instanceapi.DirSecrets,
		"/etc/nginx/tls": instanceapi.DirTLS, "/opt/nginx-operator": instanceapi.DirBin,
		"test": instanceapi.FileTest, "load": instanceapi.FileLoad, "grant": instanceapi.FileTokenHash,
	},
}

func TestContractOfNames(t *testing.T) {
	for what, table := range map[string]map[string]string{
		"label": contract.labels, "annotation": contract.annotations, "name": contract.names,
		"path of the instance API": contract.paths, "folder or file of the pod": contract.folders,
	} {
		for _, frozen := range sorted(table) {
			if table[frozen] != frozen {
				t.Errorf("the %s %s has become %s: earlier releases go on using it", what, frozen, table[frozen])
			}
		}
	}
	if instanceapi.Port != 9113 || instanceapi.PortName != "metrics" {
		t.Error("the port of the instance API has changed: pods of earlier releases go on using 9113, metrics")
	}
}

// TestContractOfKeys: the objects that releases left behind have the operator's labels and
// annotations, and each of these is in the table.
func TestContractOfKeys(t *testing.T) {
	eachReleased(t, func(t *testing.T, r *released) {
		for _, object := range r.objects {
			name := object.GetObjectKind().GroupVersionKind().Kind + " " + object.GetName()
			sets := []metav1.ObjectMeta{{Labels: object.GetLabels(), Annotations: object.GetAnnotations()}}
			if d, ok := object.(*appsv1.Deployment); ok {
				sets = append(sets, d.Spec.Template.ObjectMeta)
			}
			for _, meta := range sets {
				checkKeys(t, name, "label", meta.Labels, contract.labels)
				checkKeys(t, name, "annotation", meta.Annotations, contract.annotations)
			}
			if _, ours := object.GetLabels()["operator.example.com/nginxoperator"]; ours {
				checkLabels(t, name, object.GetLabels())
			}
		}
	})
}

func checkKeys(t *testing.T, name, what string, live, table map[string]string) {
	t.Helper()
	for _, key := range sorted(live) {
		if _, known := table[key]; !known && strings.HasPrefix(key, naming.Prefix) {
			t.Errorf("%s has the %s %s, which is not in the table", name, what, key)
		}
	}
}

// checkLabels compares labels with those that this version gives to every object.
func checkLabels(t *testing.T, name string, live map[string]string) {
	t.Helper()
	for key, want := range naming.Labels("web") {
		if live[key] != want {
			t.Errorf("%s: label %s is %q, this version makes %q", name, key, live[key], want)
		}
	}
}

// TestContractOfSelectors: this version creates the same selectors as the releases. A selector
// cannot be changed, and pods that it does not match receive no traffic.
func TestContractOfSelectors(t *testing.T) {
	eachWhole(t, func(t *testing.T, r *released) {
		frozen := map[string]string{"operator.example.com/nginxoperator": "web"}
		selectors := map[string]map[string]string{}
		for _, object := range r.objects {
			switch o := object.(type) {
			case *appsv1.Deployment:
				selectors["Deployment"] = o.Spec.Selector.MatchLabels
			case *corev1.Service:
				selectors["Service"] = o.Spec.Selector
			case *policyv1.PodDisruptionBudget:
				selectors["PodDisruptionBudget"] = o.Spec.Selector.MatchLabels
			case *corev1.Pod:
				if diff := cmp.Diff(frozen["operator.example.com/nginxoperator"], o.Labels["operator.example.com/nginxoperator"]); diff != "" {
					t.Errorf("Pod %s is not found: %s", o.Name, diff)
				}
			}
		}
		for kind, selector := range selectors {
			if diff := cmp.Diff(frozen, selector); diff != "" {
				t.Errorf("%s of the release: %s", kind, diff)
			}
		}
		for kind, selector := range freshSelectors(t, r) {
			if diff := cmp.Diff(frozen, selector); diff != "" {
				t.Errorf("%s of this version: %s", kind, diff)
			}
		}
	})
}

// freshSelectors returns the selectors of the objects that this version creates if there are none.
func freshSelectors(t *testing.T, r *released) map[string]map[string]string {
	t.Helper()
	state := r.gather(t)
	planned, _, err := plan.Of(revision.Input{Nginx: r.nginx, State: observe.State{Source: state.Source}, Options: another(), Now: r.facts.At})
	if err != nil {
		t.Fatal(err)
	}
	selectors := map[string]map[string]string{}
	for _, intent := range planned.Intents {
		text, err := json.Marshal(intent.Fields["spec"])
		if err != nil {
			t.Fatal(err)
		}
		var spec struct {
			Selector map[string]json.RawMessage
		}
		decodeJSON(t, text, &spec)
		selector := map[string]string{}
		for key, value := range spec.Selector {
			if key == "matchLabels" {
				decodeJSON(t, value, &selector)
				continue
			}
			var label string
			decodeJSON(t, value, &label)
			selector[key] = label
		}
		if len(selector) > 0 {
			selectors[intent.Kind.Name] = selector
		}
	}
	for _, kind := range []string{"Deployment", "Service"} {
		if selectors[kind] == nil {
			t.Errorf("there is no selector of a %s", kind)
		}
	}
	return selectors
}

// TestContractOfObjects: every object has one of the frozen names.
func TestContractOfObjects(t *testing.T) {
	eachReleased(t, func(t *testing.T, r *released) {
		for _, object := range r.objects {
			kind := object.GetObjectKind().GroupVersionKind().Kind
			if object.GetLabels()["operator.example.com/nginxoperator"] == "" || kind == "Pod" || kind == "ControllerRevision" {
				continue
			}
			if _, known := contract.names[kind+" "+object.GetName()]; !known {
				t.Errorf("%s %s is not in the table", kind, object.GetName())
			}
		}
	})
}

// record is the data of a ControllerRevision, restricted to the fields in the contract.
type record struct {
	Format   int
	Spec     json.RawMessage
	Template struct {
		Metadata struct{ Annotations map[string]string }
	}
	Config struct {
		Revision  string
		Files     map[string]string
		FilesGzip []byte
	}
	Protocol int
}

// unpack sets Files from FilesGzip, if that is set.
func (r *record) unpack(t *testing.T) {
	t.Helper()
	if len(r.Config.FilesGzip) == 0 {
		return
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(r.Config.FilesGzip))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(unzipped).Decode(&r.Config.Files); err != nil {
		t.Fatal(err)
	}
}

// TestContractOfHistory: this version reads from the history what is in it.
func TestContractOfHistory(t *testing.T) {
	eachReleased(t, func(t *testing.T, r *released) {
		for _, o := range ofType[*appsv1.ControllerRevision](r) {
			var data record
			decodeJSON(t, o.Data.Raw, &data)
			data.unpack(t)
			if revision := nginxconf.Revision(data.Config.Files); revision != data.Config.Revision {
				t.Errorf("%s: the files are of revision %s", o.Name, revision)
			}
			if data.Format != 1 || data.Protocol < 1 || len(data.Spec) == 0 || len(data.Config.Files) == 0 {
				t.Errorf("%s: %s", o.Name, o.Data.Raw)
			}
			revision := history.Read([]appsv1.ControllerRevision{*o})[0]
			checkRevision(t, &revision, data)
			checkData(t, &revision, data)
		}
	})
}

func checkRevision(t *testing.T, revision *history.Revision, data record) {
	t.Helper()
	template, config := data.Template.Metadata.Annotations["operator.example.com/template"], data.Config.Revision
	if want := "web-" + history.NameHash(template, config); revision.Name != want {
		t.Errorf("this version calls it %s, the release %s", want, revision.Name)
	}
	if revision.Template != template || revision.Config != config || revision.Inputs == "" || revision.Number < 1 || revision.StartedAt.IsZero() {
		t.Errorf("%s is read as %+v", revision.Name, revision)
	}
	if !slices.Contains([]history.State{"candidate", "good", "failed"}, revision.State) {
		t.Errorf("%s is %q", revision.Name, revision.State)
	}
}

func checkData(t *testing.T, revision *history.Revision, data record) {
	t.Helper()
	read, err := revision.Data()
	if err != nil {
		t.Fatal(err)
	}
	if read.Config.Revision != data.Config.Revision || !maps.Equal(read.Config.Files, data.Config.Files) ||
		read.Protocol != data.Protocol || len(read.Template) == 0 {
		t.Errorf("%s holds %+v", revision.Name, read)
	}
	if inputs, err := history.Hash(read.Spec); err != nil || inputs != revision.Inputs {
		t.Errorf("the inputs of %s are %s, the release recorded %s (%v)", revision.Name, inputs, revision.Inputs, err)
	}
}

// TestContractOfPods: the pods of releases read the operator's requests, and answer, in the same
// places.
func TestContractOfPods(t *testing.T) {
	eachReleased(t, func(t *testing.T, r *released) {
		for _, pod := range r.pods() {
			files := map[string]string{}
			for _, v := range pod.Spec.Volumes {
				if v.DownwardAPI != nil {
					for _, item := range v.DownwardAPI.Items {
						files[v.Name+"/"+item.Path] = item.FieldRef.FieldPath
					}
				}
			}
			want := map[string]string{
				"requests/test":  "metadata.annotations['operator.example.com/config-test']",
				"requests/load":  "metadata.annotations['operator.example.com/config']",
				"requests/grant": "metadata.annotations['operator.example.com/config-grant']",
			}
			if diff := cmp.Diff(want, files); diff != "" {
				t.Errorf("Pod %s: %s", pod.Name, diff)
			}
			checkNginx(t, pod)
		}
	})
}

func checkNginx(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	i := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == "nginx" })
	if i < 0 {
		t.Fatalf("Pod %s has no container nginx", pod.Name)
	}
	nginx := pod.Spec.Containers[i]
	mounts := map[string]string{}
	for _, m := range nginx.VolumeMounts {
		mounts[m.MountPath] = m.Name
	}
	for folder, volume := range map[string]string{
		"/etc/nginx-operator/stable": "config", "/etc/nginx-operator/next": "config-next",
		"/etc/nginx-operator/requests": "requests", "/opt/nginx-operator": "instance",
	} {
		if mounts[folder] != volume {
			t.Errorf("Pod %s: %s is from %q, not from %s", pod.Name, folder, mounts[folder], volume)
		}
	}
	if !slices.ContainsFunc(nginx.Ports, func(p corev1.ContainerPort) bool { return p.Name == "metrics" && p.ContainerPort == 9113 }) {
		t.Errorf("Pod %s does not answer on port 9113, metrics", pod.Name)
	}
	if live, ready := nginx.LivenessProbe.HTTPGet.Path, nginx.ReadinessProbe.HTTPGet.Path; live != "/livez" || ready != "/readyz" {
		t.Errorf("Pod %s is asked %s and %s", pod.Name, live, ready)
	}
}
