package instance

import (
	"context"
	"crypto/tls"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/instance/certs"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/naming"
)

// certificates returns the mounted certificates, as nginx would use them: if a Secret becomes
// invalid or disappears, its last good pair stays.
func (i *Instance) certificates(ctx context.Context, pod *corev1.Pod) []instanceapi.Certificate {
	secrets := map[string]string{}
	for _, v := range pod.Spec.Volumes {
		if name, is := strings.CutPrefix(v.Name, naming.CertificateVolume("")); is && v.Secret != nil {
			secrets[name] = v.Secret.SecretName
		}
	}
	var all []instanceapi.Certificate
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		files := i.secret(ctx, secrets[name])
		found := instanceapi.Certificate{Name: name}
		if err := certs.Check(files); err != nil {
			found.Error = err.Error()
		} else {
			i.pairs[name] = files
		}
		describe(&found, i.pairs[name])
		all = append(all, found)
	}
	return all
}

// secret returns the mounted files of a Secret, or nothing if it does not exist.
func (i *Instance) secret(ctx context.Context, name string) map[string]string {
	secret := &corev1.Secret{}
	if err := i.mounts.Get(ctx, client.ObjectKey{Namespace: i.pod.Namespace, Name: name}, secret); err != nil {
		return nil
	}
	files := map[string]string{}
	for key, value := range secret.Data {
		files[key] = string(value)
	}
	return files
}

// describe sets the fields that describe a valid pair. Without one, it sets nothing.
func describe(c *instanceapi.Certificate, files map[string]string) {
	pair, err := tls.X509KeyPair([]byte(files[corev1.TLSCertKey]), []byte(files[corev1.TLSPrivateKeyKey]))
	if err != nil {
		return
	}
	c.Serial = pair.Leaf.SerialNumber.Text(16)
	c.NotBefore, c.NotAfter = new(pair.Leaf.NotBefore.UTC()), new(pair.Leaf.NotAfter.UTC())
}
