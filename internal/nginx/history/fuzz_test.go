package history

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/nginxconf"
)

// FuzzRead: the history can be read whatever the labels and annotations of a ControllerRevision
// contain, and writing it back does not change it.
func FuzzRead(f *testing.F) {
	f.Add("web-1", "good", "Rolling", "2026-11-21T12:00:00.123456789Z", "attempt", "Reason", "a\nmessage", int64(3))
	f.Add("", "Good", "?", "yesterday", "\x00", "two words", "\x1b[31m", int64(-1))
	f.Add("web-1", "", "", "2026-11-21T12:00:00+23:59", "", "", "", int64(1<<62))
	f.Fuzz(func(t *testing.T, name, state, stage, at, attempt, reason, message string, number int64) {
		if name == "" {
			return
		}
		number &= 1<<62 - 1 // The API server allows no other numbers, and 62 bits are always enough.
		object := appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "u"}, Revision: number}
		spoilt := Revision{State: State(state), Stage: Stage(stage), Failure: Failure{Attempt: attempt, Reason: reason, Message: message}}
		object.Labels, object.Annotations = spoilt.Labels(), spoilt.Annotations()
		for key := range maps.Keys(object.Annotations) {
			if object.Annotations[key] == "" {
				object.Annotations[key] = at
			}
		}
		first := Read([]appsv1.ControllerRevision{object})
		object.Labels, object.Annotations = first[0].Labels(), first[0].Annotations()
		again := Read([]appsv1.ControllerRevision{object})
		if diff := cmp.Diff(first, again); diff != "" {
			t.Errorf("what is written is read otherwise:\n%s", diff)
		}
		if next := first.NextNumber(); next < 1 || next <= number {
			t.Errorf("after revision %d comes %d", number, next)
		}
		if good := first.LastGood(""); (good != nil) != (first[0].State == StateGood) {
			t.Errorf("%q is taken for good: %t", first[0].State, good != nil)
		}
	})
}

// FuzzData: data that another client has written is rejected or read within bounds, and stays the
// same when it is written again, with and without its files.
func FuzzData(f *testing.F) {
	small, err := Data{Spec: v1alpha2.NginxOperatorSpec{Image: new("nginx:1")}, Template: []byte(`{"spec":{}}`),
		Config: Config{Revision: "c", Files: nginxconf.Files{"a.conf": "server {}"}}, Protocol: 1}.Encode()
	if err != nil {
		f.Fatal(err)
	}
	packed, err := compress(nginxconf.Files{"a.conf": "server {}"})
	if err != nil {
		f.Fatal(err)
	}
	large, err := json.Marshal(Data{Format: format, Config: Config{Revision: "c", FilesGzip: packed}})
	if err != nil {
		f.Fatal(err)
	}
	for _, raw := range [][]byte{small, large, nil, []byte(`null`), []byte(`{"format":1}`), []byte(`{"format":1,"config":null,"template":null}`), []byte(`{"format":1,"config":{"filesGzip":"H4sI"}}`)} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		data, err := (&Revision{Name: "web-1", Raw: raw}).Data()
		if err != nil {
			return
		}
		size := 0
		for name, text := range data.Config.Files {
			size += len(name) + len(text)
		}
		if size > filesLimits.Bytes {
			t.Errorf("%d bytes were unpacked", size)
		}
		written, err := data.Encode()
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		again, err := (&Revision{Raw: written}).Data()
		if diff := cmp.Diff(plain(t, data), plain(t, again)); err != nil || diff != "" {
			t.Errorf("it is another one when it is written again (%v):\n%s", err, diff)
		}
		checkTrimmed(t, written, data)
	})
}

// checkTrimmed checks that TrimFiles removes nothing but the files.
func checkTrimmed(t *testing.T, raw []byte, want Data) {
	t.Helper()
	trimmed, err := TrimFiles(raw)
	if err != nil {
		t.Fatalf("its files cannot be taken out: %v", err)
	}
	got, err := (&Revision{Raw: trimmed}).Data()
	want.Config.Files = nil
	if diff := cmp.Diff(plain(t, want), plain(t, got)); err != nil || diff != "" {
		t.Errorf("without its files it is another one (%v):\n%s", err, diff)
	}
}

// plain decodes the data's JSON, to compare its meaning and not its form.
func plain(t *testing.T, data Data) any {
	t.Helper()
	text, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return value
}
