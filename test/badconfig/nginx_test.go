//go:build roots

package badconfig_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/nginx-operator/test/badconfig"
)

// TestNginx: real nginx diagnoses every case as expected. BADCONFIG_ROOTS are folders with the root
// file systems of nginx images, separated by colons, and the test must run as root. The diagnoses
// in the corpus were found with it (go test -tags=roots ./test/badconfig). test/instance tests each
// case in a pod.
func TestNginx(t *testing.T) {
	roots := os.Getenv("BADCONFIG_ROOTS")
	if roots == "" {
		t.Fatal("BADCONFIG_ROOTS is not set: it names the root file systems of images of nginx")
	}
	for root := range strings.SplitSeq(roots, ":") {
		t.Run(filepath.Base(root), func(t *testing.T) {
			n := newNginx(t, root)
			n.good(t)
			for _, c := range badconfig.All() {
				t.Run(c.Name, func(t *testing.T) { n.check(t, c) })
			}
		})
	}
}

// nginx runs in the root file system of an image, in a separate network in which another process
// uses the occupied port.
type nginx struct {
	root    string
	network int
}

func newNginx(t *testing.T, root string) *nginx {
	t.Helper()
	n := &nginx{root: root}
	// This is the same in every pod.
	hosts := "127.0.0.1 localhost\n::1 localhost\n"
	if err := os.WriteFile(filepath.Join(root, "etc", "hosts"), []byte(hosts), 0o644); err != nil {
		t.Fatal(err)
	}
	n.write(t, "/badconfig/occupant", map[string]string{"main.conf": fmt.Sprintf(
		"pid /tmp/occupant.pid;\nerror_log /tmp/occupant.log;\nevents {}\nhttp { access_log off; server { listen %d; listen [::]:%d; } }", badconfig.OccupiedPort, badconfig.OccupiedPort)})
	occupant := exec.CommandContext(t.Context(), "nginx", "-c", "/badconfig/occupant/main.conf", "-g", "daemon off; master_process off;")
	occupant.Path = "/usr/sbin/nginx"
	occupant.Err = nil
	occupant.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Cloneflags: syscall.CLONE_NEWNET}
	start(t, occupant)
	n.network = occupant.Process.Pid
	link := exec.CommandContext(t.Context(), "nsenter", "-t", strconv.Itoa(n.network), "-n", "ip", "link", "set", "lo", "up")
	if output, err := link.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return n
}

func start(t *testing.T, command *exec.Cmd) {
	t.Helper()
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Setpgid = true
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// Also kill the workers, which outlive a killed master process.
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
		_ = command.Wait()
	})
}

