package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/archive"
)

func TestIncluded(t *testing.T) {
	left := func(kind, name, reason string) archive.LeftOut {
		return archive.LeftOut{Kind: kind, Name: name, Reason: reason}
	}
	others := []archive.LeftOut{left("Image", "pages:1", "External"), left("CSI", "c", "External"), left("EmptyDir", "d", "Ephemeral")}
	films, uploads, state := Volume{Claim: "films", MountPath: "/srv/films"}, Volume{Claim: "uploads", MountPath: "/srv/uploads"}, Volume{Claim: "state"}
	for _, tt := range []struct {
		name    string
		backup  v1alpha1.NginxBackupSpec
		volumes []Volume
		leftOut []archive.LeftOut
	}{
		{"all claims", v1alpha1.NginxBackupSpec{}, []Volume{films, uploads, state}, nil},
		{"excluded claims, and one of another application", v1alpha1.NginxBackupSpec{ExcludeClaims: []string{"state", "films", "other"}}, []Volume{uploads},
			[]archive.LeftOut{left(Claim, "films", "Excluded"), left(Claim, "state", "Excluded")}},
		{"the claim that the backup is kept in", v1alpha1.NginxBackupSpec{Destination: v1alpha1.Destination{URL: "pvc://uploads/nginx"}}, []Volume{films, state},
			[]archive.LeftOut{left(Claim, "uploads", "Destination")}},
		{"a bucket of the same name", v1alpha1.NginxBackupSpec{Destination: v1alpha1.Destination{URL: "s3://uploads/nginx"}}, []Volume{films, uploads, state}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			volumes, leftOut := included(&v1alpha1.NginxBackup{Spec: tt.backup}, &full)
			if diff := cmp.Diff(tt.volumes, volumes); diff != "" {
				t.Errorf("volumes, -want +got:\n%s", diff)
			}
			if diff := cmp.Diff(append(tt.leftOut, others...), leftOut); diff != "" {
				t.Errorf("left out, -want +got:\n%s", diff)
			}
		})
	}
	own := &v1alpha2.NginxOperatorSpec{ServiceAccount: &v1alpha2.ServiceAccount{Name: new("web")}}
	if _, leftOut := included(&v1alpha1.NginxBackup{}, own); !cmp.Equal(leftOut, []archive.LeftOut{left("ServiceAccount", "web", "External")}) {
		t.Errorf("of a ServiceAccount, the backup says %v", leftOut)
	}
}

// TestEveryVolumeSource: a backup has the content of every kind of volume, or says that it does not. Secrets are listed.
func TestEveryVolumeSource(t *testing.T) {
	content := reflect.TypeFor[v1alpha2.Content]()
	for i := range content.NumField() {
		if f := content.Field(i); f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct {
			spec := v1alpha2.NginxOperatorSpec{Content: make([]v1alpha2.Content, 1)}
			field := reflect.ValueOf(&spec.Content[0]).Elem().Field(i)
			nameSource(field)
			if !isAccounted(&spec) {
				t.Errorf("the backup neither has content[].%s, nor says so", f.Name)
			}
		}
	}
	volume := reflect.TypeFor[v1alpha2.Volume]()
	sources := 0
	for i := range volume.NumField() {
		if f := volume.Field(i); f.Type.Kind() == reflect.Pointer {
			spec := v1alpha2.NginxOperatorSpec{PodTemplate: &v1alpha2.PodTemplate{Volumes: []v1alpha2.Volume{{Name: "x"}}}}
			nameSource(reflect.ValueOf(&spec.PodTemplate.Volumes[0]).Elem().Field(i))
			sources++
			if !isAccounted(&spec) {
				t.Errorf("the backup neither has podTemplate.volumes[].%s, nor says so", f.Name)
			}
		}
	}
	if sources < 6 {
		t.Errorf("there are %d kinds of volumes, which are too few to be true", sources)
	}
}

// nameSource sets a pointer to a source of a volume, and all names in it.
func nameSource(field reflect.Value) {
	field.Set(reflect.New(field.Type().Elem()))
	for _, f := range field.Elem().Fields() {
		switch {
		case f.Kind() == reflect.String:
			f.SetString("x")
		case f.Type() == reflect.TypeFor[corev1.LocalObjectReference]():
			f.Set(reflect.ValueOf(corev1.LocalObjectReference{Name: "x"}))
		}
	}
}

func isAccounted(spec *v1alpha2.NginxOperatorSpec) bool {
	volumes, leftOut := included(&v1alpha1.NginxBackup{}, spec)
	return len(volumes)+len(leftOut)+len(ConfigMaps(spec))+len(Secrets(spec)) > 0
}

// TestStateOfClaims: a backup that an earlier release took of an application with claims of its own does not count as one
// of its present state, because it does not have their files. All other applications keep their backups.
func TestStateOfClaims(t *testing.T) {
	earlier := func(spec v1alpha2.NginxOperatorSpec) string {
		text, err := json.Marshal(struct {
			Spec      v1alpha2.NginxOperatorSpec
			Requested string `json:"Asked"`
			Served    string
		}{Spec: spec})
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(text)
		return hex.EncodeToString(sum[:8])
	}
	spec := v1alpha2.NginxOperatorSpec{Content: full.Content}
	if state := mustState(t, &v1alpha2.NginxOperator{Spec: spec}); state.Change != earlier(spec) {
		t.Errorf("the state of an application without such claims is %s, before it was %s", state.Change, earlier(spec))
	}
	spec.PodTemplate = &v1alpha2.PodTemplate{Volumes: []v1alpha2.Volume{{Name: "e", PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "uploads"}}}}
	if state := mustState(t, &v1alpha2.NginxOperator{Spec: spec}); state.Change == earlier(spec) {
		t.Error("a backup without the files of the claim counts")
	}
}
