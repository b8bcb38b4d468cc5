package install

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/test/testenv"
)

const flag = "--image=" + image

// TestLife: the operator is installed, upgraded, checked and removed. Each step begins with what the step before it left.
func TestLife(t *testing.T) {
	for _, step := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"before", before}, {"install", install}, {"wait", waits}, {"check", checks}, {"conflict", conflict}, {"downgrade", downgrade},
		{"other methods", otherMethods}, {"uninstall is refused", uninstallRefused}, {"keep applications", keepApplications},
		{"delete everything", deleteEverything},
	} {
		if !t.Run(step.name, step.run) {
			return
		}
	}
}

// before: nothing is changed by a check, a dry run, the manifests, or a user without rights.
func before(t *testing.T) {
	expect(t, 0, []string{"not installed", "you may install and upgrade", "kubectl nginx install"}, "check")
	expect(t, 2, []string{"you may not", "cluster-admin"}, "check", "--as=nobody")
	expect(t, 0, []string{"Deployment nginx-operator created (dry run)"}, "install", flag, "--dry-run")
	expect(t, 0, []string{"kind: CustomResourceDefinition", "image: " + image, "app.kubernetes.io/version: " + version}, "install", flag, "-o", "yaml")
	expect(t, 3, []string{"forbidden"}, "install", flag, "--as=nobody")
	expect(t, 1, []string{"--image is needed"}, "install")
	expect(t, 1, []string{"is the placeholder of the release"}, "install", "--image=example.com/nginx-operator:1.2.3")
	expect(t, 1, []string{"leave the flag out"}, "install", flag, "-n", "shop")
	expect(t, 1, []string{"set it to yaml"}, "install", flag, "-o", "wide")
	expect(t, 1, []string{"the operator is not installed"}, "uninstall")
	if exists(t, systemNamespace()) {
		t.Error("something is installed")
	}
}

// install: the same command installs, changes nothing, and upgrades.
func install(t *testing.T) {
	expect(t, 0, []string{"Namespace nginx-operator-system created", "ClusterRole nginx-operator created", "Deployment nginx-operator created", "Release 1.2.3 is installed"}, "install", flag)
	expect(t, 0, []string{"Namespace nginx-operator-system unchanged", "Deployment nginx-operator unchanged"}, "install", flag)
	expect(t, 0, []string{"Service nginx-operator-webhook unchanged", "Deployment nginx-operator configured"}, "install", "--image=registry.example.com/other:1", "--image-pull-secrets=a,b")
	pod := operator(t).Spec.Template.Spec
	if pod.Containers[0].Image != "registry.example.com/other:1" || len(pod.ImagePullSecrets) != 2 {
		t.Errorf("the pods are of %s, with the Secrets %v", pod.Containers[0].Image, pod.ImagePullSecrets)
	}
	expect(t, 0, []string{"Deployment nginx-operator configured"}, "install", flag)
	if pod := operator(t).Spec.Template.Spec; len(pod.ImagePullSecrets) != 0 || len(pod.Containers[0].Env) != 3 {
		t.Errorf("the Secrets are still there: %v", pod)
	}
}

// waits: --wait names the pod that does not start, and ends when the operator is ready.
func waits(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: testenv.SystemNamespace, Name: "stuck", Labels: operator(t).Spec.Selector.MatchLabels},
		Spec:       *operator(t).Spec.Template.Spec.DeepCopy(),
	}
	must(t, kube.Create(t.Context(), pod))
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "nginx-operator", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}}}}
	must(t, kube.Status().Update(t.Context(), pod))
	expect(t, 2, []string{"operator: 0 of 2 pods are up to date, 0 are available: pod stuck: ImagePullBackOff: no such image", "the operator is not ready in time"}, "install", flag, "--wait", "--timeout=3s")
	must(t, kube.Delete(t.Context(), pod, client.GracePeriodSeconds(0)))
	becomeReady(t)
	expect(t, 0, []string{"operator: 2 pods are ready"}, "install", flag, "--wait")
}

