package agent

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/internal/must"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/location"
	"example.com/nginx-operator/internal/backup/snapshot"
	"example.com/nginx-operator/internal/backup/store"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// bench is the pod of a job: an agent with directories as mount points, and a claim as its store.
type bench struct {
	*Agent
	t     *testing.T
	claim string
}

func newBench(t *testing.T, s snapshot.Snapshot) *bench {
	t.Helper()
	dir := t.TempDir()
	b := &bench{t: t, claim: filepath.Join(dir, "claim"), Agent: &Agent{
		Key: "shop/web/web-1-01234567", UID: "01234567-89ab", Attempt: 1, Nonce: "n",
		Now: func() time.Time { return now },
		Dirs: Dirs{
			Snapshot: filepath.Join(dir, "snapshot"), Content: filepath.Join(dir, "content"),
			Secrets: filepath.Join(dir, "secrets"), Scratch: filepath.Join(dir, "scratch"),
		},
	}}
	for _, folder := range []string{b.claim, b.Dirs.Snapshot, b.Dirs.Content, b.Dirs.Secrets, b.Dirs.Scratch} {
		must.Succeed(t, os.MkdirAll(folder, 0o755))
	}
	where, err := location.Parse("pvc://backups/folder")
	must.Succeed(t, err)
	b.Store, err = store.Open(t.Context(), where, store.Options{PVCRoot: b.claim})
	must.Succeed(t, err)
	t.Cleanup(func() { must.Succeed(t, b.Store.Close()) })
	pieces, err := s.Pack()
	must.Succeed(t, err)
	for i, piece := range pieces {
		b.write(filepath.Join(b.Dirs.Snapshot, fmt.Sprintf("%03d", i)), string(piece))
	}
	return b
}

func (b *bench) write(path, text string) {
	b.t.Helper()
	must.Succeed(b.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Succeed(b.t, os.WriteFile(path, []byte(text), 0o644))
}

// objects returns the files on the claim.
func (b *bench) objects() []string {
	b.t.Helper()
	var found []string
	must.Succeed(b.t, filepath.WalkDir(b.claim, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			name, err := filepath.Rel(b.claim, path)
			must.Succeed(b.t, err)
			found = append(found, name)
		}
		return err
	}))
	slices.Sort(found)
	return found
}

// aSnapshot returns the snapshot of an application with one volume, a certificate and another
// Secret.
func aSnapshot(recipients ...string) snapshot.Snapshot {
	return snapshot.Snapshot{
		Info: archive.Info{
			Format: archive.Format, Name: "web-1", UID: "01234567-89ab", Namespace: "shop", TakenAt: now, Trigger: "Manual",
			OperatorVersion: "0.4.0", Image: "nginx:1.30", ConfigRevision: "r1",
			Application: archive.Application{Name: "web", UID: "web"},
			Content:     []archive.Volume{{Index: 0, Claim: "films", MountPath: "/srv/films"}},
			Secrets:     []archive.Secret{{Name: "htpasswd", UsedFor: "volume b"}, {Name: "shop-tls", UsedFor: "tls shop"}},
		},
		Documents:  []archive.File{{Path: "nginxoperator.yaml", Data: []byte("kind: NginxOperator\n")}},
		Volumes:    []snapshot.Volume{{Claim: "films", MountPath: "/srv/films"}},
		Secrets:    []snapshot.Secret{{Name: "htpasswd"}, {Name: "shop-tls", Certificate: true}},
		Recipients: recipients,
	}
}

const certificate = "-----BEGIN CERTIFICATE-----\nAAEC\n-----END CERTIFICATE-----\n"

func (b *bench) mountAll() {
	b.write(b.Dirs.Content+"/0/a/film.txt", "a film")
	b.write(b.Dirs.Secrets+"/shop-tls/tls.crt", certificate)
}

var whole = []string{"folder/shop/web/web-1-01234567/backup.json", "folder/shop/web/web-1-01234567/data-1-n.tar.gz"}

