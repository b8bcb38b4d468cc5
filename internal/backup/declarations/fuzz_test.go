package declarations

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.com/nginx-operator/internal/backup/archive"
)

// FuzzRead: an answer from an untrusted program is refused, or is within bounds and unchanged when
// it is written again.
func FuzzRead(f *testing.F) {
	var honest bytes.Buffer
	head := BackupInfo{Info: archive.Info{Format: archive.Format, Namespace: "shop", Name: "web-1", Application: archive.Application{Name: "web"}}}
	if err := write(&honest, head, []archive.File{{Path: archive.ApplicationPath, Data: []byte(`{}`)}, {Path: "configmaps/a.yaml", Data: []byte("x")}}); err != nil {
		f.Fatal(err)
	}
	f.Add(honest.Bytes(), 1)
	f.Add(honest.Bytes()[:700], 1)
	f.Add(honest.Bytes(), 50)
	f.Add([]byte(nil), 1)
	f.Fuzz(func(t *testing.T, body []byte, times int) {
		got, files, err := parseTar(strings.NewReader(strings.Repeat(string(body), 1+times&0x3f)), func(int64) error { return nil })
		if err != nil {
			if len(err.Error()) > 1<<10 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			return
		}
		size := int64(0)
		for _, file := range files {
			size += int64(len(file.Path)+len(file.Data)) + fileCost
		}
		if got.Format == 0 || size > limit {
			t.Errorf("%d files of %d bytes are taken, of format %d", len(files), size, got.Format)
		}
		var again bytes.Buffer
		if err := write(&again, got, files); err != nil {
			return // The tar has a name or a time that write does not accept.
		}
		gotAgain, filesAgain, err := parseTar(&again, func(int64) error { return nil })
		if err != nil {
			t.Fatalf("handed over again it is refused: %v", err)
		}
		declared := []archive.File{}
		for _, file := range files {
			if IsManifest(file.Path) {
				declared = append(declared, file)
			}
		}
		if diff := cmp.Diff(got, gotAgain, cmpopts.EquateEmpty()) + cmp.Diff(declared, filesAgain, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("handed over again it is another one:\n%s", diff)
		}
	})
}
