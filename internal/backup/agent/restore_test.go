package agent

import (
	"context"
	"encoding/json"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/internal/must"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/restoration"
)

// film is the content of the volume in the backup, apart from a link and an empty directory.
var film = map[string]string{"a/film.txt": "a film", "a/other.txt": "another film", "b/c/last.txt": "the last film"}

// backedUp returns a pod that restores a backup, with an empty volume.
func backedUp(t *testing.T) *bench {
	t.Helper()
	b := newBench(t, aSnapshot())
	for name, text := range film {
		b.write(b.Dirs.Content+"/0/"+name, text)
	}
	must.Succeed(t, os.Symlink("a/film.txt", b.Dirs.Content+"/0/link"))
	must.Succeed(t, os.Mkdir(b.Dirs.Content+"/0/empty", 0o755))
	_, err := b.Create(t.Context())
	must.Succeed(t, err)
	must.Succeed(t, os.RemoveAll(b.Dirs.Content+"/0"))
	must.Succeed(t, os.Mkdir(b.Dirs.Content+"/0", 0o755))
	return b
}

// volume returns the files in the volume with their content, and the links with their targets.
func (b *bench) volume() map[string]string {
	b.t.Helper()
	found := map[string]string{}
	root := b.Dirs.Content + "/0"
	must.Succeed(b.t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		name, err := filepath.Rel(root, path)
		must.Succeed(b.t, err)
		switch entry.Type() {
		case fs.ModeDir:
			found[name+"/"] = ""
		case fs.ModeSymlink:
			found[name], err = os.Readlink(path)
		default:
			var text []byte
			text, err = os.ReadFile(path)
			found[name] = string(text)
		}
		return err
	}))
	return found
}

// restored returns the content of the volume after a restore.
func restored() map[string]string {
	want := map[string]string{"a/": "", "b/": "", "b/c/": "", "empty/": "", "link": "a/film.txt"}
	maps.Copy(want, film)
	return want
}

func (b *bench) has(want map[string]string) {
	b.t.Helper()
	if diff := cmp.Diff(want, b.volume()); diff != "" {
		b.t.Errorf("in the volume, -want +got:\n%s", diff)
	}
}

func refusing() ExtractOptions { return ExtractOptions{Volumes: []int{0}, OnConflict: archive.Refuse} }

func TestExtract(t *testing.T) {
	b := backedUp(t)
	for _, want := range []restoration.VolumeComparison{{Missing: 4}, {Same: 4}} {
		result, err := b.Extract(t.Context(), refusing())
		must.Succeed(t, err)
		if diff := cmp.Diff(job.Result{Volumes: []restoration.VolumeComparison{want}, CompletedAt: new(now)}, result); diff != "" {
			t.Errorf("result, -want +got:\n%s", diff)
		}
		b.has(restored())
	}
}

func TestExtractConflict(t *testing.T) {
	b := backedUp(t)
	b.write(b.Dirs.Content+"/0/b/c/last.txt", "mine")
	b.write(b.Dirs.Content+"/0/mine.txt", "mine")
	before := b.volume()
	_, err := b.Extract(t.Context(), refusing())
	failedWith(t, err, v1alpha1.ReasonConflict, "content/0/b/c/last.txt")
	b.has(before)

	result, err := b.Extract(t.Context(), ExtractOptions{Volumes: []int{0}, OnConflict: archive.Overwrite})
	must.Succeed(t, err)
	if diff := cmp.Diff([]restoration.VolumeComparison{{Missing: 3, Differs: 1, Examples: "b/c/last.txt"}}, result.Volumes); diff != "" {
		t.Errorf("result, -want +got:\n%s", diff)
	}
	want := restored()
	want["mine.txt"] = "mine"
	b.has(want)
}

// TestExtractBlocked: a directory is never overwritten.
func TestExtractBlocked(t *testing.T) {
	b := backedUp(t)
	b.write(b.Dirs.Content+"/0/a/film.txt/precious", "mine")
	before := b.volume()
	_, err := b.Extract(t.Context(), ExtractOptions{Volumes: []int{0}, OnConflict: archive.Overwrite})
	failedWith(t, err, v1alpha1.ReasonConflict, "content/0/a/film.txt")
	b.has(before)
}

