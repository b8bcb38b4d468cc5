package snapshot

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/test/golden"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func rendered(name, revision, text string) corev1.ConfigMap {
	return corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{v1alpha2.AnnotationConfigRevision: revision}},
		Data:       map[string]string{"nginx.conf": text, "a.conf": "# a"},
	}
}

func revision(number int64) appsv1.ControllerRevision {
	return appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: fmt.Sprintf("web-%d", number), UID: "u", ResourceVersion: "4",
			Annotations: map[string]string{v1alpha2.AnnotationImageDigest: fmt.Sprintf("sha256:%d", number)},
		},
		Revision: number,
		Data:     kruntime.RawExtension{Raw: []byte(`{"format":1}`)},
	}
}

// source returns an application with a reference in every field that can hold one, and with a
// configuration that is not served yet.
func source() Source {
	nginx := &v1alpha2.NginxOperator{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web", UID: "1234", Generation: 7, ResourceVersion: "99", CreationTimestamp: metav1.NewTime(now),
			Labels: map[string]string{"team": "shop"}, Annotations: map[string]string{lastApplied: "{}", "note": "kept", v1alpha2.AnnotationGatePrefix + "backup": "r1"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}, Finalizers: []string{"example.com/x"},
		},
		Spec: full,
	}
	nginx.Status = v1alpha2.NginxOperatorStatus{
		Image: "nginx:1.30", NginxVersion: "1.30.4", Revision: 10,
		Config: &v1alpha2.ConfigStatus{Revision: "r2", StableRevision: "r1"},
	}
	return Source{
		Nginx: nginx,
		ConfigMaps: []corev1.ConfigMap{
			{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "pages", UID: "u", ManagedFields: nginx.ManagedFields}, BinaryData: map[string][]byte{"logo.png": {0, 1, 2}}},
			{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "conf"}, Data: map[string]string{"site.conf": "server {}"}},
		},
		Rendered: []corev1.ConfigMap{rendered("web-config", "r1", "# old"), rendered("web-config-next", "r2", "# new")},
		History:  []appsv1.ControllerRevision{revision(9), revision(10)},
	}
}

func backup() *v1alpha1.NginxBackup {
	return &v1alpha1.NginxBackup{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web-1", UID: "5678", Annotations: map[string]string{v1alpha1.AnnotationReason: "by hand"},
		},
		Spec: v1alpha1.NginxBackupSpec{
			Trigger:        v1alpha1.TriggerManual,
			IncludeSecrets: &v1alpha1.IncludeSecrets{AgeRecipients: []string{"age1x"}},
		},
	}
}

// TestTake: the whole snapshot equals a reviewed file.
func TestTake(t *testing.T) {
	s, err := Take(backup(), source(), "0.4.0", now)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, f := range s.Documents {
		fmt.Fprintf(&text, "--- %s\n%s\n", f.Path, f.Data)
	}
	golden.Compare(t, "testdata/documents.txt", text.String())
	head, err := yaml.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "testdata/snapshot.yaml", string(head))
}

func TestTakeWithoutAnything(t *testing.T) {
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	s, err := Take(&v1alpha1.NginxBackup{}, Source{Nginx: nginx}, "0.4.0", now)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Documents) != 1 || s.Documents[0].Path != "nginxoperator.yaml" {
		t.Errorf("documents: %v", s.Documents)
	}
}

