package certs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"example.com/nginx-operator/internal/instance/keypipe"
	"example.com/nginx-operator/internal/instance/volumes"
)

// keysDir contains a folder for each folder of pairs, with the files that nginx's workers must not read. nginx cannot
// open them if the kernel supports Landlock; see package confine.
const keysDir = ".keys"

// KeysDir returns the folder of the private keys, which is below the folder where nginx finds certificates.
func KeysDir(dir string) string { return filepath.Join(dir, keysDir) }

// keys stores the private keys of pairs and serves them to authorized processes.
type keys struct {
	dir string
	// root stays open, so that it refers to the same folder even if the path is changed to point elsewhere.
	root    *os.Root
	readers *keypipe.Readers
	pipes   map[string][]*keypipe.Pipe
}

func openKeys(dir string, readers *keypipe.Readers) (*keys, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("prepare the folder of private keys: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("prepare the folder of private keys: %w", err)
	}
	return &keys{dir: dir, root: root, readers: readers, pipes: map[string][]*keypipe.Pipe{}}, nil
}

// read returns the private keys of a pair.
func (k *keys) read(pair string) (map[string]string, error) {
	return volumes.Read(filepath.Join(k.dir, pair))
}

// serve stores files and creates named pipes with the same names in the folder of a pair.
func (k *keys) serve(dir string, files map[string]string) error {
	pair := filepath.Base(dir)
	if err := k.root.Mkdir(pair, 0o700); err != nil {
		return fmt.Errorf("write a private key: %w", err)
	}
	for file, content := range files {
		path := filepath.Join(pair, file)
		if err := k.root.WriteFile(path, []byte(content), 0o600); err != nil {
			return fmt.Errorf("write a private key: %w", err)
		}
		pipe, err := k.readers.Serve(filepath.Join(dir, file), func() ([]byte, error) { return k.root.ReadFile(path) })
		if err != nil {
			return err
		}
		k.pipes[pair] = append(k.pipes[pair], pipe)
	}
	return nil
}

// remove deletes the keys of a pair.
func (k *keys) remove(pair string) {
	for _, pipe := range k.pipes[pair] {
		pipe.Stop()
	}
	delete(k.pipes, pair)
	// The next change removes what could not be removed now.
	_ = k.root.RemoveAll(pair)
}

// removeExcept deletes the keys of all pairs that are not in use.
func (k *keys) removeExcept(used map[string]bool) {
	entries, err := os.ReadDir(k.dir)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if !used[entry.Name()] {
			k.remove(entry.Name())
		}
	}
}

// split separates the files that contain a private key from the others, such as lists of users, which workers may have
// to read while they serve.
func split(files map[string]string) (public, private map[string]string) {
	public, private = map[string]string{}, map[string]string{}
	for name, content := range files {
		if holdsKey(name, content) {
			private[name] = content
		} else {
			public[name] = content
		}
	}
	return public, private
}

// holdsKey recognizes the formats that cert-manager writes: PEM, alone or after the certificates, DER, PKCS #12 and
// JKS.
func holdsKey(name, content string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".key", ".der", ".p12", ".pfx", ".jks":
		return true
	}
	return strings.Contains(content, "PRIVATE KEY-----")
}
