package desired

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/randfill"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/external"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/podtemplate"
	"example.com/nginx-operator/internal/nginx/revision"
)

// FuzzBuild: whatever a spec contains, valid or not, the objects built from it keep the pods'
// hardening and belong to the application. The spec is the JSON text or, if that is invalid, one
// that is filled from fill with attempts to escape.
func FuzzBuild(f *testing.F) {
	for _, name := range []string{"testdata/full.yaml", "testdata/least.yaml"} {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		var object struct{ Spec json.RawMessage }
		if err := yaml.Unmarshal(text, &object); err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(object.Spec), []byte(nil))
	}
	f.Add([]byte(`{"podTemplate":{"annotations":{"container.apparmor.security.beta.kubernetes.io/nginx":"unconfined"}}}`), []byte(nil))
	f.Add([]byte(`{"podTemplate":{"containers":[{"name":"a","image":"b","livenessProbe":{"httpGet":{"host":"10.0.0.1","port":80}}}]}}`), []byte(nil))
	f.Add([]byte(`{"podTemplate":{"containers":[{"name":"a","image":"b","startupProbe":{"tcpSocket":{"host":"127.0.0.1","port":80}}}]}}`), []byte(nil))
	f.Add([]byte(`{"podTemplate":{"env":[{"name":"NGINX_OPERATOR_POD_UID","value":"another"}]}}`), []byte(nil))
	f.Add([]byte(nil), []byte("anything"))
	restricted, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text, fill []byte) {
		nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u1"}}
		if json.Unmarshal(text, &nginx.Spec) != nil || len(fill) > 0 {
			nginx.Spec = v1alpha2.NginxOperatorSpec{}
			filler(fill).Fill(&nginx.Spec)
		}
		plan, _, err := planFor(revision.Input{Nginx: nginx, Options: options})
		if err != nil {
			t.Fatalf("a spec is no reason to fail: %v", err)
		}
		for _, intent := range plan.Intents {
			if intent.ShouldExist() {
				checkIntent(t, nginx, intent)
			}
		}
		if d := deploymentOf(t, plan); d != nil {
			checkTemplate(t, restricted, nginx, &d.Spec.Template)
		}
	})
}

// attempts are strings that have a meaning to the API, a shell or nginx.
var attempts = []string{
	"", "a", "nginx", "config", "scratch", "instance", "default", "other/secret", "../../x", "/", "//", "/etc/nginx-operator/stable",
	"/etc//nginx-operator/stable", "/proc", "10.0.0.1", "127.0.0.1", "unconfined", "runtime/default",
	naming.LabelApplication, naming.AnnotationConfig, naming.AnnotationTemplate, "app.kubernetes.io/instance",
	"container.apparmor.security.beta.kubernetes.io/nginx", "container.seccomp.security.alpha.kubernetes.io/nginx",
	"seccomp.security.alpha.kubernetes.io/pod", "a;}\ndaemon on;#", "--drain-delay=0s", "$(X)", "{{.}}", "\x00", "\u0085", "\u202e", "\ufeff",
	"Always", "OnFailure", "UDP", strings.Repeat("x", 300),
}

// filler fills values from bytes, with short lists and with strings from attempts.
func filler(source []byte) *randfill.Filler {
	return randfill.NewFromGoFuzz(source).NilChance(0.5).NumElements(0, 2).MaxDepth(20).Funcs(
		func(s *string, c randfill.Continue) { *s = attempts[c.Intn(len(attempts))] },
		func(q *resource.Quantity, c randfill.Continue) {
			*q = *resource.NewQuantity(c.Int63(), resource.DecimalSI)
		},
		func(v *intstr.IntOrString, c randfill.Continue) { *v = intstr.FromInt32(c.Int31()) },
	)
}