func failedWith(t *testing.T, err error, reason, words string) {
	t.Helper()
	if err == nil {
		t.Fatal("it does not fail")
	}
	if failure := Failed(err).Failure; failure.Reason != reason || !strings.Contains(failure.Message, words) {
		t.Errorf("%s: %s\nwant %s: …%s…", failure.Reason, failure.Message, reason, words)
	}
}

// TestMatch: what a restore would write is reported, and nothing is written.
func TestMatch(t *testing.T) {
	b := backedUp(t)
	b.write(b.Dirs.Content+"/0/a/film.txt", "mine")
	b.write(b.Dirs.Content+"/0/a/other.txt", film["a/other.txt"])
	must.Succeed(t, os.MkdirAll(b.Dirs.Content+"/0/b/c/last.txt", 0o700))
	before := b.volume()
	result, err := b.CompareVolumes(t.Context(), []int{0})
	must.Succeed(t, err)
	want := []restoration.VolumeComparison{{Same: 1, Missing: 1, Differs: 1, Blocked: 1, Examples: "a/film.txt, b/c/last.txt"}}
	if diff := cmp.Diff(want, result.Volumes); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if result.CompletedAt == nil {
		t.Error("it does not tell when it was completed")
	}
	b.has(before)
}

// TestExtractAfterDeath: the work of an attempt that died is completed, including a partly written
// file and a directory that was created but not filled.
func TestExtractAfterDeath(t *testing.T) {
	b := backedUp(t)
	b.write(b.Dirs.Content+"/0/a/film.txt", film["a/film.txt"])
	b.write(b.Dirs.Content+"/0/a/.nginx-operator-restore", "anothe")
	must.Succeed(t, os.MkdirAll(b.Dirs.Content+"/0/b/c", 0o700))
	result, err := b.Extract(t.Context(), refusing())
	must.Succeed(t, err)
	if diff := cmp.Diff([]restoration.VolumeComparison{{Same: 1, Missing: 3}}, result.Volumes); diff != "" {
		t.Errorf("result, -want +got:\n%s", diff)
	}
	b.has(restored())
}

// TestSourceRefused: a folder without the requested backup is neither read nor extracted.
func TestSourceRefused(t *testing.T) {
	folder := "folder/shop/web/web-1-01234567/"
	flip := func(b *bench, name string) {
		path := filepath.Join(b.claim, folder, name)
		text, err := os.ReadFile(path)
		must.Succeed(b.t, err)
		text[len(text)/2] ^= 1
		must.Succeed(b.t, os.WriteFile(path, text, 0o644))
	}
	// edit changes the record.
	edit := func(b *bench, change func(map[string]any)) {
		path := filepath.Join(b.claim, folder, "backup.json")
		text, err := os.ReadFile(path)
		must.Succeed(b.t, err)
		var record map[string]any
		must.Succeed(b.t, json.Unmarshal(text, &record))
		change(record)
		text, err = json.Marshal(record)
		must.Succeed(b.t, err)
		must.Succeed(b.t, os.WriteFile(path, text, 0o644))
	}
	tests := []struct {
		name   string
		spoil  func(*bench)
		reason string
		words  string
	}{
		{"another digest", func(b *bench) { b.SHA256 = strings.Repeat("0", 64) }, v1alpha1.ReasonDamaged, "the NginxBackup has sha256:0000"},
		{"no record", func(b *bench) { must.Succeed(b.t, os.Remove(filepath.Join(b.claim, folder, "backup.json"))) }, v1alpha1.ReasonBackupNotFound, "has no backup.json"},
		{"no folder", func(b *bench) { b.Key = "shop/web/web-2-01234567" }, v1alpha1.ReasonBackupNotFound, "shop/web/web-2-01234567"},
		{"half a record", func(b *bench) { must.Succeed(b.t, os.Truncate(filepath.Join(b.claim, folder, "backup.json"), 100)) }, v1alpha1.ReasonDamaged, "backup.json"},
		{"a record of a later version", func(b *bench) { edit(b, func(r map[string]any) { r["format"] = 2 }) }, v1alpha1.ReasonDamaged, "later version"},
		{"a record of something outside", func(b *bench) { edit(b, func(r map[string]any) { r["archive"] = "../web-1/data" }) }, v1alpha1.ReasonDamaged, "not a valid key"},
		{"a record of another archive", func(b *bench) { edit(b, func(r map[string]any) { r["sha256"] = strings.Repeat("0", 64) }) }, v1alpha1.ReasonDamaged, "backup refused"},
		{"a damaged archive", func(b *bench) { flip(b, "data-1-n.tar.gz") }, v1alpha1.ReasonDamaged, "backup refused"},
		{"half an archive", func(b *bench) { must.Succeed(b.t, os.Truncate(filepath.Join(b.claim, folder, "data-1-n.tar.gz"), 300)) }, v1alpha1.ReasonDamaged, "backup refused"},
		{"no archive", func(b *bench) { must.Succeed(b.t, os.Remove(filepath.Join(b.claim, folder, "data-1-n.tar.gz"))) }, v1alpha1.ReasonStoreNotFound, "data-1-n.tar.gz"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := backedUp(t)
			tt.spoil(b)
			_, err := b.Read(t.Context(), ReadOptions{Listen: "no address"})
			failedWith(t, err, tt.reason, tt.words)
			_, err = b.CompareVolumes(t.Context(), []int{0})
			failedWith(t, err, tt.reason, tt.words)
			_, err = b.Extract(t.Context(), ExtractOptions{Volumes: []int{0}, OnConflict: archive.Overwrite})
			failedWith(t, err, tt.reason, tt.words)
			b.has(map[string]string{})
		})
	}
}

