package certs

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"example.com/nginx-operator/internal/instance/keypipe"
	"example.com/nginx-operator/internal/instance/volumes"
	"example.com/nginx-operator/internal/instanceapi"
)

// pairsDir is the folder that the certificates' symbolic links point into.
const pairsDir = ".pairs"

// Keeper keeps the certificates in a folder that nginx reads. Each certificate is a symbolic link to a folder with all
// files of the Secret. Private keys are stored elsewhere; see keys.
type Keeper struct {
	secrets, dir string
	keys         *keys
	names        []string
	state        map[string]*certificateState
}

type certificateState struct {
	report instanceapi.Certificate
	// version and mounted describe the Secret as it was last read.
	version, mounted string
	// candidate is the content of a good Secret that nginx does not use yet, and withheld is set while the
	// pair in use is better.
	candidate map[string]string
	withheld  bool
	// used is the hash of the pair that nginx uses, and leaf is its certificate. refused is the hash of the pair that
	// nginx refused.
	used, refused string
	leaf          *x509.Certificate
}

// NewKeeper returns a Keeper for the named certificates. It reads the Secrets below secrets and writes the certificates
// below dir. Only readers may read the private keys.
func NewKeeper(secrets, dir string, names []string, readers *keypipe.Readers) (*Keeper, error) {
	k := &Keeper{secrets: secrets, dir: dir, names: slices.Sorted(slices.Values(names)), state: map[string]*certificateState{}}
	for _, name := range k.names {
		k.state[name] = &certificateState{report: instanceapi.Certificate{Name: name}}
	}
	if len(names) == 0 {
		return k, nil
	}
	if err := os.MkdirAll(filepath.Join(dir, pairsDir), 0o700); err != nil {
		return nil, fmt.Errorf("prepare the folder of certificates: %w", err)
	}
	kept, err := openKeys(KeysDir(dir), readers)
	if err != nil {
		return nil, err
	}
	k.keys = kept
	return k, k.restore()
}

// restore finds the pairs that were in use before the container restarted, for Secrets that are bad now.
func (k *Keeper) restore() error {
	for _, name := range k.names {
		files, err := k.present(name)
		if err != nil {
			return err
		}
		if Check(files) != nil {
			continue
		}
		used := hash(files)
		// The named pipes have no writer after a restart, so the pair is written again.
		if err := k.writePair(name, used, files); err != nil {
			return err
		}
		s := k.state[name]
		s.used, s.leaf = used, leaf(files)
		describe(&s.report, s.leaf)
	}
	return nil
}

// present returns the files of the pair that the link points to, including the keys. They are empty if there is none.
func (k *Keeper) present(name string) (map[string]string, error) {
	files, err := volumes.Read(filepath.Join(k.dir, name))
	if err != nil || files == nil {
		return nil, err
	}
	target, err := os.Readlink(filepath.Join(k.dir, name))
	if err != nil {
		return nil, fmt.Errorf("read the certificate %s: %w", name, err)
	}
	if target == pairLink(name, placeholder) {
		return map[string]string{}, nil
	}
	private, err := k.keys.read(filepath.Base(target))
	maps.Copy(files, private)
	return files, err
}

// KeysDenied returns how often a key was not passed to any process, and the path of the last one.
func (k *Keeper) KeysDenied() keypipe.Denials {
	if k.keys == nil {
		return keypipe.Denials{}
	}
	return k.keys.readers.Denied()
}

// WatchedFolders returns the folders to watch.
func (k *Keeper) WatchedFolders() []string {
	var folders []string
	for _, name := range k.names {
		folders = append(folders, filepath.Join(k.secrets, name))
	}
	return folders
}

// Refresh reads the Secrets that have changed, and decides which pairs nginx is to use at a time. hosts returns the names
// of the servers that use a certificate.
func (k *Keeper) Refresh(now time.Time, hosts func(name string, used *x509.Certificate) []string) {
	for _, name := range k.names {
		s := k.state[name]
		k.refresh(name, s)
		if s.candidate == nil {
			continue
		}
		s.report.Error = ""
		if s.leaf != nil {
			s.report.Error = reasonToKeep(s.leaf, leaf(s.candidate), hosts(name, s.leaf), now)
		}
		s.withheld = s.report.Error != ""
	}
}

