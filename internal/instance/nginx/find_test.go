package nginx

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func program(t *testing.T, dir, name string, mode os.FileMode, content string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFindProgram(t *testing.T) {
	root := t.TempDir()
	in := func(dir string) string { return filepath.Join(root, dir) }
	angie := program(t, in("first"), "angie", 0o755, "")
	own := program(t, in("second"), "nginx", 0o755, "")
	openresty := program(t, in("usual"), "openresty", 0o755, "")
	forbidden := program(t, in("denied"), "nginx", 0o600, "")
	// A folder of the name of the program is none.
	program(t, in("folder/nginx"), "README", 0o644, "")
	for name, tt := range map[string]struct {
		path    string
		folders []string
		want    string
		message string
	}{
		"nginx before its forks":     {in("first") + ":" + in("second"), nil, own, ""},
		"PATH before other folders":  {in("first"), []string{in("second")}, angie, ""},
		"outside of PATH":            {in("missing"), []string{in("usual")}, openresty, ""},
		"behind what is not allowed": {in("denied"), []string{in("usual")}, openresty, ""},
		"not executable":             {in("denied"), nil, "", forbidden + ": set podTemplate.securityContext.runAsUser"},
		"a folder":                   {in("folder"), nil, "", "the image has no nginx"},
		"nowhere":                    {in("missing") + ":.", []string{in("empty")}, "", "no nginx, angie, openresty, freenginx in PATH (" + in("missing") + ":.) or in " + in("empty") + "; use an image"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := findProgram(tt.path, tt.folders)
			if got != tt.want || (err != nil) != (tt.message != "") || err != nil && !strings.Contains(err.Error(), tt.message) {
				t.Errorf("found %q (%v), want %q (%s)", got, err, tt.want, tt.message)
			}
		})
	}
}

func TestCannotRun(t *testing.T) {
	for want, err := range map[string]error{
		"/bin/nginx is not a program for this node (":                     &fs.PathError{Op: "fork/exec", Path: "/bin/nginx", Err: syscall.ENOEXEC},
		"/bin/nginx cannot start: its dynamic loader is not in the image": &fs.PathError{Op: "fork/exec", Path: "/bin/nginx", Err: syscall.ENOENT},
		"get the version of nginx: /bin/nginx -V: open /dev/null: no":     &fs.PathError{Op: "open", Path: "/dev/null", Err: syscall.ENOENT},
		"get the version of nginx: /bin/nginx -V: exit status 1: text":    errors.New("exit status 1"),
	} {
		if got := cannotRun("/bin/nginx", err, "text").Error(); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestHasDirective: a name is found at the border of blocks, and only as a whole string.
func TestHasDirective(t *testing.T) {
	const name = "keepalive_min_timeout"
	dir := t.TempDir()
	for _, offset := range []int{5, 64<<10 - 10, 64<<10 - 1, 64 << 10, 200 << 10} {
		content := "\x7fELF" + strings.Repeat("x", offset)
		if !hasDirective(program(t, dir, "with", 0o755, content+"\x00"+name+"\x00"), name) {
			t.Errorf("not found after %d bytes", offset)
		}
		if hasDirective(program(t, dir, "without", 0o755, content+"\x00"+name+"_more\x00"), name) {
			t.Errorf("another name is found after %d bytes", offset)
		}
	}
	if !hasDirective(program(t, dir, "script", 0o755, "#!/bin/sh\nexec nginx\n"), name) {
		t.Error("the nginx behind a script is taken not to have the directive")
	}
}