func TestExtractRefused(t *testing.T) {
	b := backedUp(t)
	_, err := b.Extract(t.Context(), ExtractOptions{Volumes: []int{7}, OnConflict: archive.Refuse})
	failedWith(t, err, v1alpha1.ReasonSourceFailed, "content/7")
	must.Succeed(t, os.Mkdir(b.Dirs.Content+"/7", 0o755))
	_, err = b.Extract(t.Context(), ExtractOptions{Volumes: []int{0, 7}, OnConflict: archive.Refuse})
	failedWith(t, err, v1alpha1.ReasonSourceFailed, "no content 7")
	_, err = b.Extract(t.Context(), ExtractOptions{Volumes: []int{0}, OnConflict: "Perhaps"})
	failedWith(t, err, v1alpha1.ReasonSourceFailed, "Perhaps")
	b.has(map[string]string{})
}

// address returns a local address that nothing listens on.
func address(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must.Succeed(t, err)
	defer listener.Close() //nolint:errcheck // nobody has used it
	return listener.Addr().String()
}

// TestRead: the verified declarations are served to a client with the token until the pod is
// stopped.
func TestRead(t *testing.T) {
	b := backedUp(t)
	ctx, cancel := context.WithCancel(t.Context())
	r := ReadOptions{Listen: address(t), Token: "token", Timeout: time.Hour}
	ended := make(chan error, 1)
	go func() {
		_, err := b.Read(ctx, r)
		ended <- err
	}()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	var answer *http.Response
	for answer == nil {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+r.Listen+"/documents", http.NoBody)
		must.Succeed(t, err)
		request.Header.Set("Authorization", "Bearer token")
		select {
		case err := <-ended:
			t.Fatal(err)
		case <-time.After(10 * time.Millisecond):
		}
		answer, _ = client.Do(request) //nolint:bodyclose // it is closed below
	}
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "application/x-tar" {
		t.Errorf("it answers %s", answer.Status)
	}
	must.Succeed(t, answer.Body.Close())
	cancel()
	failedWith(t, <-ended, v1alpha1.ReasonSourceFailed, "terminated")
}

func TestReadEnds(t *testing.T) {
	b := backedUp(t)
	_, err := b.Read(t.Context(), ReadOptions{Listen: address(t), Timeout: time.Millisecond})
	failedWith(t, err, v1alpha1.ReasonSourceFailed, "did not request the backup's declarations within 1ms")
	_, err = b.Read(t.Context(), ReadOptions{Listen: "no address", Timeout: time.Hour})
	failedWith(t, err, v1alpha1.ReasonSourceFailed, "listen")
}
