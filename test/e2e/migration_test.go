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

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestMigrationJob: the Job of config/migration completes over all NginxOperators of the cluster,
// with its own few permissions. They are already stored in the newest version, so the test cannot
// show what a migration changes: test/api/migration does.
func TestMigrationJob(t *testing.T) {
	t.Parallel()
	nginx := create(t, newNamespace(t), "web", saying("hello", 0))
	dir := migrationOverlay(t)
	cleanup(t, func(ctx context.Context) error {
		output, err := exec.CommandContext(ctx, kubectlPath, "delete", "--ignore-not-found", "-k", dir).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, output)
		}
		return nil
	})
	if output, err := kubectl(t, "apply", "--server-side", "-k", dir); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "nginx-operator-migration"}}
	eventually(t, "the Job has completed", func() error {
		must(t, get(t, job))
		if job.Status.Succeeded == 0 {
			return fmt.Errorf("%+v", job.Status)
		}
		return nil
	})
	log, err := kubectl(t, "-n", operatorNamespace, "logs", "job/"+job.Name)
	must(t, err)
	if !strings.Contains(log, "Done: every object is stored as v1alpha2") {
		t.Errorf("it says:\n%s", log)
	}
	must(t, get(t, nginx))
}

// migrationOverlay creates an overlay of config/migration that uses the image under test and writes
// every object although that is not necessary. It returns the overlay's directory.
func migrationOverlay(t *testing.T) string {
	t.Helper()
	base, err := filepath.Abs("../../config/migration")
	must(t, err)
	dir := t.TempDir()
	relative, err := filepath.Rel(dir, base)
	must(t, err)
	colon := strings.LastIndex(operatorImage, ":")
	if colon < 0 {
		t.Fatalf("E2E_OPERATOR_IMAGE %q has no tag", operatorImage)
	}
	kustomization := fmt.Sprintf(`resources: [%s]
images: [{name: nginx-operator, newName: %s, newTag: %s}]
patches:
- target: {kind: Job}
  patch: |-
    - {op: replace, path: /spec/template/spec/containers/0/args, value: [migrate-storage, --force, --method=rewrite]}
`, relative, operatorImage[:colon], operatorImage[colon+1:])
	must(t, os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(kustomization), 0o600))
	return dir
}