func TestCreate(t *testing.T) {
	b := newBench(t, aSnapshot())
	b.mountAll()
	result, err := b.Create(t.Context())
	must.Succeed(t, err)
	if diff := cmp.Diff(whole, b.objects()); diff != "" {
		t.Errorf("on the claim, -want +got:\n%s", diff)
	}
	if result.Archive != "shop/web/web-1-01234567/data-1-n.tar.gz" || result.Size == 0 || len(result.SHA256) != 64 || result.Totals.Files < 3 || !result.CompletedAt.Equal(now) {
		t.Errorf("result: %+v", result)
	}
	commit, err := b.readCommit(t.Context())
	must.Succeed(t, err)
	// The content of the first certificate is the bytes 0, 1 and 2.
	if got, want := commit.Info.Secrets[1].Fingerprint, "sha256:ae4b3280e56e2faf83f414a6e3dabe9d5fbe18976544c05fed121accb85b53fc"; got != want {
		t.Errorf("fingerprint %s, want %s", got, want)
	}
	if commit.Info.Secrets[0].Fingerprint != "" {
		t.Error("something is told of a Secret that holds no certificate")
	}
	if left, err := os.ReadDir(b.Dirs.Scratch); err != nil || len(left) > 0 {
		t.Errorf("left in the scratch space: %v %v", left, err)
	}
}

// TestLeftOut: files that cannot be backed up are named in the result.
func TestLeftOut(t *testing.T) {
	b := newBench(t, aSnapshot())
	b.mountAll()
	must.Succeed(t, os.Symlink("/etc/passwd", b.Dirs.Content+"/0/link"))
	result, err := b.Create(t.Context())
	must.Succeed(t, err)
	if diff := cmp.Diff([]string{"content/0/link (link that leaves the volume)"}, result.Skipped); diff != "" || result.Totals.Skipped != 1 {
		t.Errorf("%d are skipped, -want +got:\n%s", result.Totals.Skipped, diff)
	}
}

// TestCreateAgain: an attempt after a success whose result was lost finds the backup, and needs
// nothing else.
func TestCreateAgain(t *testing.T) {
	b := newBench(t, aSnapshot())
	b.mountAll()
	first, err := b.Create(t.Context())
	must.Succeed(t, err)
	must.Succeed(t, os.RemoveAll(b.Dirs.Snapshot))
	b.Attempt = 2
	again, err := b.Create(t.Context())
	must.Succeed(t, err)
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("-first +again:\n%s", diff)
	}
	if diff := cmp.Diff(whole, b.objects()); diff != "" {
		t.Errorf("on the claim, -want +got:\n%s", diff)
	}
}

// TestCreateAfterDeath: files of attempts that died are not taken for a backup, and are deleted.
func TestCreateAfterDeath(t *testing.T) {
	b := newBench(t, aSnapshot())
	b.mountAll()
	b.write(filepath.Join(b.claim, "folder/shop/web/web-1-01234567/data-1-n.tar.gz"), "half an archi")
	b.write(filepath.Join(b.claim, "folder/shop/web/web-10/data-1-n.tar.gz"), "another's")
	b.Attempt = 2
	_, err := b.Create(t.Context())
	must.Succeed(t, err)
	want := []string{"folder/shop/web/web-1-01234567/backup.json", "folder/shop/web/web-1-01234567/data-2-n.tar.gz", "folder/shop/web/web-10/data-1-n.tar.gz"}
	if diff := cmp.Diff(want, b.objects()); diff != "" {
		t.Errorf("on the claim, -want +got:\n%s", diff)
	}
}

// TestTwoAttempts: of two concurrent attempts, the first to commit wins.
func TestTwoAttempts(t *testing.T) {
	b := newBench(t, aSnapshot())
	b.mountAll()
	s, err := b.readSnapshot()
	must.Succeed(t, err)
	first, err := b.Agent.write(t.Context(), s)
	must.Succeed(t, err)
	other := *b.Agent
	other.Attempt = 2
	second, err := other.write(t.Context(), s)
	must.Succeed(t, err)
	_, err = other.commitArchive(t.Context(), second, nil)
	must.Succeed(t, err)
	result, err := b.commitArchive(t.Context(), first, nil)
	must.Succeed(t, err)
	if result.Archive != "shop/web/web-1-01234567/data-2-n.tar.gz" {
		t.Errorf("the archive is %s, which was not committed first", result.Archive)
	}
	want := []string{"folder/shop/web/web-1-01234567/backup.json", "folder/shop/web/web-1-01234567/data-2-n.tar.gz"}
	if diff := cmp.Diff(want, b.objects()); diff != "" {
		t.Errorf("on the claim, -want +got:\n%s", diff)
	}
}

