package userfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// hostile returns a folder with links, pipes and a secret beside it.
func hostile(t *testing.T) (folder, secret string) {
	t.Helper()
	dir := t.TempDir()
	folder, secret = filepath.Join(dir, "nginx"), filepath.Join(dir, "secret")
	must(t, os.MkdirAll(filepath.Join(folder, "sites-available"), 0o750))
	must(t, os.WriteFile(secret, []byte("secret"), 0o600))
	must(t, os.WriteFile(filepath.Join(folder, "sites-available", "shop"), []byte("shop"), 0o600))
	must(t, os.WriteFile(filepath.Join(folder, "large"), []byte(strings.Repeat("a", 100)), 0o600))
	for link, target := range map[string]string{
		"inside": "sites-available/shop", "around": "sites-available/../sites-available/shop", "debian": "/etc/nginx/sites-available/shop",
		"folder": "/etc/nginx/sites-available", "above": "../secret", "absolute": secret, "zero": "/dev/zero", "passwd": "/etc/passwd",
		"sneaky": "/etc/nginx/../passwd", "loop": "loop", "loop-a": "loop-b", "loop-b": "loop-a", "dangling": "/etc/nginx/nothing", "up": "..",
	} {
		must(t, os.Symlink(target, filepath.Join(folder, link)))
	}
	must(t, syscall.Mkfifo(filepath.Join(folder, "pipe"), 0o600))
	must(t, os.Symlink("pipe", filepath.Join(folder, "to-pipe")))
	return folder, secret
}

// TestFolder: what a folder's links lead to is a file of the folder, or an error.
func TestFolder(t *testing.T) {
	dir, _ := hostile(t)
	folder, err := Open(dir, "/etc/nginx")
	must(t, err)
	defer func() { must(t, folder.Close()) }()
	for name, want := range map[string]string{"inside": "shop", "around": "shop", "debian": "shop", "folder/shop": "shop", "sites-available/shop": "shop"} {
		if text, err := ReadIn(folder, name, 50); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	for name, want := range map[string]error{"above": ErrOutside, "absolute": ErrOutside, "zero": ErrOutside, "passwd": ErrOutside, "sneaky": ErrOutside, "up/secret": ErrOutside,
		"pipe": ErrNotRegular, "to-pipe": ErrNotRegular, "dangling": fs.ErrNotExist, "nothing": fs.ErrNotExist, "../secret": fs.ErrInvalid, "/etc/passwd": fs.ErrInvalid} {
		if text, err := ReadIn(folder, name, 50); !errors.Is(err, want) {
			t.Errorf("%s: %q, error %v, want %v", name, text, err, want)
		}
	}
	for _, name := range []string{"loop", "loop-a", "large", "folder", "."} {
		if text, err := ReadIn(folder, name, 50); err == nil {
			t.Errorf("%s: %q", name, text)
		}
	}
}

// TestBeside: with a copy of the file system, absolute links lead into the copy, and never to this machine.
func TestBeside(t *testing.T) {
	dir, _ := hostile(t)
	root := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(root, "etc", "nginx"), 0o750))
	must(t, os.WriteFile(filepath.Join(root, "etc", "passwd"), []byte("copied"), 0o600))
	must(t, os.Symlink("/etc/passwd", filepath.Join(root, "etc", "link")))
	must(t, os.Symlink("../../../etc/hosts", filepath.Join(root, "etc", "above")))
	whole, err := Open(root, "/")
	must(t, err)
	defer func() { must(t, whole.Close()) }()
	folder, err := Open(dir, "/etc/nginx")
	must(t, err)
	defer func() { must(t, folder.Close()) }()
	if text, err := ReadIn(folder.Beside(whole), "passwd", 50); err != nil || string(text) != "copied" {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := ReadIn(whole, "etc/link", 50); err != nil || string(text) != "copied" {
		t.Errorf("%q, %v", text, err)
	}
	for _, name := range []string{"zero", "absolute"} {
		if text, err := ReadIn(folder.Beside(whole), name, 50); err == nil {
			t.Errorf("%s: %q", name, text)
		}
	}
	if text, err := ReadIn(whole, "etc/above", 50); err == nil {
		t.Errorf("a link above the root: %q", text)
	}
}

// TestReadFile: a device and a pipe are refused, and a file is read up to a bound.
func TestReadFile(t *testing.T) {
	dir, secret := hostile(t)
	if text, err := ReadFile(secret, 50); err != nil || string(text) != "secret" {
		t.Errorf("%q, %v", text, err)
	}
	for _, name := range []string{"/dev/zero", "/dev/null", filepath.Join(dir, "pipe"), filepath.Join(dir, "zero"), filepath.Join(dir, "large"), dir, filepath.Join(dir, "loop")} {
		if text, err := ReadFile(name, 50); err == nil {
			t.Errorf("%s: %q", name, text)
		} else if !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	zero, err := os.Open("/dev/zero")
	must(t, err)
	defer func() { _ = zero.Close() }()
	if _, err := ReadAll(zero, "input", 1<<20); err == nil || !strings.Contains(err.Error(), "input is larger than 1024 KiB") {
		t.Errorf("error %v", err)
	}
}

// TestWalk: too deep folders are refused, hidden ones are skipped, and links to folders are not followed.
func TestWalk(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, ".git", "a"), 0o750))
	must(t, os.MkdirAll(filepath.Join(dir, "b"), 0o750))
	must(t, os.Symlink("..", filepath.Join(dir, "b", "up")))
	folder, err := Open(dir)
	must(t, err)
	defer func() { must(t, folder.Close()) }()
	var found []string
	collect := func(name string, _ fs.DirEntry) error {
		found = append(found, name)
		return nil
	}
	must(t, Walk(folder, collect))
	if got := strings.Join(found, " "); got != ". b b/up" {
		t.Errorf("found %s", got)
	}
	must(t, os.MkdirAll(filepath.Join(dir, strings.Repeat("d/", maxDepth+2)), 0o750))
	if err := Walk(folder, collect); err == nil {
		t.Error("folders of any depth are read")
	}
}
