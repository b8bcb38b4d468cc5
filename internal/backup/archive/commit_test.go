package archive_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/internal/must"
	"example.com/nginx-operator/test/golden"
	"example.com/nginx-operator/test/hostilearchive"
)

func TestParseCommit(t *testing.T) {
	record := golden.Read(t, "testdata/commit.json")
	c, err := archive.ParseCommit([]byte(record))
	must.Succeed(t, err)
	again, err := c.Encode()
	must.Succeed(t, err)
	if diff := cmp.Diff(record, string(again)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// A field that a later version adds to the same format is ignored.
	_, err = archive.ParseCommit([]byte(strings.Replace(record, `"size"`, `"labels": {"a": "b"}, "size"`, 1)))
	must.Succeed(t, err)
}

func TestParseCommitRefuses(t *testing.T) {
	record := golden.Read(t, "testdata/commit.json")
	for _, c := range []struct{ name, old, with, want string }{
		{"later version", `"format": 1`, `"format": 2`, "made by a later version: format 2, this one reads 1; upgrade the operator"},
		{"later version with other types", `{`, `{"size": {"bytes": 1}, "format": 2, "x": `, "not valid JSON"},
		{"no version", `"format": 1`, `"formatted": 1`, "does not name its format"},
		{"version is text", `"format": 1`, `"format": "1"`, "not valid JSON"},
		{"not JSON", record, "format: 1", "not valid JSON"},
		{"empty", record, "", "not valid JSON"},
		{"two values", record, record + record, "not valid JSON"},
		{"cut", record, record[:len(record)/2], "not valid JSON"},
		{"size is a fraction", `"size": 1234`, `"size": 1.5`, "not valid JSON"},
		{"size is negative", `"size": 1234`, `"size": -1234`, "size -1234"},
		{"size is beyond numbers", `"size": 1234`, `"size": 99999999999999999999`, "not valid JSON"},
		{"digest", `"sha256": "00`, `"sha256": "0x`, "hexadecimal"},
		{"key", `shop/web/web-1.tar.gz`, `shop/../../x`, "not a valid key of a store"},
		{"key with backslash", `shop/web/web-1.tar.gz`, `shop\\x`, "not a valid key of a store"},
		{"empty key", `shop/web/web-1.tar.gz`, ``, "not a valid key of a store"},
		{"time", `2026-11-21T12:00:00Z`, `yesterday`, "not valid JSON"},
		{"no time", `2026-11-21T12:00:00Z`, `0001-01-01T00:00:00Z`, "takenAt"},
		{"many volumes", `"format": 1`, `"info": {"content": [` + strings.Repeat("{},", 600_000) + `{}]}, "format": 1`, "items"},
		{"deep", `"format": 1`, `"x": ` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `, "format": 1`, "nested"},
		{"long string", `"format": 1`, `"x": "` + strings.Repeat("x", 1<<20) + `", "format": 1`, "one string"},
		{"huge", record, strings.Repeat(" ", 2<<20) + record, "at most 2097152 are allowed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := archive.ParseCommit([]byte(strings.Replace(record, c.old, c.with, 1)))
			refused(t, err, c.want)
		})
	}
}

// TestOldArchive: an archive and a record that a release wrote can still be read. These files are
// never written again.
func TestOldArchive(t *testing.T) {
	text, err := os.ReadFile("testdata/format-1.tar.gz")
	must.Succeed(t, err)
	commit, err := archive.ParseCommit([]byte(golden.Read(t, "testdata/format-1.json")))
	must.Succeed(t, err)
	contents, err := archive.Verify(t.Context(), bytes.NewReader(text), commit, archive.DefaultLimits())
	must.Succeed(t, err)
	if len(contents.Documents) != 6 || len(contents.Content) != 1 || contents.Content[0].Files != 8 || len(contents.Secrets) != 1 {
		t.Errorf("it holds %+v", contents)
	}
}

// FuzzVerify: restoring an archive that Verify accepts never writes outside the volume. It changes
// the tars of the corpus, with records that match them.
func FuzzVerify(f *testing.F) {
	for _, c := range hostilearchive.Corpus(hostilearchive.Namespace) {
		text, commit := c.Build()
		record, err := json.Marshal(commit)
		must.Succeed(f, err)
		if tar, err := unzip(text); err == nil && len(tar) < 64<<10 {
			f.Add(tar, record)
		}
	}
	text, commit := hostilearchive.Honest(hostilearchive.Namespace)
	record, err := json.Marshal(commit)
	must.Succeed(f, err)
	tar, err := unzip(text)
	must.Succeed(f, err)
	f.Add(tar, record)
	f.Fuzz(func(t *testing.T, tar, record []byte) {
		commit, err := archive.ParseCommit(record)
		if err != nil {
			return
		}
		text := fitting(t, tar, &commit)
		limits := archive.DefaultLimits()
		limits.Bytes = 1 << 20
		if _, err := archive.Verify(t.Context(), bytes.NewReader(text), commit, limits); err != nil {
			refused(t, err, "")
			return
		}
		staysInside(t, text, commit)
	})
}

// FuzzParseCommit: a record from an untrusted source is refused with a short error on one line. An
// accepted one does not lead out of a folder, and is unchanged when it is written again.
func FuzzParseCommit(f *testing.F) {
	record := golden.Read(f, "testdata/commit.json")
	f.Add([]byte(record))
	f.Add([]byte(golden.Read(f, "testdata/format-1.json")))
	f.Add([]byte(strings.Replace(record, `shop/web/web-1.tar.gz`, `../\u001b[31mshop`, 1)))
	f.Add([]byte(`{"format": 1, "format": 2, "size": -0, "info": null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := archive.ParseCommit(data)
		if err != nil {
			refused(t, err, "")
			return
		}
		if strings.HasPrefix(c.Archive, "/") || strings.Contains("/"+c.Archive+"/", "/../") {
			t.Errorf("the archive is %q", c.Archive)
		}
		text, err := c.Encode()
		must.Succeed(t, err)
		again, err := archive.ParseCommit(text)
		must.Succeed(t, err)
		if diff := cmp.Diff(c, again, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("it is another one when it is written again:\n%s", diff)
		}
	})
}
