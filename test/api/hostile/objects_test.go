package hostile

import (
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/desired"
	"example.com/nginx-operator/internal/nginx/external"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/test/hostile"
)

// checkObjects checks what the operator has created for each application.
func checkObjects(t *testing.T, s sender, accepted []hostile.Case, reported map[string]outcome) {
	t.Helper()
	owners := map[string]string{}
	for _, c := range accepted {
		if c.Kind.Name == hostile.Nginx.Name {
			owners[reported[key(c)].uid] = c.Object
		}
	}
	kinds := append(desired.DistinctKinds(application.KindDeployment), desired.OptionalKinds(application.KindDeployment)...)
	for _, kind := range kinds {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GVK.GroupVersion().WithKind(kind.Name + "List"))
		if err := plane.Client.List(t.Context(), list, client.InNamespace(s.namespace)); err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			checkMeta(t, kind, &list.Items[i], owners)
		}
	}
	checkConfigMaps(t, s, owners)
	deployments := &appsv1.DeploymentList{}
	if err := plane.Client.List(t.Context(), deployments, client.InNamespace(s.namespace)); err != nil {
		t.Fatal(err)
	}
	templates := map[string]*corev1.PodTemplateSpec{}
	for i := range deployments.Items {
		if owner := owners[ownerOf(&deployments.Items[i])]; owner != "" {
			templates["Deployment "+owner] = &deployments.Items[i].Spec.Template
			checkPods(t, owner, &deployments.Items[i].Spec.Template)
		}
	}
	if len(templates) < 100 {
		t.Errorf("there are only %d Deployments, want 100 or more", len(templates))
	}
	admitted(t, s, templates)
}

func ownerOf(object metav1.Object) string {
	if owner := metav1.GetControllerOf(object); owner != nil {
		return string(owner.UID)
	}
	return ""
}

// checkMeta checks that an object has a derived name and only the operator's labels.
func checkMeta(t *testing.T, kind owned.Kind, object metav1.Object, owners map[string]string) {
	t.Helper()
	application := owners[ownerOf(object)]
	if application == "" {
		return
	}
	derived := []string{application, naming.ServiceAccount(application), naming.ConfigMap(application), naming.ConfigMapNext(application)}
	if !slices.Contains(derived, object.GetName()) && (kind.Definition == "" || !strings.HasPrefix(object.GetName(), application+"-")) {
		t.Errorf("%s %s is made for %s", kind.Name, object.GetName(), application)
	}
	labels := object.GetLabels()
	if slices.Contains([]string{external.KindHTTPRoute, "Service", "Ingress"}, kind.Name) {
		maps.DeleteFunc(labels, func(key, _ string) bool { return naming.Labels(application)[key] == "" })
	}
	if diff := cmp.Diff(naming.Labels(application), labels); diff != "" {
		t.Errorf("labels of %s %s (-want +got):\n%s", kind.Name, object.GetName(), diff)
	}
	for name := range object.GetAnnotations() {
		if !slices.Contains([]string{"Service", "ServiceAccount", "Ingress", external.KindHTTPRoute}, kind.Name) && !strings.HasPrefix(name, naming.Prefix) {
			t.Errorf("%s %s has the annotation %q", kind.Name, object.GetName(), name)
		}
	}
}

// checkConfigMaps checks that each file has a name that nginx needs no quotes for, and that the
// built-in configuration contains only the characters that it normally has.
func checkConfigMaps(t *testing.T, s sender, owners map[string]string) {
	t.Helper()
	list := &corev1.ConfigMapList{}
	if err := plane.Client.List(t.Context(), list, client.InNamespace(s.namespace)); err != nil {
		t.Fatal(err)
	}
	builtIn := regexp.MustCompile(`^[-# a-zA-Z0-9\n{};:./_\[\]$=*']*$`)
	for i := range list.Items {
		cm := &list.Items[i]
		if owners[ownerOf(cm)] == "" {
			continue
		}
		files := maps.Clone(cm.Data)
		files = nginxconf.Files(files).User()
		if _, err := nginxconf.New(files); err != nil {
			t.Errorf("ConfigMap %s: %v", cm.Name, err)
		}
		if text, is := cm.Data["default.conf"]; is && !builtIn.MatchString(text) {
			t.Errorf("the built-in configuration of %s is %q", cm.Name, text)
		}
	}
}

