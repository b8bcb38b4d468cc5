// Package nginxtest tests the configuration of an application with an nginx of this machine.
//
// It gives nginx what the pods have: the files around those of the user, and a certificate for each entry of spec.tls.
// What only the cluster has, such as backends and mounted volumes, cannot be tested; nginx stops there, and the test says
// so with a warning.
package nginxtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instance/assemble"
	"example.com/nginx-operator/internal/instance/problems"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/plugin/lint"
)

// timeout bounds a test.
const timeout = 20 * time.Second

// Nginx is a program of this machine.
type Nginx struct {
	path string
	// configDir has the files that configurations include by relative names.
	configDir string
	// logsToStderr is set if the program has the flag -e, as nginx 1.19.5 and later.
	logsToStderr bool
}

var (
	version  = regexp.MustCompile(`version: \S+/(\d+)\.(\d+)\.(\d+)`)
	confPath = regexp.MustCompile(`--conf-path=(\S+)`)
)

// New returns the nginx of a path.
func New(ctx context.Context, path string) (*Nginx, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	output, err := exec.CommandContext(ctx, path, "-V").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("--nginx %s: it cannot be run: %w", path, err)
	}
	found := version.FindSubmatch(output)
	if found == nil {
		return nil, fmt.Errorf("--nginx %s: it is not nginx: -V shows no version", path)
	}
	n := &Nginx{path: path, configDir: "/etc/nginx"}
	if conf := confPath.FindSubmatch(output); conf != nil {
		n.configDir = filepath.Dir(string(conf[1]))
	}
	numbers := [3]int{}
	for i := range numbers {
		if numbers[i], err = strconv.Atoi(string(found[i+1])); err != nil {
			return nil, fmt.Errorf("--nginx %s: %w", path, err)
		}
	}
	n.logsToStderr = slices.Compare(numbers[:], []int{1, 19, 5}) >= 0
	return n, nil
}

// maxHosts bounds how many names of backends are replaced, one after the other: nginx stops at the first one.
const maxHosts = 100

var unknownHost = regexp.MustCompile(`^host not found in [a-z ]+ "([^":]+)`)

// Test implements lint.Tester. A name that only the cluster resolves is replaced by an address, so that nginx tests the rest.
func (n *Nginx) Test(ctx context.Context, nginx *v1alpha2.NginxOperator, files map[string]string) ([]lint.Tested, error) {
	var unresolved []lint.Tested
	known := map[string]bool{}
	texts, replace := map[string]string{}, strings.NewReplacer(values(nginx)...)
	for name, text := range files {
		texts[name] = replace.Replace(text)
	}
	for range maxHosts {
		found, err := n.testOnce(ctx, nginx, texts)
		if err != nil || len(found) == 0 {
			return unresolved, err
		}
		host := unknownHost.FindStringSubmatch(found[0].Message)
		if host == nil || known[host[1]] {
			return append(unresolved, found...), nil
		}
		known[host[1]] = true
		found[0].Message = fmt.Sprintf("%s is not known to this machine; the pods have to resolve it", host[1])
		unresolved = append(unresolved, found[0])
		for name, text := range texts {
			texts[name] = replaceWord(text, host[1], "127.0.0.1")
		}
	}
	return unresolved, nil
}

// replaceWord replaces a name where it is not a part of a longer one.
func replaceWord(text, name, by string) string {
	matcher := regexp.MustCompile(`(^|[^-.\w])` + regexp.QuoteMeta(name) + `([^-.\w]|$)`)
	return matcher.ReplaceAllString(text, "${1}"+by+"${2}")
}

// testOnce tests a configuration, and returns why nginx refuses it.
func (n *Nginx) testOnce(ctx context.Context, nginx *v1alpha2.NginxOperator, files map[string]string) (found []lint.Tested, err error) {
	dir, err := os.MkdirTemp("", "kubectl-nginx-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := n.prepare(dir, nginx, files); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	arguments := []string{"-t", "-c", filepath.Join(dir, assemble.MainFile)}
	if n.logsToStderr {
		arguments = append(arguments, "-e", "stderr")
	}
	output, err := exec.CommandContext(ctx, n.path, arguments...).CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s did not test the configuration within %s", n.path, timeout)
	case !errors.As(err, &exit):
		return nil, err
	}
	return verdicts(dir, string(output)), nil
}