// checks: the check finds what is wrong, and nothing else.
func checks(t *testing.T) {
	expect(t, 1, []string{"release 1.2.3, 2 pods, installed with manifests", "serves v1alpha1, v1alpha2, stores v1alpha2", "nginx-operator-system: no pod leads", "the operator has not published it", "v1alpha1 cannot be written"}, "check")
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: testenv.SystemNamespace, Name: "nginx-operator"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("pod-1"), RenewTime: new(metav1.NowMicro())},
	}
	must(t, kube.Create(t.Context(), lease))
	serveConversion(t)
	expect(t, 0, []string{"pod-1", "converts v1alpha1", "valid until", "0, all ready"}, "check")
	checksWithRights(t)
	lease.Spec.RenewTime = new(metav1.NewMicroTime(time.Now().Add(-time.Hour)))
	must(t, kube.Update(t.Context(), lease))
	expect(t, 1, []string{"has not renewed its lease for 1h0m"}, "check")
	lease.Spec.RenewTime = new(metav1.NewMicroTime(time.Now()))
	must(t, kube.Update(t.Context(), lease))
	must(t, kube.Create(t.Context(), &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}))
	expect(t, 2, []string{"1 of 1 are not ready: default/web", "kubectl nginx list -A"}, "check")
	expect(t, 2, []string{"not checked", "let a user check who may read it"}, "check", "--as=nobody")
}

// checksWithRights: the rights that docs/kubectl-nginx.md names are enough for all checks.
func checksWithRights(t *testing.T) {
	t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "checker"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"list"}},
		{APIGroups: []string{"operator.example.com"}, Resources: []string{"nginxoperators"}, Verbs: []string{"list", "create"}},
		{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, Verbs: []string{"get"}},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get"}},
	}}
	must(t, kube.Create(t.Context(), role))
	must(t, kube.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "checker"}},
	}))
	polling.Eventually(t, "everything is checked", func() error {
		got := kubectlNginx(t, "check", "--as=checker")
		if strings.Contains(got.output, "not checked") || !strings.Contains(got.output, "you may not") || got.code != 2 {
			return fmt.Errorf("exit code %d: %s", got.code, got.output)
		}
		return nil
	})
}

// serveConversion runs the operator, and has the CRD name its webhook: no Service leads anywhere here.
func serveConversion(t *testing.T) {
	t.Helper()
	port, err := testenv.FreePort()
	must(t, err)
	var installed *apiextensionsv1.WebhookClientConfig
	must(t, plane.ChangeCRD(t.Context(), func(d *apiextensionsv1.CustomResourceDefinition) {
		installed = d.Spec.Conversion.Webhook.ClientConfig.DeepCopy()
		d.Spec.Conversion.Webhook.ClientConfig = &apiextensionsv1.WebhookClientConfig{URL: new(fmt.Sprintf("https://localhost:%d/convert", port))}
	}))
	background := context.WithoutCancel(t.Context())
	stop, err := plane.StartOperator(background, port, nil)
	must(t, err)
	t.Cleanup(func() {
		must(t, stop())
		must(t, plane.ChangeCRD(background, func(d *apiextensionsv1.CustomResourceDefinition) { d.Spec.Conversion.Webhook.ClientConfig = installed }))
	})
}

// conflict: fields of another client are taken over only if the user says so.
func conflict(t *testing.T) {
	const other = "registry.example.com/mirror:1"
	change(t, func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = other })
	expect(t, 1, []string{"conflict with \"another\"", "--force-conflicts takes these fields over"}, "install", flag)
	if operator(t).Spec.Template.Spec.Containers[0].Image != other {
		t.Error("the field was taken over")
	}
	expect(t, 0, []string{"Deployment nginx-operator configured"}, "install", flag, "--force-conflicts")
}

// downgrade: neither an older release nor a schema with fewer fields is installed by accident.
func downgrade(t *testing.T) {
	change(t, func(d *appsv1.Deployment) { d.Labels["app.kubernetes.io/version"] = "1.10.0" })
	expect(t, 1, []string{"release 1.10.0 is installed, which is newer than 1.2.3"}, "install", flag, "--force-conflicts")
	change(t, func(d *appsv1.Deployment) { d.Labels["app.kubernetes.io/version"] = version })
	must(t, plane.ChangeCRD(t.Context(), func(d *apiextensionsv1.CustomResourceDefinition) {
		for i := range d.Spec.Versions {
			spec := d.Spec.Versions[i].Schema.OpenAPIV3Schema.Properties["spec"]
			spec.Properties["later"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
		}
	}))
	expect(t, 1, []string{"has what release 1.2.3 does not: v1alpha1 spec.later, v1alpha2 spec.later"}, "install", flag, "--force-conflicts")
	expect(t, 0, nil, "install", flag, "--force-conflicts", "--allow-downgrade")
}

// otherMethods: operators of Helm, OLM and of certain namespaces are left alone.
func otherMethods(t *testing.T) {
	for about, tt := range map[string]struct {
		edit            func(*appsv1.Deployment)
		install, remove string
	}{
		"Helm": {func(d *appsv1.Deployment) {
			d.Labels["app.kubernetes.io/managed-by"] = "Helm"
			d.Annotations = map[string]string{"meta.helm.sh/release-name": "mine"}
		}, "helm upgrade mine", "helm uninstall mine -n nginx-operator-system"},
		"OLM": {func(d *appsv1.Deployment) { d.Labels["olm.owner"] = "nginx-operator.v1.2.3" }, "Subscription in namespace nginx-operator-system", "Uninstalling by OLM"},
		"one namespace": {func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Args = []string{"--namespaces=shop"} },
			"installed for the namespaces shop", "For one namespace"},
	} {
		t.Run(about, func(t *testing.T) {
			restored := operator(t)
			change(t, tt.edit)
			expect(t, 1, []string{tt.install}, "install", flag, "--force-conflicts", "--allow-downgrade")
			expect(t, 1, []string{tt.remove}, "uninstall", "--keep-applications")
			change(t, func(d *appsv1.Deployment) {
				d.Labels, d.Annotations, d.Spec = restored.Labels, restored.Annotations, restored.Spec
			})
		})
	}
}