// argument matches the arguments of the instance manager.
var argument = regexp.MustCompile(`^(/opt/nginx-operator/nginx-instance|run|--[-a-z]+=[-a-z0-9]+|--port=[-a-z0-9]+:[0-9]+/(TCP|UDP)|--certificate=[-a-z0-9]+|--reload-on=/[^:]+)$`)

func checkPods(t *testing.T, application string, template *corev1.PodTemplateSpec) {
	t.Helper()
	pod := &template.Spec
	// The corpus names the account shop.
	accounts := []string{naming.ServiceAccount(application), "shop"}
	if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken || !slices.Contains(accounts, pod.ServiceAccountName) {
		t.Errorf("the pods of %s have the credentials of %s", application, pod.ServiceAccountName)
	}
	if labels := naming.Labels(application); template.Labels[naming.LabelApplication] != labels[naming.LabelApplication] {
		t.Errorf("the pods of %s are labelled as those of %q", application, template.Labels[naming.LabelApplication])
	}
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		if s := c.SecurityContext; s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem {
			t.Errorf("%s: the root file system of container %s can be written", application, c.Name)
		}
	}
	checkStart(t, application, pod)
}

func checkStart(t *testing.T, application string, pod *corev1.PodSpec) {
	t.Helper()
	nginx := pod.Containers[0]
	for _, part := range nginx.Command {
		if !argument.MatchString(part) {
			t.Errorf("nginx of %s is started with %q", application, part)
		}
	}
	install := pod.InitContainers[0]
	if nginx.Name != naming.NginxContainer || len(nginx.Args) > 0 || install.Name != naming.InstallContainer || install.Image != "nginx-operator:test" || len(install.Env) > 0 {
		t.Errorf("the containers of %s are %+v and %+v", application, install, nginx)
	}
}

// admitted checks that the API server, which enforces the restricted standard, admits a pod of each
// template, or rejects it for another reason, such as a missing priority class.
func admitted(t *testing.T, s sender, templates map[string]*corev1.PodTemplateSpec) {
	t.Helper()
	var group errgroup.Group
	group.SetLimit(atOnce)
	for what, template := range templates {
		group.Go(func() error {
			pod := &corev1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: template.Spec}
			pod.APIVersion, pod.Kind, pod.GenerateName = "v1", "Pod", "try-"
			body, err := json.Marshal(pod)
			if err != nil {
				return err
			}
			a, err := s.post(t.Context(), "api/v1 pods", "dryRun=All", string(body))
			if a.code != http.StatusCreated && strings.Contains(a.message, "PodSecurity") {
				t.Errorf("a pod of %s is not restricted: %.500s", what, a.message)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

// checkJobs checks that the pods of backup jobs are restricted as well, and that no variable, which
// may hold a credential, is expanded in their commands and arguments.
func checkJobs(t *testing.T, s sender) {
	t.Helper()
	list := &batchv1.JobList{}
	if err := plane.Client.List(t.Context(), list, client.InNamespace(s.namespace)); err != nil {
		t.Fatal(err)
	}
	templates := map[string]*corev1.PodTemplateSpec{}
	for i := range list.Items {
		template := &list.Items[i].Spec.Template
		templates["Job "+list.Items[i].Name] = template
		for _, part := range slices.Concat(template.Spec.Containers[0].Command, template.Spec.Containers[0].Args) {
			// The pod's own address is the only variable that a job's arguments use.
			if strings.Contains(strings.ReplaceAll(part, "$(POD_IP)", ""), "$(") || strings.ContainsAny(part, "\n\x00") {
				t.Errorf("job %s is started with %q", list.Items[i].Name, part)
			}
		}
	}
	if len(templates) == 0 {
		t.Error("there are no jobs")
	}
	admitted(t, s, templates)
}

// checkLog checks that every line is a JSON object of bounded length.
func checkLog(t *testing.T) {
	t.Helper()
	for _, line := range logged.all() {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Errorf("it is logged %.300q: %v", line, err)
		}
		if len(line) > 16<<10 {
			t.Errorf("a line of %d bytes is logged: %.500q", len(line), line)
		}
	}
}
