package certs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"example.com/nginx-operator/internal/instance/keypipe"
	"example.com/nginx-operator/internal/instance/volumes"
)

// keysDir has a folder for each folder of pairs, with the files that nginx's workers must
// not read. nginx cannot open them where the kernel has Landlock; see package confine.
const keysDir = ".keys"

// KeysDir is the folder of the private keys below the one where nginx finds certificates.
func KeysDir(dir string) string { return filepath.Join(dir, keysDir) }

// keys keeps the private keys of pairs, and hands them to those who may read them.
type keys struct {
	dir string
	// root is the folder, whatever its path is made to lead to.
	root    *os.Root
	readers keypipe.Readers
	pipes   map[string][]*keypipe.Pipe
}

func openKeys(dir string, readers keypipe.Readers) (*keys, error) {
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

// serve keeps files, and makes named pipes of the same names in the folder of a pair.
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

// remove forgets the keys of a pair.
func (k *keys) remove(pair string) {
	for _, pipe := range k.pipes[pair] {
		pipe.Stop()
	}
	delete(k.pipes, pair)
	// What stays is removed with the next change.
	_ = k.root.RemoveAll(pair)
}

// removeExcept forgets the keys of all other pairs.
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

// split tells the files that hold a private key from the others, which workers may have to
// read while they serve: lists of users, for example.
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

// holdsKey knows the formats that cert-manager writes: PEM, alone or behind the
// certificates, DER, PKCS #12 and JKS.
func holdsKey(name, content string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".key", ".der", ".p12", ".pfx", ".jks":
		return true
	}
	return strings.Contains(content, "PRIVATE KEY-----")
}