// prepare writes the files that nginx reads to a folder.
func (n *Nginx) prepare(dir string, nginx *v1alpha2.NginxOperator, files map[string]string) error {
	image := assemble.DefaultImage()
	image.ConfigDir, image.MimeTypes = n.configDir, ""
	if _, err := os.Stat(filepath.Join(n.configDir, "mime.types")); err == nil {
		image.MimeTypes = filepath.Join(n.configDir, "mime.types")
	}
	replace := strings.NewReplacer(replacements(dir)...)
	texts := map[string]string{}
	for name, text := range files {
		texts[name] = replace.Replace(text)
	}
	assembled := assemble.Files(texts, assemble.Settings{StateDir: dir, Workers: 1, DrainTimeout: time.Second, Image: image})
	if err := n.linkFiles(dir, assembled.Files); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(assembled.Files)) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(assembled.Files[name]), 0o600); err != nil {
			return err
		}
	}
	for _, c := range nginx.Spec.TLS {
		if err := writePair(filepath.Join(dir, "tls", c.Name)); err != nil {
			return err
		}
	}
	return nil
}

// linkFiles links the files that nginx has beside its nginx.conf, apart from those that the configuration has, too.
func (n *Nginx) linkFiles(dir string, files map[string]string) error {
	entries, err := os.ReadDir(n.configDir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, entry := range entries {
		if _, own := files[entry.Name()]; own || entry.Name() == "nginx.conf" {
			continue
		}
		if err := os.Symlink(filepath.Join(n.configDir, entry.Name()), filepath.Join(dir, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

// replacements are the folders that differ on this machine: those of the certificates, and those that nginx writes to.
func replacements(dir string) []string {
	return []string{instanceapi.DirTLS + "/", dir + "/tls/", "/var/cache/nginx/", dir + "/", "/var/lib/nginx/", dir + "/", " unix:/run/", " unix:" + dir + "/"}
}

// values are the variables of the configuration with their values, or with some word if only the cluster has them.
func values(nginx *v1alpha2.NginxOperator) (pairs []string) {
	if nginx.Spec.Config == nil {
		return nil
	}
	for _, v := range nginx.Spec.Config.Env {
		value := "value"
		if v.Value != nil {
			value = *v.Value
		}
		pairs = append(pairs, "${"+v.Name+"}", value)
	}
	return pairs
}

var (
	inFile = regexp.MustCompile(`^(.*) in (/\S+):(\d+)$`)
	// cluster matches messages about what only the cluster has.
	cluster = regexp.MustCompile(`^host not found in |^mkdir\(|^bind\(.*\((99|13): |^(cannot load certificate|BIO_new_file|open|opendir|stat|SSL_CTX_load_verify_locations)\b.*(No such file or directory|2: )`)
	// machine matches messages about this machine, which come after nginx has accepted the configuration.
	machine = regexp.MustCompile(`^bind\(.*\(98: |^bind\(\) to \S+:(\d{1,3}|10[01]\d|102[0-3]) failed \(13: |^(chown|socket|setrlimit|getpwnam)\(`)
)

// verdicts turns the messages of a test into problems.
func verdicts(dir, output string) (found []lint.Tested) {
	for text := range strings.Lines(output) {
		line, ok := problems.ParseLine(text)
		if !ok || !line.Severe() || line.Ignored() || machine.MatchString(line.Message) {
			continue
		}
		tested := lint.Tested{Problem: instanceapi.Problem{Message: line.Message}, NotTested: cluster.MatchString(line.Message)}
		if place := inFile.FindStringSubmatch(line.Message); place != nil {
			tested.Message, tested.File = place[1], strings.TrimPrefix(place[2], dir+"/")
			if number, err := strconv.Atoi(place[3]); err == nil {
				tested.Line = number
			}
		}
		tested.Message = strings.ReplaceAll(tested.Message, dir+"/", "")
		if tested.NotTested {
			tested.Message += ": only the cluster has it, so nginx could test the configuration up to here only"
		}
		found = append(found, tested)
	}
	return found
}
