//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	backupv1alpha1 "example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/test/hostilearchive"
)

// hostileShare is how many archives of the corpus there are for each that is restored.
const hostileShare = 12

// hostileKey is the key of an archive in the folder of its backup.
const hostileKey = "data-1-1.tar.gz"

// TestHostileArchives: someone who may write to the store replaces archives by hostile ones, with records that match. A restore
// refuses each of them, and writes nothing to the volume.
func TestHostileArchives(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	server := startS3(t, namespace)
	server.makeBucket(t, bucket)
	server.secret(t, namespace, "s3")
	newClaim(t, namespace, "honest")
	newClaim(t, namespace, "pages")
	destination := backupv1alpha1.Destination{URL: server.location(bucket, "nginx"), Secret: &backupv1alpha1.SecretReference{Name: "s3"}}
	restore := func(name, claim string, packed []byte, commit archive.Commit) *backupv1alpha1.NginxRestore {
		folder := namespace + "/web/" + name + "-b1"
		record, err := json.Marshal(commit)
		must(t, err)
		server.write(t, bucket, "nginx/"+folder+"/"+commit.Archive, packed)
		server.write(t, bucket, "nginx/"+folder+"/backup.json", record)
		return createRestore(t, namespace, name, backupv1alpha1.NginxRestoreSpec{
			Location: &backupv1alpha1.BackupLocation{Destination: destination, Path: folder}, Target: &backupv1alpha1.TargetReference{Name: "web"},
			Items: []backupv1alpha1.RestoreItem{backupv1alpha1.RestoreContent}, Claims: []backupv1alpha1.ClaimReplacement{{From: "pages", To: claim}},
		})
	}
	packed, commit := hostilearchive.Honest(namespace)
	commit.Archive = hostileKey
	waitRestore(t, restore("honest", "honest", packed, commit), backupv1alpha1.ConditionCompleted, backupv1alpha1.ReasonCompleted)
	if found := runOnClaims(t, namespace, "look-honest", "cat /claims/honest/a/link", "honest"); found != "<h1>hello</h1>\n" {
		t.Fatalf("the valid archive, as a control, restores %q", found)
	}

	restores := map[string]*backupv1alpha1.NginxRestore{}
	for i, c := range hostilearchive.Corpus(namespace) {
		if i%hostileShare != 0 {
			continue
		}
		packed, commit := c.Build()
		commit.Archive = hostileKey
		if _, err := archive.Verify(t.Context(), bytes.NewReader(packed), commit, archive.DefaultLimits()); err == nil {
			continue // It breaks limits that are lower than the default, or its record names another archive.
		}
		restores[c.Name] = restore(fmt.Sprintf("hostile-%d", i), "pages", packed, commit)
	}
	if len(restores) < 8 {
		t.Fatalf("%d archives of the corpus are restored", len(restores))
	}
	for name, r := range restores {
		eventually(t, name+": the restore ends", func() error {
			if err := get(t, r); err != nil {
				return err
			}
			c := meta.FindStatusCondition(r.Status.Conditions, backupv1alpha1.ConditionCompleted)
			if c == nil || c.Reason == backupv1alpha1.ReasonInProgress {
				return fmt.Errorf("the conditions are %+v", r.Status.Conditions)
			}
			t.Logf("%s: %s: %s", name, c.Reason, c.Message)
			if c.Reason != backupv1alpha1.ReasonDamaged {
				t.Errorf("%s: %s: %s, want %s", name, c.Reason, c.Message, backupv1alpha1.ReasonDamaged)
			}
			return nil
		})
	}
	if found := runOnClaims(t, namespace, "look", "ls -A /claims/pages", "pages"); found != "" {
		t.Errorf("on the volume there is:\n%s", found)
	}
}