// uninstallRefused: nothing is removed before the user has decided about applications and backups.
func uninstallRefused(t *testing.T) {
	becomeReady(t)
	expect(t, 1, []string{"the cluster has 1 NginxOperator objects: --keep-applications leaves them", "--delete-applications deletes them"}, "uninstall")
	expect(t, 1, []string{"not both"}, "uninstall", "--keep-applications", "--delete-applications")
	expect(t, 1, []string{"--delete-crds would delete 1 NginxOperator objects"}, "uninstall", "--keep-applications", "--delete-crds")
	expect(t, 0, []string{"Deployment nginx-operator-system/nginx-operator deleted (dry run)", "1 NginxOperator objects stay"}, "uninstall", "--keep-applications", "--dry-run")
	expect(t, 0, []string{"NginxOperator default/web deleted (dry run)", "Namespace nginx-operator-system deleted (dry run)"}, "uninstall", "--delete-applications", "--dry-run")
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.SystemNamespace, Name: "backups"}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
	must(t, kube.Create(t.Context(), claim))
	expect(t, 0, []string{"Namespace nginx-operator-system stays, because it has PersistentVolumeClaims: backups"}, "uninstall", "--delete-applications", "--dry-run")
	claim.Finalizers = nil
	must(t, kube.Update(t.Context(), claim))
	must(t, client.IgnoreNotFound(kube.Delete(t.Context(), claim)))
	if operator(t).DeletionTimestamp != nil {
		t.Error("the operator is being deleted")
	}
}

// keepApplications: the operator is removed, and the API and the applications stay.
func keepApplications(t *testing.T) {
	expect(t, 0, []string{"Namespace nginx-operator-system deleted", "note: 1 NginxOperator objects stay", "note: the CustomResourceDefinitions stay"}, "uninstall", "--keep-applications")
	if exists(t, systemNamespace()) || !exists(t, &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}) {
		t.Error("the namespace is still there, or the application is not")
	}
	expect(t, 1, []string{"not installed, but its CustomResourceDefinitions are"}, "check")
	expect(t, 0, []string{"Deployment nginx-operator created"}, "install", flag, "--force-conflicts")
}

// deleteEverything: what the operator helps to delete is gone before the operator is.
func deleteEverything(t *testing.T) {
	web := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	must(t, kube.Get(t.Context(), client.ObjectKeyFromObject(web), web))
	web.Finalizers = []string{"test.example.com/held"}
	must(t, kube.Update(t.Context(), web))
	expect(t, 1, []string{"NginxOperator default/web is still being deleted"}, "uninstall", "--delete-applications", "--delete-crds", "--timeout=3s")
	if operator(t).DeletionTimestamp != nil {
		t.Error("the operator is deleted before the applications are gone")
	}
	must(t, kube.Get(t.Context(), client.ObjectKeyFromObject(web), web))
	web.Finalizers = nil
	must(t, kube.Update(t.Context(), web))
	polling.Eventually(t, "the application is gone", func() error {
		if exists(t, web) {
			return errors.New("it still exists")
		}
		return nil
	})
	expect(t, 0, []string{"CustomResourceDefinition nginxoperators.operator.example.com deleted", "Namespace nginx-operator-system deleted"}, "uninstall", "--delete-applications", "--delete-crds")
	definitions := &apiextensionsv1.CustomResourceDefinitionList{}
	must(t, kube.List(t.Context(), definitions))
	if len(definitions.Items) > 0 {
		t.Errorf("%d definitions are still there", len(definitions.Items))
	}
	expect(t, 0, []string{"not installed"}, "check")
}
