package listing

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/archive"
)

// FuzzRead: a path and a record in a store may come from anyone. They lead to an object only if it
// is valid, in the namespace of the listing, and if the record names its own path.
func FuzzRead(f *testing.F) {
	f.Add("web/web-1-01234567", "web", "web-1", "01234567-0000", "Change", "all", "0a", int64(1))
	f.Add("../web/web-1-01234567", "web", "web-1", "01234567", "", "", "", int64(0))
	f.Add("web/-a..b-01234567", "web", "-a..b", "01234567", "Whim", "../x", "\x1b", int64(-1<<60))
	f.Add("web/"+strings.Repeat("a", 56)+"-01234567", "web", strings.Repeat("a", 56), "01234567", "Schedule", strings.Repeat("a", 64), "", int64(1<<40))
	f.Fuzz(func(t *testing.T, path, application, name, uid, trigger, policy, state string, at int64) {
		commit := archive.Commit{Info: archive.Info{
			Namespace: "shop", Name: name, UID: uid, Trigger: trigger, Policy: policy, TakenAt: time.Unix(at, 0), ScheduledAt: new(time.Unix(at, 0)),
			Application: archive.Application{Name: application, State: state, Replicas: new(int32(at))},
		}}
		found, err := FromCommit("shop", path, commit)
		if err != nil {
			var report Report
			report.Skip(path, err.Error())
			if len(report.Why) > whyLength || strings.ContainsFunc(report.Why, func(c rune) bool { return c < ' ' || c > '~' }) {
				t.Errorf("why it is skipped: %q", report.Why)
			}
			return
		}
		b, err := NewBackup(found, "shop", &v1alpha1.NginxBackupPolicySpec{Destination: v1alpha1.Destination{URL: "pvc://backups"}})
		if err != nil {
			t.Fatalf("there is no object of what is found: %v", err)
		}
		checkObject(t, b)
		if other := OtherName(found); len(validation.IsDNS1123Subdomain(other)) > 0 || len(other) > mostBackup {
			t.Errorf("its other name is %q", other)
		}
		if path != application+"/"+name+"-"+uid[:uidDigits] {
			t.Errorf("%q holds the backup %s of %s", path, name, application)
		}
	})
}

func checkObject(t *testing.T, b *v1alpha1.NginxBackup) {
	t.Helper()
	if b.Namespace != "shop" || len(validation.IsDNS1123Subdomain(b.Name)) > 0 || len(b.Name) > mostBackup || !strings.HasPrefix(b.Spec.Existing.Path, "shop/") {
		t.Errorf("the object is %s/%s, of %s", b.Namespace, b.Name, b.Spec.Existing.Path)
	}
	for key, value := range b.Labels {
		if len(validation.IsValidLabelValue(value)) > 0 {
			t.Errorf("label %s is %q", key, value)
		}
	}
}

// FuzzUnpack: a damaged list of known backups is refused, or unchanged when it is packed again.
func FuzzUnpack(f *testing.F) {
	pieces, err := Known{"web/web-1-01234567": Expected, "web/web-2-01234567": Lost}.Pack()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(bytes.Join(pieces, nil), "web/web-3-01234567\n?web/b")
	f.Add([]byte("\x1f\x8b"), "")
	f.Fuzz(func(t *testing.T, packed []byte, path string) {
		known, err := UnpackKnown(bytes.NewReader(packed))
		if err != nil {
			known = Known{}
		}
		if path != "" && !strings.ContainsAny(path, "\r\n") {
			known[path] = Open
		}
		pieces, err := known.Pack()
		if err != nil {
			t.Fatal(err)
		}
		again, err := UnpackKnown(bytes.NewReader(bytes.Join(pieces, nil)))
		if diff := cmp.Diff(known, again); err != nil || diff != "" {
			t.Errorf("packed again they are others (%v):\n%s", err, diff)
		}
	})
}