func TestCreateRefused(t *testing.T) {
	tests := []struct {
		name   string
		spoil  func(b *bench)
		reason string
		words  string
	}{
		{"no snapshot", func(b *bench) { must.Succeed(b.t, os.RemoveAll(b.Dirs.Snapshot)) }, v1alpha1.ReasonSourceFailed, "no snapshot"},
		{"half a snapshot", func(b *bench) { must.Succeed(b.t, os.Truncate(b.Dirs.Snapshot+"/000", 20)) }, v1alpha1.ReasonSourceFailed, "unpack the snapshot"},
		{"no volume", func(b *bench) { must.Succeed(b.t, os.RemoveAll(b.Dirs.Content+"/0")) }, v1alpha1.ReasonSourceFailed, "PersistentVolumeClaim films"},
		{"a path that is too long", func(b *bench) { b.write(b.Dirs.Content+"/0/"+strings.Repeat("a/", 200)+"b", "x") }, v1alpha1.ReasonSourceFailed, "content/0/"},
		{"another's record", func(b *bench) {
			other := newBench(b.t, aSnapshot())
			other.mountAll()
			_, err := other.Create(b.t.Context())
			must.Succeed(b.t, err)
			must.Succeed(b.t, os.CopyFS(b.claim, os.DirFS(other.claim)))
			b.UID = "another"
		}, v1alpha1.ReasonStoreFailed, "another backup"},
		{"a record that is none", func(b *bench) {
			b.write(filepath.Join(b.claim, "folder/shop/web/web-1-01234567/backup.json"), "{}")
		}, v1alpha1.ReasonDamaged, "format"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, aSnapshot())
			b.mountAll()
			tt.spoil(b)
			before := b.objects()
			_, err := b.Create(t.Context())
			if err == nil {
				t.Fatal("it is backed up")
			}
			failure := Failed(err).Failure
			if failure.Reason != tt.reason || !strings.Contains(failure.Message, tt.words) {
				t.Errorf("%s: %s\nwant %s: …%s…", failure.Reason, failure.Message, tt.reason, tt.words)
			}
			if diff := cmp.Diff(before, b.objects()); diff != "" {
				t.Errorf("on the claim, -before +after:\n%s", diff)
			}
		})
	}
}

// TestVerifyFails: an archive that differs from what was written fails with the reason Damaged.
func TestVerifyFails(t *testing.T) {
	b := newBench(t, aSnapshot())
	b.mountAll()
	s, err := b.readSnapshot()
	must.Succeed(t, err)
	commit, err := b.Agent.write(t.Context(), s)
	must.Succeed(t, err)
	path := filepath.Join(b.claim, "folder/shop/web/web-1-01234567/data-1-n.tar.gz")
	text, err := os.ReadFile(path)
	must.Succeed(t, err)
	text[len(text)/2] ^= 1
	must.Succeed(t, os.WriteFile(path, text, 0o644))
	_, err = b.verify(t.Context(), commit)
	if err == nil {
		t.Fatal("a flipped bit was not noticed")
	}
	if reason := Failed(err).Failure.Reason; reason != v1alpha1.ReasonDamaged {
		t.Errorf("reason %s: %v", reason, err)
	}
}

