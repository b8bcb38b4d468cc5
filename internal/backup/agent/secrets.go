package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/snapshot"
)

const tlsCertKey = "tls.crt"

// fingerprints adds the fingerprints of certificates to the snapshot: the SHA-256 of the first
// certificate, which is public. Nothing is recorded of other Secrets. It returns the names of
// Secrets that should be in the archive but do not exist.
func (a *Agent) fingerprints(s *snapshot.Snapshot) (missing []string, err error) {
	for i, secret := range s.Secrets {
		files, err := a.secretFiles(secret.Name)
		if err != nil {
			return nil, err
		}
		if len(files) == 0 && len(s.Recipients) > 0 {
			missing = append(missing, secret.Name)
		}
		if secret.Certificate {
			s.Info.Secrets[i].Fingerprint = fingerprint(files[tlsCertKey])
		}
	}
	return missing, nil
}

func fingerprint(text []byte) string {
	block, _ := pem.Decode(text)
	if block == nil {
		return ""
	}
	sum := sha256.Sum256(block.Bytes)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// secretFiles returns the mounted keys of a Secret. There are none if it does not exist.
func (a *Agent) secretFiles(name string) (map[string][]byte, error) {
	dir := filepath.Join(a.Dirs.Secrets, name)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, entry := range entries {
		// The kubelet creates these links to replace all files atomically.
		if strings.HasPrefix(entry.Name(), "..") {
			continue
		}
		if files[entry.Name()], err = os.ReadFile(filepath.Join(dir, entry.Name())); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// secret writes an encrypted Secret, in the form of a manifest that restores it.
func (a *Agent) secret(out *archive.Writer, name string, recipients []age.Recipient) error {
	files, err := a.secretFiles(name)
	if err != nil || len(files) == 0 {
		return err
	}
	data := map[string]string{}
	for key, value := range files {
		data[key] = base64.StdEncoding.EncodeToString(value)
	}
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": secretType(files), "metadata": map[string]any{"name": name}, "data": data,
	})
	if err != nil {
		return err
	}
	return out.Secret(name, bytes.NewReader(text), recipients...)
}

// secretType returns the type of a Secret with these keys, since a mounted Secret does not show it. The kubelet ignores
// credentials for registries in a Secret of another type.
func secretType(files map[string][]byte) corev1.SecretType {
	switch {
	case len(files) == 2 && files[tlsCertKey] != nil && files[corev1.TLSPrivateKeyKey] != nil:
		return corev1.SecretTypeTLS
	case len(files) == 1 && files[corev1.DockerConfigJsonKey] != nil:
		return corev1.SecretTypeDockerConfigJson
	case len(files) == 1 && files[corev1.DockerConfigKey] != nil:
		return corev1.SecretTypeDockercfg
	default:
		return corev1.SecretTypeOpaque
	}
}