func (k *Keeper) refresh(name string, s *certificateState) {
	dir := filepath.Join(k.secrets, name)
	version := volumes.Version(dir)
	if version != "" && version == s.version {
		return
	}
	files, err := volumes.Read(dir)
	if err != nil {
		// The error includes paths only, and no content.
		s.report.Error = "the Secret cannot be read: " + readErrorMessage(err)
		return
	}
	s.version, s.mounted, s.candidate = version, hash(files), nil
	if err := Check(files); err != nil {
		s.report.Error = err.Error()
		return
	}
	switch s.mounted {
	case s.refused:
	case s.used:
		s.report.Error = ""
	default:
		s.report.Error = ""
		s.candidate = files
	}
}

func readErrorMessage(err error) string {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err.Error()
	}
	return "it keeps changing"
}

// HasUnpublished reports whether there is a pair that nginx is to use and does not use yet.
func (k *Keeper) HasUnpublished() bool {
	return slices.ContainsFunc(k.names, func(name string) bool { return k.state[name].isDue() })
}

func (s *certificateState) isDue() bool { return s.candidate != nil && !s.withheld }

// Publish makes the good pairs available to nginx. The caller must call undo if nginx refuses them, which restores the
// previous pairs, or done if nginx accepts them, which removes the pairs that are no longer used.
func (k *Keeper) Publish() (undo func(reason string), done func(), err error) {
	var back []func(string)
	undo = func(reason string) {
		for _, step := range back {
			step(reason)
		}
		k.clean()
	}
	for _, name := range k.names {
		s := k.state[name]
		if !s.isDue() {
			continue
		}
		step, err := k.publish(name, s)
		if err != nil {
			undo(err.Error())
			return nil, nil, err
		}
		back = append(back, step)
	}
	return undo, k.clean, nil
}

func (k *Keeper) publish(name string, s *certificateState) (undo func(string), err error) {
	before, beforeLeaf, beforeReport := s.used, s.leaf, s.report
	fresh := s.mounted
	if err := k.writePair(name, fresh, s.candidate); err != nil {
		return nil, err
	}
	if err := k.link(name, fresh); err != nil {
		return nil, err
	}
	s.used, s.leaf = fresh, leaf(s.candidate)
	describe(&s.report, s.leaf)
	s.candidate = nil
	return func(reason string) {
		s.used, s.leaf, s.refused, s.report = before, beforeLeaf, fresh, beforeReport
		s.report.Error = reason
		if before == "" {
			_ = os.Remove(filepath.Join(k.dir, name))
		} else if err := k.link(name, before); err != nil {
			s.report.Error = err.Error()
		}
	}, nil
}

func (k *Keeper) pairDir(name, hash string) string {
	return filepath.Join(k.dir, pairsDir, name+"-"+hash)
}

func pairLink(name, hash string) string { return filepath.Join(pairsDir, name+"-"+hash) }

func (k *Keeper) link(name, hash string) error {
	next := filepath.Join(k.dir, pairsDir, name+".next")
	_ = os.Remove(next)
	// The link is relative, so that it is valid wherever the folder is mounted.
	if err := os.Symlink(pairLink(name, hash), next); err != nil {
		return fmt.Errorf("switch the certificate %s: %w", name, err)
	}
	if err := os.Rename(next, filepath.Join(k.dir, name)); err != nil {
		return fmt.Errorf("switch the certificate %s: %w", name, err)
	}
	return nil
}

// clean removes the unused pairs.
func (k *Keeper) clean() {
	used := map[string]bool{}
	for _, name := range k.names {
		used[name+"-"+k.state[name].used] = true
	}
	k.keys.removeExcept(used)
	entries, err := os.ReadDir(filepath.Join(k.dir, pairsDir))
	if err != nil {
		return
	}
	for _, entry := range entries {
		if !used[entry.Name()] {
			_ = os.RemoveAll(filepath.Join(k.dir, pairsDir, entry.Name()))
		}
	}
}

// writePair writes the files of a Secret for nginx. A private key becomes a named pipe.
func (k *Keeper) writePair(name, hash string, files map[string]string) error {
	public, private := split(files)
	dir := k.pairDir(name, hash)
	k.keys.remove(filepath.Base(dir))
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("write a certificate: %w", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("write a certificate: %w", err)
	}
	for file, content := range public {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
			return fmt.Errorf("write a certificate: %w", err)
		}
	}
	return k.keys.serve(dir, private)
}

// Report describes the certificates in the order of their names. listeners maps each certificate to the addresses that
// use it.
func (k *Keeper) Report(listeners map[string][]string) []instanceapi.Certificate {
	var reports []instanceapi.Certificate
	for _, name := range k.names {
		report := k.state[name].report
		report.Listeners = listeners[name]
		reports = append(reports, report)
	}
	return reports
}
