package agent

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/internal/must"
	"example.com/nginx-operator/internal/backup/listing"
)

const folderOf = "folder/shop/web/web-1-01234567"

// made returns a store with one backup, which was created an hour ago.
func made(t *testing.T, recipients ...string) *bench {
	t.Helper()
	s := aSnapshot(recipients...)
	s.Info.Recipients = recipients
	s.Info.TakenAt = now.Add(-2 * time.Hour)
	s.Info.Policy, s.Info.Trigger, s.Info.Reason = "all", "Change", "the first backup"
	s.Info.Application.State, s.Info.Application.Replicas, s.Info.Application.Generation = "0a1b", new(int32(3)), 7
	s.Documents = append(s.Documents,
		archive.File{Path: "configmaps/conf.yaml", Data: []byte("kind: ConfigMap\n")}, archive.File{Path: "revisions/3.yaml", Data: []byte("kind: ControllerRevision\n")})
	b := newBench(t, s)
	b.mountAll()
	b.Now = func() time.Time { return now.Add(-time.Hour) }
	_, err := b.Create(t.Context())
	must.Succeed(t, err)
	b.Now = func() time.Time { return now }
	return b
}

// TestAdopt: the contents of a backup are reported from its record and its archive alone.
func TestAdopt(t *testing.T) {
	identity, err := age.GenerateX25519Identity()
	must.Succeed(t, err)
	b := made(t, identity.Recipient().String())
	before := b.objects()
	b.UID = "01234567"
	result, err := b.Adopt(t.Context())
	must.Succeed(t, err)
	if result.Archive != "shop/web/web-1-01234567/data-1-n.tar.gz" || len(result.SHA256) != 64 || !result.CompletedAt.Equal(now.Add(-time.Hour)) {
		t.Errorf("result: %+v", result)
	}
	record, err := b.record(t.Context())
	must.Succeed(t, err)
	info := record.Info
	info.Secrets, info.Content, info.Recipients = nil, nil, nil
	if diff := cmp.Diff(info, result.Existing.Info); diff != "" {
		t.Errorf("info, -want +got:\n%s", diff)
	}
	want := v1alpha1.BackupContents{
		Files: result.Totals.Files, Bytes: result.Totals.Bytes, ConfigMaps: []string{"conf"}, Claims: []string{"films"}, Revisions: 1,
		Secrets: []string{"htpasswd", "shop-tls"}, EncryptedSecrets: []string{"shop-tls"},
	}
	if diff := cmp.Diff(want, result.Existing.Contents); diff != "" {
		t.Errorf("contents, -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(before, b.objects()); diff != "" {
		t.Errorf("on the claim, -before +after:\n%s", diff)
	}
}

func TestAdoptRefused(t *testing.T) {
	tests := []struct {
		name   string
		spoil  func(b *bench)
		reason string
		words  string
	}{
		{"no record", func(b *bench) { must.Succeed(b.t, os.Remove(filepath.Join(b.claim, folderOf, "backup.json"))) }, v1alpha1.ReasonStoreNotFound, "it has no backup.json"},
		{"no archive", func(b *bench) { must.Succeed(b.t, os.Remove(filepath.Join(b.claim, folderOf, "data-1-n.tar.gz"))) }, v1alpha1.ReasonStoreNotFound, "does not exist"},
		{"half an archive", func(b *bench) {
			must.Succeed(b.t, os.Truncate(filepath.Join(b.claim, folderOf, "data-1-n.tar.gz"), 99))
		}, v1alpha1.ReasonDamaged, "read shop/web"},
		{"another UID", func(b *bench) { b.UID = "7654" }, v1alpha1.ReasonStoreFailed, "another backup"},
		{"another application", func(b *bench) {
			b.move(folderOf, "folder/shop/api/web-1-01234567")
			b.Key = "shop/api/web-1-01234567"
		}, v1alpha1.ReasonPathInvalid, `for the application "web"`},
		{"another namespace", func(b *bench) {
			b.move(folderOf, "folder/attic/web/web-1-01234567")
			b.Key = "attic/web/web-1-01234567"
		}, v1alpha1.ReasonPathInvalid, `for the namespace "shop"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := made(t)
			tt.spoil(b)
			_, err := b.Adopt(t.Context())
			if err == nil {
				t.Fatal("it is adopted")
			}
			failure := Failed(err).Failure
			if failure.Reason != tt.reason || !strings.Contains(failure.Message, tt.words) {
				t.Errorf("%s: %s\nwant %s: …%s…", failure.Reason, failure.Message, tt.reason, tt.words)
			}
		})
	}
}

func (b *bench) move(from, to string) {
	b.t.Helper()
	must.Succeed(b.t, os.MkdirAll(filepath.Join(b.claim, filepath.Dir(to)), 0o755))
	must.Succeed(b.t, os.Rename(filepath.Join(b.claim, from), filepath.Join(b.claim, to)))
}

// setKnown mounts the list of known backups.
func (b *bench) setKnown(known listing.Known) {
	b.t.Helper()
	pieces, err := known.Pack()
	must.Succeed(b.t, err)
	b.write(filepath.Join(b.Dirs.Snapshot, "000"), string(pieces[0]))
	b.Key = "shop"
}

func TestList(t *testing.T) {
	const path = "web/web-1-01234567"
	found := listing.FoundBackup{Path: path, Policy: "all", Trigger: "Change", State: "0a1b", Replicas: new(int32(3)), TakenAt: now.Add(-2 * time.Hour).Unix()}
	tests := []struct {
		name  string
		known listing.Known
		spoil func(b *bench)
		want  listing.Report
	}{
		{name: "nothing is known", want: listing.Report{Backups: 1, Found: []listing.FoundBackup{found}}},
		{name: "all is known", known: listing.Known{path: listing.Expected}, want: listing.Report{Backups: 1}},
		{name: "all is known, and under way", known: listing.Known{path: listing.Open}, want: listing.Report{Backups: 1}},
		{name: "nothing is there", spoil: func(b *bench) { must.Succeed(b.t, os.RemoveAll(filepath.Join(b.claim, "folder/shop"))) }},
		{name: "what was missing is back", known: listing.Known{path: listing.Lost}, want: listing.Report{Backups: 1, Back: []string{path}}},
		{name: "what is known is gone", known: listing.Known{path: listing.Expected, "web/web-9-99999999": listing.Expected},
			want: listing.Report{Backups: 1, Missing: []string{"web/web-9-99999999"}}},
		{name: "what is gone need not be there", known: listing.Known{path: listing.Expected, "web/a-99999999": listing.Open, "web/b-99999999": listing.Lost},
			want: listing.Report{Backups: 1}},
		{name: "a known archive is gone", known: listing.Known{path: listing.Expected},
			spoil: func(b *bench) { must.Succeed(b.t, os.Remove(filepath.Join(b.claim, folderOf, "data-1-n.tar.gz"))) },
			want:  listing.Report{Backups: 1, Missing: []string{path}}},
		{name: "a known record is gone", known: listing.Known{path: listing.Expected},
			spoil: func(b *bench) { must.Succeed(b.t, os.Remove(filepath.Join(b.claim, folderOf, "backup.json"))) },
			want:  listing.Report{Missing: []string{path}}},
		{name: "a known record is spoilt", known: listing.Known{path: listing.Expected},
			spoil: func(b *bench) { b.write(filepath.Join(b.claim, folderOf, "backup.json"), "{}") },
			want:  listing.Report{Backups: 1}},
		{name: "a record is spoilt", spoil: func(b *bench) { b.write(filepath.Join(b.claim, folderOf, "backup.json"), "{}") },
			want: listing.Report{Backups: 1, Skipped: 1, Why: path + ": read shop/" + path + "/backup.json: backup refused: entry 'commit record': it does not name its format; restore another backup"}},
		{name: "a record without an archive", spoil: func(b *bench) { must.Succeed(b.t, os.Remove(filepath.Join(b.claim, folderOf, "data-1-n.tar.gz"))) },
			want: listing.Report{Backups: 1, Skipped: 1, Why: path + ": it has a record but no archive"}},
		{name: "an archive without a record", spoil: func(b *bench) { must.Succeed(b.t, os.Remove(filepath.Join(b.claim, folderOf, "backup.json"))) }},
		{name: "under another name", spoil: func(b *bench) { b.move(folderOf, "folder/shop/web/other-01234567") },
			want: listing.Report{Backups: 1, Skipped: 1, Why: "web/other-01234567: the record is for the backup 'web-1', but is stored under 'other'"}},
		{name: "of another namespace", spoil: func(b *bench) { b.move("folder/shop", "folder/shop-2") }},
		{name: "files of others", spoil: func(b *bench) {
			b.write(filepath.Join(b.claim, "folder/shop/readme"), "x")
			b.write(filepath.Join(b.claim, "folder/shop/web/web-1-01234567/notes/backup.txt"), "x")
		}, want: listing.Report{Backups: 1, Found: []listing.FoundBackup{found}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := made(t)
			b.setKnown(tt.known)
			if tt.spoil != nil {
				tt.spoil(b)
			}
			before := b.objects()
			result, err := b.List(t.Context())
			must.Succeed(t, err)
			got := listing.Report{
				Backups: result.Listing.Backups, Found: result.Listing.Found, Missing: result.Listing.Missing, Back: result.Listing.Back,
				More: result.Listing.More, Skipped: result.Listing.Skipped, Why: result.Listing.Why,
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(listing.Report{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(before, b.objects()); diff != "" {
				t.Errorf("on the claim, -before +after:\n%s", diff)
			}
		})
	}
}

// TestListFails: a store that cannot be reached leads to an error, and no backup is reported as
// missing.
func TestListFails(t *testing.T) {
	b := made(t)
	b.setKnown(listing.Known{"web/web-1-01234567": listing.Expected})
	must.Succeed(t, os.Rename(b.claim, b.claim+"-away"))
	result, err := b.List(t.Context())
	if err == nil || result.Listing != nil {
		t.Fatalf("it is listed: %+v", result.Listing)
	}
	if reason := Failed(err).Failure.Reason; reason != v1alpha1.ReasonStoreNotFound {
		t.Errorf("reason %s: %v", reason, err)
	}
	must.Succeed(t, os.RemoveAll(b.Dirs.Snapshot))
	if _, err := b.List(t.Context()); err == nil {
		t.Error("it is listed although nobody told what is known")
	}
}

// TestListedBackupsTakeNoMemory: whatever a store lists, only the backups that have objects are kept.
func TestListedBackupsTakeNoMemory(t *testing.T) {
	l := lister{Agent: &Agent{}, known: listing.Known{"web/web-1-01234567": listing.Open}, present: map[string]bool{}}
	for n := range 10_000 {
		must.Succeed(t, l.readFolder(t.Context(), folder{path: "web/" + strings.Repeat("x", 1+n%100) + strconv.Itoa(n)}))
	}
	must.Succeed(t, l.readFolder(t.Context(), folder{path: "web/web-1-01234567", archive: true}))
	if len(l.present) != 1 || l.report.Backups != 10_001 || len(l.report.Why) > 1000 {
		t.Errorf("%d backups are kept of %d: %s", len(l.present), l.report.Backups, l.report.Why)
	}
}