func deploymentOf(t *testing.T, plan *plan) *appsv1.Deployment {
	t.Helper()
	for _, intent := range plan.Intents {
		if intent.Kind.Name != "Deployment" || !intent.ShouldExist() {
			continue
		}
		d := &appsv1.Deployment{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(intent.Fields, d); err != nil {
			t.Fatal(err)
		}
		return d
	}
	return nil
}

// checkIntent checks that the object is in the namespace, is owned, and has a valid name.
func checkIntent(t *testing.T, nginx *v1alpha2.NginxOperator, intent owned.Intent) {
	t.Helper()
	// The schema validates the names of entries, which end the names of these kinds.
	derived := intent.Kind.Definition != "" && strings.HasPrefix(intent.Name, nginx.Name+"-")
	if *intent.Meta.Namespace != nginx.Namespace || !derived && len(validation.IsDNS1123Subdomain(intent.Name)) > 0 {
		t.Errorf("%s is called %s/%s", intent.Kind.Name, *intent.Meta.Namespace, intent.Name)
	}
	if owners := intent.Meta.OwnerReferences; len(owners) != 1 || *owners[0].UID != nginx.UID || !*owners[0].Controller {
		t.Errorf("%s has the owners %+v", intent.Kind.Name, owners)
	}
	labels := operatorLabels(nginx, intent)
	if diff := cmp.Diff(naming.Labels(nginx.Name), labels); diff != "" {
		t.Errorf("labels of the %s (-want +got):\n%s", intent.Kind.Name, diff)
	}
}

// operatorLabels returns the labels of an object without those that the spec may add.
func operatorLabels(nginx *v1alpha2.NginxOperator, intent owned.Intent) map[string]string {
	labels := maps.Clone(intent.Meta.Labels)
	if slices.Contains([]string{"Service", "Ingress", external.KindHTTPRoute}, intent.Kind.Name) {
		maps.DeleteFunc(labels, func(key, _ string) bool {
			return naming.Labels(nginx.Name)[key] == "" && !strings.HasPrefix(key, naming.Prefix)
		})
	}
	return labels
}

// checkTemplate checks that the template satisfies the restricted Pod Security Standard, contains
// no credentials, and keeps the operator's parts.
func checkTemplate(t *testing.T, standard policy.Evaluator, nginx *v1alpha2.NginxOperator, template *corev1.PodTemplateSpec) {
	t.Helper()
	// A volume without a source has no known type, and the API server rejects it anyway.
	template.Spec.Volumes = slices.DeleteFunc(template.Spec.Volumes, func(v corev1.Volume) bool { return v.VolumeSource == corev1.VolumeSource{} })
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	if result := policy.AggregateCheckResults(standard.EvaluatePod(level, &template.ObjectMeta, &template.Spec)); !result.Allowed {
		t.Errorf("the restricted standard forbids the pods: %s", result.ForbiddenDetail())
	}
	pod := &template.Spec
	if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken || pod.ServiceAccountName != podtemplate.ServiceAccount(nginx) {
		t.Error("the pods have the credentials of an account")
	}
	for key, value := range naming.Labels("web") {
		if template.Labels[key] != value {
			t.Errorf("label %s is %q", key, template.Labels[key])
		}
	}
	for key := range template.Annotations {
		if strings.HasPrefix(key, naming.Prefix) && key != naming.AnnotationTemplate && key != naming.AnnotationForceRedeploy {
			t.Errorf("annotation %s comes from the spec", key)
		}
	}
	checkContainers(t, pod)
	checkPodUID(t, pod)
	checkVolumes(t, pod)
}

// checkPodUID checks that the instance manager learns the UID of its pod from Kubernetes alone.
func checkPodUID(t *testing.T, pod *corev1.PodSpec) {
	t.Helper()
	var values []corev1.EnvVar
	for _, e := range pod.Containers[0].Env {
		if e.Name == instanceapi.EnvPodUID {
			values = append(values, e)
		}
	}
	if len(values) != 1 || values[0].ValueFrom == nil || values[0].ValueFrom.FieldRef == nil || values[0].ValueFrom.FieldRef.FieldPath != "metadata.uid" {
		t.Errorf("the pod's UID comes from %+v", values)
	}
}

func checkContainers(t *testing.T, pod *corev1.PodSpec) {
	t.Helper()
	if pod.InitContainers[0].Name != naming.InstallContainer || pod.InitContainers[0].Image != options.InstanceImage || len(pod.InitContainers[0].Env) > 0 {
		t.Errorf("the first container is %+v", pod.InitContainers[0])
	}
	nginx := pod.Containers[0]
	if nginx.Name != naming.NginxContainer || nginx.Command[0] != "/opt/nginx-operator/nginx-instance" || nginx.Command[1] != "run" || len(nginx.Args) > 0 {
		t.Errorf("nginx is started by %q %q", nginx.Command, nginx.Args)
	}
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		if s := c.SecurityContext; s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem {
			t.Errorf("the root file system of container %s can be written", c.Name)
		}
	}
}

// ours are the volumes of the manifest.
var ours = map[string]func(corev1.VolumeSource) bool{
	"instance":    func(v corev1.VolumeSource) bool { return v.EmptyDir != nil },
	"scratch":     func(v corev1.VolumeSource) bool { return v.EmptyDir != nil },
	"config":      func(v corev1.VolumeSource) bool { return v.ConfigMap != nil && v.ConfigMap.Name == "web-config" },
	"config-next": func(v corev1.VolumeSource) bool { return v.ConfigMap != nil && v.ConfigMap.Name == "web-config-next" },
}

// checkVolumes checks that the operator's volumes come first. A user's volume with the same name,
// which the schema forbids, would be the duplicate.
func checkVolumes(t *testing.T, pod *corev1.PodSpec) {
	t.Helper()
	missing := maps.Clone(ours)
	if !slices.ContainsFunc(pod.Containers[0].Command, func(arg string) bool { return arg == "--request-metrics=false" }) {
		missing["request-log"] = func(v corev1.VolumeSource) bool { return v.EmptyDir != nil && v.EmptyDir.SizeLimit != nil }
	}
	for _, v := range pod.Volumes {
		if is, ok := missing[v.Name]; ok && is(v.VolumeSource) {
			delete(missing, v.Name)
		} else if ok {
			t.Errorf("the volume %s is %+v", v.Name, v.VolumeSource)
		}
	}
	if len(missing) > 0 {
		t.Errorf("%d volumes of the operator's are missing", len(missing))
	}
}