// TestSecrets: an encrypted Secret is a manifest that restores it, with the type that its users need.
func TestSecrets(t *testing.T) {
	identity, err := age.GenerateX25519Identity()
	must.Succeed(t, err)
	s := aSnapshot(identity.Recipient().String())
	s.Secrets = slices.Insert(s.Secrets, 1, snapshot.Secret{Name: "registry"})
	s.Info.Secrets = slices.Insert(s.Info.Secrets, 1, archive.Secret{Name: "registry", UsedFor: "pulling images"})
	b := newBench(t, s)
	b.mountAll()
	b.write(b.Dirs.Secrets+"/registry/.dockerconfigjson", "{}")
	b.write(b.Dirs.Secrets+"/shop-tls/tls.key", "the private key")
	result, err := b.Create(t.Context())
	must.Succeed(t, err)
	if diff := cmp.Diff([]string{"htpasswd"}, result.Missing); diff != "" {
		t.Errorf("missing, -want +got:\n%s", diff)
	}
	commit, err := b.readCommit(t.Context())
	must.Succeed(t, err)
	in, _, err := b.Store.Open(t.Context(), result.Archive)
	must.Succeed(t, err)
	contents, err := archive.Verify(t.Context(), in, *commit, archive.DefaultLimits())
	must.Succeed(t, err)
	must.Succeed(t, in.Close())
	if diff := cmp.Diff([]string{"registry", "shop-tls"}, contents.Secrets); diff != "" {
		t.Errorf("encrypted, -want +got:\n%s", diff)
	}
	for name, parts := range map[string][]string{
		"registry": {"type: kubernetes.io/dockerconfigjson", ".dockerconfigjson: e30="},
		"shop-tls": {"kind: Secret", "type: kubernetes.io/tls", "tls.key: dGhlIHByaXZhdGUga2V5"},
	} {
		plain := decrypt(t, filepath.Join(b.claim, "folder", result.Archive), "secrets/"+name+".age", identity)
		for _, part := range parts {
			if !strings.Contains(plain, part) {
				t.Errorf("%q is missing in:\n%s", part, plain)
			}
		}
	}
}

func TestDelete(t *testing.T) {
	b := newBench(t, aSnapshot())
	b.mountAll()
	_, err := b.Create(t.Context())
	must.Succeed(t, err)
	b.write(filepath.Join(b.claim, "folder/shop/web/web-1-01234567/data-7-n.tar.gz"), "left over")
	b.write(filepath.Join(b.claim, "folder/shop/web/web-10/data-1-n.tar.gz"), "another's")
	for range 2 {
		result, err := b.Delete(t.Context())
		must.Succeed(t, err)
		if !result.Deleted {
			t.Errorf("result: %+v", result)
		}
	}
	if diff := cmp.Diff([]string{"folder/shop/web/web-10/data-1-n.tar.gz"}, b.objects()); diff != "" {
		t.Errorf("on the claim, -want +got:\n%s", diff)
	}
}

// TestStopped: an attempt that is stopped leaves no archive.
func TestStopped(t *testing.T) {
	b := newBench(t, aSnapshot())
	b.mountAll()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Create(ctx); err == nil {
		t.Error("it goes on")
	}
	if found := b.objects(); len(found) > 0 {
		t.Errorf("it leaves %v", found)
	}
}

func TestResultsCanBeRead(t *testing.T) {
	b := newBench(t, aSnapshot())
	b.mountAll()
	result, err := b.Create(t.Context())
	must.Succeed(t, err)
	path := filepath.Join(t.TempDir(), "result")
	must.Succeed(t, result.Write(path))
	text, err := os.ReadFile(path)
	must.Succeed(t, err)
	read, err := job.ParseResult(job.Create, string(text))
	must.Succeed(t, err)
	if diff := cmp.Diff(result, read); diff != "" {
		t.Errorf("-written +read:\n%s", diff)
	}
}

// decrypt reads an encrypted file of an archive with standard tools only: tar, gzip and age.
func decrypt(t *testing.T, path, name string, identity age.Identity) string {
	t.Helper()
	out, err := untar(path, name)
	must.Succeed(t, err)
	plain, err := age.Decrypt(bytes.NewReader(out), identity)
	must.Succeed(t, err)
	text, err := io.ReadAll(plain)
	must.Succeed(t, err)
	return string(text)
}
