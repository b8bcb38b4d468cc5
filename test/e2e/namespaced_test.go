//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
)

// TestNamespaced: an operator that has only Roles, for one namespace, works there and nowhere else.
// The first operator is stopped meanwhile, so that only the second one can act.
func TestNamespaced(t *testing.T) {
	stopOperator(t)
	namespace, elsewhere := newNamespace(t), newNamespace(t)
	left := create(t, elsewhere, "web", saying("elsewhere", 1))
	installNamespaced(t, namespace)
	waitOperator(t, namespace)

	spec := saying("by a confined operator", 2)
	spec.Image = new(newestImage())
	nginx := createReady(t, namespace, "web", spec)
	waitAnswer(t, nginx, "by a confined operator")
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Config = says("edited") })
	waitReady(t, nginx)
	waitAnswer(t, nginx, "edited")

	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: operatorName}}
	must(t, get(t, lease))
	if ptr.Deref(lease.Spec.HolderIdentity, "") == "" {
		t.Error("no replica leads")
	}
	must(t, get(t, left))
	if len(left.Status.Conditions) > 0 {
		t.Errorf("the confined operator has reconciled namespace %s: %+v", elsewhere, left.Status)
	}
	checkNoForbidden(t, namespace)
	must(t, kube.Delete(t.Context(), nginx))
	waitNothingLeft(t, nginx)
}

// stopOperator stops the operator until the end of the test.
func stopOperator(t *testing.T) {
	t.Helper()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: operatorName}}
	must(t, get(t, d))
	replicas := d.Spec.Replicas
	t.Cleanup(func() { waitOperatorAgain(t) })
	cleanup(t, func(ctx context.Context) error {
		patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, ptr.Deref(replicas, 1))
		return kube.Patch(ctx, d, client.RawPatch(types.MergePatchType, patch))
	})
	update(t, d, func() { d.Spec.Replicas = new(int32(0)) })
	eventually(t, "the operator has stopped", func() error {
		if n := len(operatorPods(t, operatorNamespace)); n > 0 {
			return fmt.Errorf("%d pods still exist", n)
		}
		return nil
	})
}

// installNamespaced installs the operator for a namespace as an administrator of the namespace
// does, with the image under test: with kustomize, or with Helm if that is under test.
func installNamespaced(t *testing.T, namespace string) {
	t.Helper()
	if helmPath != "" {
		repository, tag := operatorImageParts(t)
		installNamespacedByHelm(t, namespace, repository, tag)
		return
	}
	applyKustomization(t, "namespaced", namespace)
}

// operatorImageParts returns the repository and the tag of the image under test.
func operatorImageParts(t *testing.T) (repository, tag string) {
	t.Helper()
	colon := strings.LastIndex(operatorImage, ":")
	if colon < 0 {
		t.Fatalf("E2E_OPERATOR_IMAGE %q has no tag", operatorImage)
	}
	return operatorImage[:colon], operatorImage[colon+1:]
}

// applyKustomization applies a kustomization of config/ in a namespace, with the image under test.
func applyKustomization(t *testing.T, name, namespace string) {
	t.Helper()
	base, err := filepath.Abs("../../config/" + name)
	must(t, err)
	repository, tag := operatorImageParts(t)
	dir := t.TempDir()
	relative, err := filepath.Rel(dir, base)
	must(t, err)
	kustomization := fmt.Sprintf("namespace: %s\nresources: [%s]\nimages: [{name: nginx-operator, newName: %s, newTag: %s}]\n",
		namespace, relative, repository, tag)
	must(t, os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(kustomization), 0o600))
	output, err := kubectl(t, "apply", "--server-side", "-k", dir)
	if err != nil {
		t.Fatalf("install: %v: %s", err, output)
	}
}

func installNamespacedByHelm(t *testing.T, namespace, repository, tag string) {
	t.Helper()
	run := func(ctx context.Context, args ...string) error {
		output, err := exec.CommandContext(ctx, helmPath, append(args, "--namespace", namespace)...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("helm %s: %w: %s", args[0], err, output)
		}
		return nil
	}
	cleanup(t, func(ctx context.Context) error { return run(ctx, "uninstall", "nginx-operator", "--ignore-not-found") })
	must(t, run(t.Context(), "install", "nginx-operator", "../../charts/nginx-operator", "--set", "crd.install=false",
		"--set", "watchNamespaces={"+namespace+"}", "--set", "image.repository="+repository, "--set", "image.tag="+tag))
}

// checkNoForbidden checks the operator's log for forbidden requests.
func checkNoForbidden(t *testing.T, namespace string) {
	t.Helper()
	for _, pod := range operatorPods(t, namespace) {
		text, err := operatorLog(t.Context(), &pod, nil)
		must(t, err)
		for line := range strings.Lines(text) {
			if strings.Contains(line, "forbidden") {
				t.Errorf("%s: %s", pod.Name, line)
			}
		}
	}
}
