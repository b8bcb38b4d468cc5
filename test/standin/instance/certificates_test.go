package instance

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/nginx/naming"
)

// secrets holds the data of the mounted Secrets, by name.
type secrets map[string]map[string][]byte

// Get implements client.Reader.
func (s secrets) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	data, there := s[key.Name]
	if secret, ok := object.(*corev1.Secret); ok && there {
		secret.Data = data
		return nil
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, key.Name)
}

// List implements client.Reader.
func (s secrets) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// pair returns a self-signed certificate with a serial number, and its key.
func pair(t *testing.T, serial int64) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
}

// TestCertificates: an invalid or missing certificate is reported, and the last good pair stays.
func TestCertificates(t *testing.T) {
	mounted := secrets{}
	i := &Instance{mounts: mounted, pairs: map[string]map[string]string{}}
	pod := &corev1.Pod{}
	if got := i.certificates(t.Context(), pod); got != nil {
		t.Errorf("a pod without certificates reports %+v", got)
	}
	pod.Spec.Volumes = []corev1.Volume{
		{Name: "mine", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "mine"}}},
		{Name: naming.CertificateVolume("shop"), VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "shop-tls"}}},
	}
	crt1, key1 := pair(t, 0xa1)
	crt2, key2 := pair(t, 0xb2)
	steps := []struct {
		does   string
		secret map[string][]byte
		serial string
		bad    bool
	}{
		{"missing", nil, "", true},
		{"without a key", map[string][]byte{"tls.crt": crt1}, "", true},
		{"there", map[string][]byte{"tls.crt": crt1, "tls.key": key1}, "a1", false},
		{"half changed", map[string][]byte{"tls.crt": crt2, "tls.key": key1}, "a1", true},
		{"rotated", map[string][]byte{"tls.crt": crt2, "tls.key": key2}, "b2", false},
		{"gone", nil, "b2", true},
	}
	for _, step := range steps {
		delete(mounted, "shop-tls")
		if step.secret != nil {
			mounted["shop-tls"] = step.secret
		}
		all := i.certificates(t.Context(), pod)
		if len(all) != 1 {
			t.Fatalf("%s: %+v", step.does, all)
		}
		if got := all[0]; got.Name != "shop" || got.Serial != step.serial || (got.Error != "") != step.bad || (got.NotAfter != nil) != (step.serial != "") {
			t.Errorf("%s: %+v", step.does, got)
		}
	}
}
