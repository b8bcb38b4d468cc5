package confine

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestAllowed(t *testing.T) {
	root := fstest.MapFS{
		"bin":                           {Mode: os.ModeSymlink},
		"usr/sbin/nginx":                {},
		"proc/1/environ":                {},
		"tmp/x":                         {},
		"etc/passwd":                    {},
		"etc/nginx/mime.types":          {},
		"etc/nginx/tls/site":            {Mode: os.ModeSymlink},
		"etc/nginx/tls/.pairs/a/b":      {},
		"etc/nginx/tls/.keys/a/tls.key": {},
		"etc/nginx-operator/tls/a/b":    {},
		"etc/nginx-operator/next/b":     {},
	}
	hidden := []string{"/etc/nginx-operator/tls", "/etc/nginx-operator/next", "/etc/nginx/tls/.keys", "/not/there"}
	tests := map[string]struct {
		add      string
		writable string
		hidden   []string
		want     []string
	}{
		"all":                  {want: []string{"etc/nginx/mime.types", "etc/nginx/tls/.pairs", "etc/passwd", "proc", "tmp", "usr"}},
		"a writable parent":    {writable: "etc/nginx/tls", want: []string{"etc/nginx/mime.types", "etc/nginx/tls/.pairs", "etc/passwd", "proc", "tmp", "usr"}},
		"a writable ancestor":  {writable: "etc/nginx", want: []string{"etc/nginx", "etc/passwd", "proc", "tmp", "usr"}},
		"a mounted ConfigMap":  {add: "etc/nginx/..data/x", want: []string{"etc/nginx", "etc/passwd", "proc", "tmp", "usr"}},
		"nothing to be hidden": {hidden: []string{}, want: []string{"etc", "proc", "tmp", "usr"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			files := maps.Clone(root)
			if tt.add != "" {
				files[tt.add] = &fstest.MapFile{}
			}
			paths := hidden
			if tt.hidden != nil {
				paths = tt.hidden
			}
			got, err := allowed(files, paths, func(dir string) bool { return dir == tt.writable })
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// asProgram is the environment variable that makes the test's program confine itself. Its value are
// the hidden paths.
const asProgram = "CONFINE_TEST_RUN"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		// Temporary folders are writable, unlike those of the instance manager, so none is treated
		// as writable.
		runtime.LockOSThread()
		hide(strings.Split(os.Getenv(asProgram), ":"), func(string) bool { return false })
		_, _ = os.Stderr.WriteString(syscall.Exec(os.Args[1], os.Args[1:], os.Environ()).Error())
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// run runs a shell command that cannot read the hidden files.
func run(t *testing.T, hidden []string, script string) string {
	t.Helper()
	command := exec.Command(os.Args[0], "/bin/sh", "-c", script)
	command.Env = append(os.Environ(), asProgram+"="+strings.Join(hidden, ":"))
	output, err := command.CombinedOutput()
	if err != nil {
		t.Logf("%s: %v", script, err)
	}
	return strings.TrimSpace(string(output))
}

// TestHidden: the kernel that runs the test hides the files.
func TestHidden(t *testing.T) {
	if err := Supported(); err != nil {
		// Without Landlock, only the program has to run.
		if got := run(t, []string{"/etc/shadow"}, "echo runs"); got != "runs" {
			t.Errorf("without Landlock (%v): %q", err, got)
		}
		return
	}
	dir := t.TempDir()
	secret, public := filepath.Join(dir, "hidden"), filepath.Join(dir, "public")
	for _, folder := range []string{secret, public} {
		if err := os.MkdirAll(filepath.Join(folder, "deep"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "deep", "file"), []byte("CONTENT"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tests := map[string]struct {
		script string
		reads  bool
	}{
		"beside":                       {"cat " + public + "/deep/file", true},
		"hidden":                       {"cat " + secret + "/deep/file", false},
		"written":                      {"echo x >" + secret + "/deep/file && echo CONTENT", false},
		"by a link":                    {"ln -s " + secret + " link && cat link/deep/file", false},
		"moved":                        {"mv " + secret + "/deep/file here && cat here", false},
		"moved with its folder":        {"mv " + secret + "/deep " + public + "/ && cat " + public + "/deep/deep/file", false},
		"linked":                       {"ln " + secret + "/deep/file here && cat here", false},
		"through another process":      {"cat /proc/" + "$PPID" + "/root" + secret + "/deep/file /proc/1/root" + secret + "/deep/file", false},
		"moved from folder to folder":  {"mkdir a b && echo CONTENT >a/x && mv a/x b/x && cat b/x", true},
		"by a child":                   {"sh -c 'cat " + secret + "/deep/file'", false},
		"the machine's":                {"test -r /etc/passwd && cat /proc/self/status >/dev/null && echo x >/dev/null && ls " + secret + " >/dev/null && echo CONTENT", true},
		"what comes later":             {"mkdir -p later && echo CONTENT >later/x && cat later/x", true},
		"a pipe by its descriptor":     {"echo CONTENT | cat /proc/self/fd/0", true},
		"the environment of process 1": {"cat /proc/1/environ >/dev/null && echo CONTENT", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := run(t, []string{secret}, "cd "+t.TempDir()+" && "+tt.script)
			if strings.Contains(got, "CONTENT") != tt.reads {
				t.Errorf("%s: %q, want it to read: %t", tt.script, got, tt.reads)
			}
		})
	}
}
