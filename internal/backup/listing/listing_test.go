package listing

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/archive"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestParsePath(t *testing.T) {
	good := Path{Namespace: "shop", Target: "web", Backup: "web-1a2b", UID: "01234567"}
	tests := []struct {
		text string
		want Path
		err  string
	}{
		{text: "shop/web/web-1a2b-01234567", want: good},
		{text: "shop/web/a.b-01234567", want: Path{"shop", "web", "a.b", "01234567"}},
		{text: "", err: "<namespace>/<application>"},
		{text: "shop/web", err: "<namespace>/<application>"},
		{text: "shop/web/x/web-1-01234567", err: "<namespace>/<application>"},
		{text: "shop/Web/web-1-01234567", err: "named after an NginxOperator"},
		{text: "shop/" + strings.Repeat("a", 46) + "/web-1-01234567", err: "named after an NginxOperator"},
		{text: "shop/../web-1-01234567", err: "named after an NginxOperator"},
		{text: "shop/web/web", err: "the UID of a backup"},
		{text: "shop/web/web-1", err: "the UID of a backup"},
		{text: "shop/web/web-1-0123456g", err: "the UID of a backup"},
		{text: "shop/web/-01234567", err: "named after an NginxBackup"},
		{text: "shop/web/..-01234567", err: "named after an NginxBackup"},
		{text: "shop/web/web 1-01234567", err: "named after an NginxBackup"},
		{text: "shop/web/" + strings.Repeat("a", 57) + "-01234567", err: "named after an NginxBackup"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			got, err := ParsePath(tt.text)
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error: %v, want %q", err, tt.err)
			}
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestSame(t *testing.T) {
	tests := []struct {
		a, b string
		want bool
	}{
		{"pvc://backups", "pvc://backups/", true},
		{"pvc://backups", "pvc://other", false},
		{"pvc://backups/a", "pvc://backups/b", false},
		{"s3://backups?region=eu-central-1", "s3://backups?region=eu-central-1&use_path_style=true", true},
		{"s3://backups?endpoint=https://a.example", "s3://backups?endpoint=https://b.example", false},
		{"s3://backups?endpoint=https://a.example", "s3://backups", false},
		{"azblob://backups?storage_account=one", "azblob://backups?storage_account=two", false},
		{"s3://backups", "gs://backups", false},
		{"nonsense", "nonsense", false},
	}
	for _, tt := range tests {
		if got := SameDestination(v1alpha1.Destination{URL: tt.a}, v1alpha1.Destination{URL: tt.b}); got != tt.want {
			t.Errorf("%s and %s: %v", tt.a, tt.b, got)
		}
	}
}

func aCommit(change ...func(*archive.Info)) archive.Commit {
	info := archive.Info{
		Name: "web-1", UID: "01234567-89ab", Namespace: "shop", TakenAt: now, Trigger: "Schedule", Policy: "all",
		ScheduledAt: new(now.Add(-time.Minute)), Recipients: []string{"b", "a"},
		Application: archive.Application{Name: "web", State: "0a1b", Replicas: new(int32(3))},
	}
	for _, c := range change {
		c(&info)
	}
	return archive.Commit{Info: info}
}

var aFound = FoundBackup{
	Path: "web/web-1-01234567", Policy: "all", Trigger: "Schedule", State: "0a1b", Replicas: new(int32(3)),
	TakenAt: now.Unix(), ScheduledAt: now.Unix() - 60, Recipients: SetHash([]string{"a", "b"}),
}

// TestRead: a record that cannot become a valid object is refused.
func TestRead(t *testing.T) {
	found := func(change func(*FoundBackup)) FoundBackup {
		f := aFound
		change(&f)
		return f
	}
	tests := []struct {
		name   string
		change func(*archive.Info)
		want   FoundBackup
		err    string
	}{
		{name: "of a policy", change: func(*archive.Info) {}, want: aFound},
		{name: "of an early version", change: func(i *archive.Info) {
			i.Policy, i.ScheduledAt, i.Recipients, i.Application.State, i.Application.Replicas = "", nil, nil, "", nil
		}, want: FoundBackup{Path: aFound.Path, Trigger: "Schedule", TakenAt: now.Unix()}},
		{name: "of a later version", change: func(i *archive.Info) { i.Trigger = "Moonrise" }, want: found(func(f *FoundBackup) { f.Trigger = "" })},
		{name: "a state that is none", change: func(i *archive.Info) { i.Application.State = "<b>" },
			want: found(func(f *FoundBackup) { f.State, f.Replicas = "", nil })},
		{name: "of another namespace", change: func(i *archive.Info) { i.Namespace = "kube-system" }, err: `for the namespace "kube-system"`},
		{name: "of another application", change: func(i *archive.Info) { i.Application.Name = "api" }, err: `for the application "api"`},
		{name: "of another name", change: func(i *archive.Info) { i.Name = "web-2" }, err: `for the backup "web-2"`},
		{name: "of another UID", change: func(i *archive.Info) { i.UID = "7654" }, err: `for the UID "7654"`},
		{name: "a policy that is no name", change: func(i *archive.Info) { i.Policy = "a b" }, err: "policy"},
		{name: "a policy with a long name", change: func(i *archive.Info) { i.Policy = strings.Repeat("a", 64) }, err: "policy"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := FromCommit("shop", aFound.Path, aCommit(tt.change))
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Fatalf("error: %v, want %q", err, tt.err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestNewBackup(t *testing.T) {
	destination := v1alpha1.Destination{URL: "s3://backups", Secret: &v1alpha1.SecretReference{Name: "s3"}}
	include := &v1alpha1.IncludeSecrets{AgeRecipients: []string{"a", "b"}}
	policy := &v1alpha1.NginxBackupPolicySpec{Destination: destination, IncludeSecrets: include, ExcludeClaims: []string{"cache"}}
	found := aFound
	found.Excluded = SetHash([]string{"cache"})
	got, err := NewBackup(found, "shop", policy)
	if err != nil {
		t.Fatal(err)
	}
	want := &v1alpha1.NginxBackup{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web-1",
			Labels: map[string]string{v1alpha1.LabelTarget: "web", v1alpha1.LabelPolicy: "all"},
			Annotations: map[string]string{
				v1alpha1.AnnotationSequence: fmt.Sprint(now.Unix()), v1alpha1.AnnotationState: "0a1b", v1alpha1.AnnotationReplicas: "3",
				v1alpha1.AnnotationScheduledAt: "2026-11-21T11:59:00Z",
			},
		},
		Spec: v1alpha1.NginxBackupSpec{
			Target: v1alpha1.TargetReference{Name: "web"}, Destination: destination, IncludeSecrets: include, ExcludeClaims: []string{"cache"}, DeletionPolicy: v1alpha1.Retain,
			Trigger: v1alpha1.TriggerSchedule, PolicyName: new("all"), Existing: &v1alpha1.ExistingBackup{Path: "shop/web/web-1-01234567"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	manual, err := NewBackup(FoundBackup{Path: aFound.Path, TakenAt: 1}, "shop", policy)
	if err != nil {
		t.Fatal(err)
	}
	if manual.Labels[v1alpha1.LabelPolicy] != "" || manual.Spec.Trigger != v1alpha1.TriggerManual || manual.Spec.IncludeSecrets != nil || manual.Spec.ExcludeClaims != nil || len(manual.Annotations) != 1 {
		t.Errorf("of nobody's policy: %+v", manual)
	}
	if _, err := NewBackup(FoundBackup{Path: "web/nonsense"}, "shop", policy); err == nil {
		t.Error("a path that is none makes an object")
	}
}

func TestOtherName(t *testing.T) {
	for path, want := range map[string]string{
		"web/web-1-01234567": "web-1-01234567",
		"web/" + strings.Repeat("a", 46) + "-bcdefgh-01234567": strings.Repeat("a", 46) + "-01234567",
		"web/" + strings.Repeat("a", 56) + "-01234567":         strings.Repeat("a", 47) + "-01234567",
	} {
		got := OtherName(FoundBackup{Path: path})
		if got != want || len(got) > mostBackup || len(validation.IsDNS1123Subdomain(got)) > 0 {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

func TestDue(t *testing.T) {
	ago := func(d time.Duration) *metav1.Time { return new(metav1.NewTime(now.Add(-d))) }
	policy := func(status metav1.ConditionStatus, generation int64, last *metav1.Time) *v1alpha1.NginxBackupPolicy {
		p := &v1alpha1.NginxBackupPolicy{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
		p.Status.LastListingTime = last
		meta.SetStatusCondition(&p.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionListed, Status: status, ObservedGeneration: generation})
		return p
	}
	tests := []struct {
		name   string
		policy *v1alpha1.NginxBackupPolicy
		period time.Duration
		due    bool
		after  time.Duration
	}{
		{"a new policy", &v1alpha1.NginxBackupPolicy{}, time.Hour, true, 0},
		{"a new policy, without a period", &v1alpha1.NginxBackupPolicy{}, 0, true, 0},
		{"another generation", policy(metav1.ConditionTrue, 1, ago(time.Minute)), time.Hour, true, 0},
		{"the last one failed", policy(metav1.ConditionFalse, 2, ago(time.Minute)), time.Hour, true, 0},
		{"the last one had no room for all", policy(metav1.ConditionUnknown, 2, ago(time.Minute)), time.Hour, true, 0},
		{"a time that was lost", policy(metav1.ConditionTrue, 2, nil), time.Hour, true, 0},
		{"a minute ago", policy(metav1.ConditionTrue, 2, ago(time.Minute)), time.Hour, false, 59 * time.Minute},
		{"an hour ago", policy(metav1.ConditionTrue, 2, ago(time.Hour)), time.Hour, true, 0},
		{"a year ago, without a period", policy(metav1.ConditionTrue, 2, ago(8760*time.Hour)), 0, false, 0},
		{"in a year", policy(metav1.ConditionTrue, 2, ago(-8760*time.Hour)), time.Hour, false, time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			due, after := Due(tt.policy, tt.period, now)
			if due != tt.due || after != tt.after {
				t.Errorf("%v after %s, want %v after %s", due, after, tt.due, tt.after)
			}
		})
	}
}

// TestReportFits: the report always fits into a termination message, names as much as it can, and
// says if that is not everything.
func TestReportFits(t *testing.T) {
	var r Report
	r.Skip(strings.Repeat("\x00\"<é", 999), "it cannot be")
	for i := range 1000 {
		r.AddFound(FoundBackup{
			Path: fmt.Sprintf("%s/%s-%08x", strings.Repeat("a", 45), strings.Repeat("b", 56), i), Policy: strings.Repeat("c", 63), Trigger: "Schedule",
			State: strings.Repeat("d", 64), Replicas: new(int32(1 << 30)), TakenAt: now.Unix(), ScheduledAt: now.Unix(), Recipients: "01234567",
		})
		r.AddMissing(fmt.Sprintf("missing-%d", i))
		r.AddBack(fmt.Sprintf("back-%d", i))
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 3900 || len(text) < 3000 {
		t.Errorf("the report has %d bytes", len(text))
	}
	if !r.More || !r.Full() || len(r.Found) == 0 || r.Skipped != 1 || !strings.HasPrefix(r.Why, "?'??") {
		t.Errorf("the report: %s", text)
	}
}

// TestKnown: 10,000 backups fit into one ConfigMap, and any number into several.
func TestKnown(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 10_000, 60_000} {
		known := Known{}
		for range n {
			known[fmt.Sprintf("web-%d/web-%010x-%08x", random.IntN(100), random.Uint64()>>24, random.Uint32())] = Expected
		}
		pieces, err := known.Pack()
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d known: %d pieces", n, len(pieces))
		if len(pieces) == 0 || n <= 10_000 && len(pieces) > 1 {
			t.Errorf("%d known: %d pieces", n, len(pieces))
		}
		again, err := UnpackKnown(bytes.NewReader(slices.Concat(pieces...)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(known, again); diff != "" {
			t.Errorf("%d known, -packed +unpacked:\n%s", n, diff)
		}
	}
}

func TestStandings(t *testing.T) {
	standings := Known{"a": Expected, "b": Lost, "c": Open}
	pieces, err := standings.Pack()
	if err != nil {
		t.Fatal(err)
	}
	again, err := UnpackKnown(bytes.NewReader(pieces[0]))
	if diff := cmp.Diff(standings, again); err != nil || diff != "" {
		t.Errorf("%v, -packed +unpacked:\n%s", err, diff)
	}
	for _, half := range []io.Reader{strings.NewReader(""), bytes.NewReader(pieces[0][:len(pieces[0])-4])} {
		if _, err := UnpackKnown(half); err == nil {
			t.Error("half a list is taken for one")
		}
	}
}

func TestByPath(t *testing.T) {
	policy := &v1alpha1.NginxBackupPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}}
	policy.Spec.Destination.URL = "s3://backups?region=eu-central-1"
	backup := func(name, url string) v1alpha1.NginxBackup {
		return v1alpha1.NginxBackup{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.NginxBackupSpec{Destination: v1alpha1.Destination{URL: url}}}
	}
	got := ByPath(policy, []v1alpha1.NginxBackup{
		backup("shop/web/a", "s3://backups?region=eu-central-1"), backup("shop/web/b", "s3://backups"),
		backup("shop/web/c", "s3://other"), backup("kube-system/web/d", "s3://backups"),
	}, func(b *v1alpha1.NginxBackup) string { return b.Name })
	if len(got) != 2 || got["web/a"] == nil || got["web/b"] == nil {
		t.Errorf("found %v", got)
	}
}

// TestUnpackKnownIsBounded: a list that users have replaced takes no more memory than a job has.
func TestUnpackKnownIsBounded(t *testing.T) {
	for name, tt := range map[string]struct {
		line func(n int) string
		want string
	}{
		"long lines":     {func(int) string { return "+" + strings.Repeat("x", 60<<10) + "\n" }, "more than 33554432 bytes"},
		"a line":         {func(int) string { return strings.Repeat("x", 64<<10) }, "token too long"},
		"many backups":   {func(n int) string { return fmt.Sprintf("+%d\n", n) }, "more than 500000"},
		"the same again": {func(int) string { return "+a\n" + strings.Repeat("+a\n", 1000) }, "more than 33554432 bytes"},
	} {
		var packed bytes.Buffer
		zip, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
		if err != nil {
			t.Fatal(err)
		}
		for n, written := 0, 0; n <= mostKnown && written <= 2*mostUnpacked; n++ {
			length, err := io.WriteString(zip, tt.line(n))
			if written += length; err != nil {
				t.Fatal(err)
			}
		}
		if err := zip.Close(); err != nil {
			t.Fatal(err)
		}
		if known, err := UnpackKnown(&packed); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %d backups (%v), want an error with %q", name, len(known), err, tt.want)
		}
	}
}