func TestPackAndUnpack(t *testing.T) {
	before, err := Take(backup(), source(), "0.4.0", now)
	if err != nil {
		t.Fatal(err)
	}
	// Data that does not compress needs several pieces.
	noise := make([]byte, 3*chunkSize)
	random := rand.NewChaCha8([32]byte{})
	if _, err := random.Read(noise); err != nil {
		t.Fatal(err)
	}
	before.Documents[1].Data = noise
	chunks, err := before.Pack()
	if err != nil {
		t.Fatal(err)
	}
	again, err := before.Pack()
	if err != nil || len(chunks) != 4 || !bytes.Equal(bytes.Join(chunks, nil), bytes.Join(again, nil)) {
		t.Errorf("%d pieces, and the second time %d: %v", len(chunks), len(again), err)
	}
	for _, chunk := range chunks {
		if len(chunk) > chunkSize {
			t.Errorf("a piece has %d bytes", len(chunk))
		}
	}
	after, err := Unpack(bytes.NewReader(bytes.Join(chunks, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("-before +after:\n%s", diff)
	}
}

func TestPackTooMuch(t *testing.T) {
	s := Snapshot{}
	noise := make([]byte, mostPacked)
	random := rand.NewChaCha8([32]byte{})
	if _, err := random.Read(noise); err != nil {
		t.Fatal(err)
	}
	s.Documents = append(s.Documents, struct {
		Path string
		Data []byte
	}{"x", noise})
	if _, err := s.Pack(); err == nil || !strings.Contains(err.Error(), "a backup can hold") {
		t.Errorf("err = %v", err)
	}
}

// TestUnpackDamaged: a truncated snapshot is an error.
func TestUnpackDamaged(t *testing.T) {
	s, err := Take(backup(), source(), "0.4.0", now)
	if err != nil {
		t.Fatal(err)
	}
	chunks, err := s.Pack()
	if err != nil {
		t.Fatal(err)
	}
	packed := bytes.Join(chunks, nil)
	for n := range len(packed) {
		if _, err := Unpack(bytes.NewReader(packed[:n])); err == nil {
			t.Fatalf("the first %d of %d bytes are taken for the whole", n, len(packed))
		}
	}
}

// TestUnpackIsBounded: a snapshot that users have replaced takes no more memory than a job has.
func TestUnpackIsBounded(t *testing.T) {
	for name, tt := range map[string]struct {
		head  string
		files int
		size  int64
		want  string
	}{
		"many documents":        {`{}`, 30, 4 << 20, "more than 67108864 bytes"},
		"many empty documents":  {`{}`, 200_000, 0, "more than 67108864 bytes"},
		"a document":            {`{}`, 1, 10 * 4 << 20, "at most 4194304 are allowed"},
		"many tolerations":      {`{"tolerations":[` + strings.Repeat("{},", 200_000) + `{}]}`, 0, 0, "items"},
		"a head that is nested": {strings.Repeat(`{"info":`, 1000), 0, 0, "nested"},
	} {
		packed := bombOf(t, tt.head, tt.files, tt.size)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Unpack(bytes.NewReader(packed))
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, tt.want)
		}
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 8*mostUnpacked {
			t.Errorf("%s: %d bytes were allocated", name, allocated)
		}
	}
}

// bombOf packs a head and a number of documents of zeros.
func bombOf(t *testing.T, head string, files int, size int64) []byte {
	t.Helper()
	var packed bytes.Buffer
	zip, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	out := tar.NewWriter(zip)
	put := func(name string, data []byte) {
		if err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(data)), Mode: 0o600}); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	put(headName, []byte(head))
	zeros := make([]byte, size)
	for range files {
		put("x", zeros)
	}
	if err := errors.Join(out.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// TestFingerprints: a fingerprint is computed once for each version of an application, and few are remembered.
func TestFingerprints(t *testing.T) {
	var known Fingerprints
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{UID: "web", ResourceVersion: "1"}}
	first, err := known.Of(nginx)
	if err != nil {
		t.Fatal(err)
	}
	nginx.Spec.ForceRedeploy = new("again")
	if again, err := known.Of(nginx); err != nil || again != first {
		t.Errorf("it is computed again: %v", err)
	}
	nginx.ResourceVersion = "2"
	if next, err := known.Of(nginx); err != nil || next == first {
		t.Errorf("another version has the same: %v", err)
	}
	for i := range mostFingerprints + 1 {
		nginx.ResourceVersion = fmt.Sprint(i)
		if _, err := known.Of(nginx); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(known.byVersion); n > mostFingerprints {
		t.Errorf("%d are remembered", n)
	}
}