// live starts nginx with files, and returns a function that reads its output. The output goes to a
// file, because workers would hold a pipe open.
func (n *nginx) live(t *testing.T, files map[string]string) (*exec.Cmd, func() string) {
	t.Helper()
	all, main := wrap(files)
	n.write(t, "/badconfig/live", all)
	master := n.command(t.Context(), "-c", "/badconfig/live/"+main, "-g", arguments)
	log, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	master.Stderr = log
	start(t, master)
	return master, func() string {
		text, err := os.ReadFile(log.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

func (n *nginx) write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	dir = filepath.Join(n.root, dir)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// wrap adds a minimal main file, unless the case is a complete configuration.
func wrap(files map[string]string) (map[string]string, string) {
	if _, whole := files["nginx.conf"]; whole {
		return files, "nginx.conf"
	}
	var top, http, stream strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		into := &http
		switch {
		case strings.HasSuffix(name, ".main.conf"):
			into = &top
		case strings.HasSuffix(name, ".stream.conf"):
			into = &stream
		case !strings.HasSuffix(name, ".conf"):
			continue
		}
		fmt.Fprintf(into, "include %s;\n", name)
	}
	all := maps.Clone(files)
	all["generated"] = "include /etc/nginx/modules-enabled/*.conf;\nerror_log stderr notice;\n" + top.String() + "events {\n}\nhttp {\naccess_log off;\n" + http.String() + "}\n"
	if stream.Len() > 0 {
		all["generated"] += "stream {\n" + stream.String() + "}\n"
	}
	return all, "generated"
}

const arguments = "daemon off; master_process on; pid /tmp/badconfig.pid;"

// command runs nginx in the network, with limits on memory and open files.
func (n *nginx) command(ctx context.Context, args ...string) *exec.Cmd {
	script := `ulimit -v 1000000; ulimit -n 1024; exec "$@"`
	all := append([]string{"-t", strconv.Itoa(n.network), "-n", "sh", "-c", script, "sh", "chroot", n.root, "nginx"}, args...)
	return exec.CommandContext(ctx, "nsenter", all...)
}

// test runs nginx -t and returns its output.
func (n *nginx) test(t *testing.T, files map[string]string) (string, error) {
	t.Helper()
	all, main := wrap(files)
	n.write(t, "/badconfig/candidate", all)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	command := n.command(ctx, "-t", "-c", "/badconfig/candidate/"+main, "-g", arguments)
	command.WaitDelay = time.Second
	output, err := command.CombinedOutput()
	return string(output), err
}

func (n *nginx) good(t *testing.T) {
	t.Helper()
	if output, err := n.test(t, badconfig.Good("1")); err != nil {
		t.Fatalf("nginx refuses the good configuration: %s", output)
	}
}

var placed = regexp.MustCompile(`^(.*) in /badconfig/candidate/([^ ]+):(\d+)$`)

// errors returns the messages with a level, without their prefixes.
func errors(output, level string) []string {
	var found []string
	for line := range strings.SplitSeq(output, "\n") {
		if _, message, ok := strings.Cut(line, "["+level+"] "); ok {
			found = append(found, regexp.MustCompile(`^\d+#\d+: `).ReplaceAllString(message, ""))
		}
	}
	return found
}

func (n *nginx) check(t *testing.T, c badconfig.Case) {
	if c.Finder == badconfig.Operator {
		return
	}
	output, err := n.test(t, c.Files)
	if refused := c.Finder == badconfig.Test || c.Finder == badconfig.Crash; refused != (err != nil) {
		t.Fatalf("nginx -t should refuse it: %t; it says: %s", refused, output)
	}
	switch c.Finder {
	case badconfig.Test:
		n.compare(t, c, errors(output, "emerg"), output)
	case badconfig.Load:
		n.load(t, c)
	case badconfig.Workers:
		n.workers(t, c)
	default:
		// There is no message from nginx to compare.
	}
}

// compare compares nginx's first message with the expected one.
func (n *nginx) compare(t *testing.T, c badconfig.Case, messages []string, output string) {
	t.Helper()
	if len(messages) == 0 {
		t.Fatalf("nginx gives no reason: %q", output)
	}
	text := messages[0]
	if match := placed.FindStringSubmatch(text); match != nil {
		text = match[2] + ":" + match[3] + ": " + match[1]
	} else if c.Want.File != "" {
		t.Errorf("nginx names no place: %s", text)
	}
	if len(c.Want.Messages) == 0 || c.Want.Messages[0] == "" {
		t.Errorf("no message is expected, there is %s", text)
	}
	if c.Want.File == "" && placed.MatchString(messages[0]) && !strings.HasPrefix(text, "generated:") {
		t.Errorf("nginx names a place: %s", text)
	}
	if err := c.Want.In(text); err != nil {
		t.Errorf("%v in %q", err, text)
	}
}

// load reloads a running nginx with the case.
func (n *nginx) load(t *testing.T, c badconfig.Case) {
	master, said := n.live(t, badconfig.Good("1"))
	time.Sleep(150 * time.Millisecond)
	all, _ := wrap(c.Files)
	n.write(t, "/badconfig/live", all)
	if err := master.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(5 * time.Second)
	for time.Now().Before(deadline) && len(errors(said(), "emerg")) == 0 {
		time.Sleep(20 * time.Millisecond)
	}
	n.compare(t, c, errors(said(), "emerg"), said())
}

// workers starts an nginx with the case.
func (n *nginx) workers(t *testing.T, c badconfig.Case) {
	_, said := n.live(t, c.Files)
	deadline := time.Now().Add(5 * time.Second)
	for time.Now().Before(deadline) && !strings.Contains(said(), "cannot be respawned") {
		time.Sleep(20 * time.Millisecond)
	}
	if !strings.Contains(said(), "cannot be respawned") {
		t.Errorf("the workers live: %s", said())
	}
	n.compare(t, c, errors(said(), "alert"), said())
}
