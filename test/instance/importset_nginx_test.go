//go:build instance && importset

package instance_test

import (
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"example.com/nginx-operator/internal/instance/syntax"
	"example.com/nginx-operator/test/importset"
	"example.com/nginx-operator/test/standin/container"
)

// maxNeeds bounds what is provided to a configuration, one thing after another.
const maxNeeds = 150

// provideAll provides what nginx misses until it accepts the configuration. It returns why it does not.
func (m *machine) provideAll() string {
	m.t.Helper()
	var refusal string
	for range maxNeeds {
		accepted, output := m.nginx("-t")
		if accepted {
			return ""
		}
		refusal = importset.Refusal(output)
		need, known := importset.Missing(refusal)
		if m.part != "" && !known {
			need, known = importset.MissingAround(refusal)
		}
		if !known || !m.provide(need) {
			return refusal
		}
	}
	return refusal
}

// provide provides what nginx misses. It reports false if that was provided already.
func (m *machine) provide(need importset.Need) bool {
	m.t.Helper()
	switch need.Kind {
	case importset.Host:
		again := m.hosts[need.Name]
		m.hosts[need.Name] = true
		m.writeHosts()
		return !again
	case importset.NoResolver:
		m.statements = slices.DeleteFunc(m.statements, func(s string) bool { return s == importset.Resolver })
		m.wrap()
		return true
	case importset.Statement:
		again := slices.Contains(m.statements, need.Name)
		m.statements = append(m.statements, need.Name)
		m.wrap()
		return !again
	case importset.Folder:
		again := m.writable[need.Name] != "" || need.Name == "/" || need.Name == "/etc"
		if !again {
			m.makeWritable(need.Name)
		}
		return !again
	case importset.File, importset.Certificate, importset.Key, importset.Parameters:
		return m.provideFile(need)
	}
	return false
}

// provideFile provides a file.
func (m *machine) provideFile(need importset.Need) bool {
	m.t.Helper()
	if m.provided[need.Name] {
		return false
	}
	m.provided[need.Name] = true
	serial := int64(crc32.ChecksumIEEE([]byte(need.Name)))
	texts := map[importset.Kind]string{importset.Parameters: importset.DHParameters}
	if need.Kind == importset.Certificate || need.Kind == importset.Key {
		certificate, key, err := importset.CertificateOf(serial)
		must(m.t, err)
		texts[importset.Certificate], texts[importset.Key] = certificate, key
	}
	m.write(need.Name, texts[need.Kind])
	return true
}

// nginx runs nginx with the configuration and arguments until it ends.
func (m *machine) nginx(arguments ...string) (accepted bool, text string) {
	m.t.Helper()
	out := &output{}
	started := m.start(strings.Join(arguments, " "), out)
	defer started.Stop()
	select {
	case <-started.Ended():
	case <-time.After(patience):
		m.t.Fatalf("nginx %v does not end", arguments)
	}
	return started.State().Success(), out.String()
}

func (m *machine) spec(command ...string) container.Spec {
	s := container.Spec{Root: m.root, Command: command, Mounts: []container.Mount{{From: m.etc, To: "/etc/nginx"}}}
	for _, folder := range slices.Sorted(maps.Keys(m.writable)) {
		s.Mounts = append(s.Mounts, container.Mount{From: m.writable[folder], To: folder})
	}
	return s
}

// dumped matches the line of nginx -T above a file.
var dumped = regexp.MustCompile(`(?m)^# configuration file (\S+):$`)

// tree returns the configuration as nginx reads it.
func (m *machine) tree() syntax.Tree {
	m.t.Helper()
	_, text := m.nginx("-T", "-q")
	files := map[string]string{}
	found := dumped.FindAllStringSubmatchIndex(text, -1)
	for i, at := range found {
		end := len(text)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		files[text[at[2]:at[3]]] = text[at[1]:end]
	}
	return syntax.NewTree("/etc/nginx", files)
}

// start starts nginx with the configuration, and more words for the shell.
func (m *machine) start(words string, out *output) *container.Container {
	m.t.Helper()
	// nginx waits until its network has the addresses of the configuration.
	isSet := filepath.Join(m.writable["/run"], "network-is-set")
	must(m.t, os.RemoveAll(isSet))
	script := fmt.Sprintf("until [ -e /run/network-is-set ]; do :; done; /usr/sbin/nginx -c %s -e stderr %s", m.main, words)
	started, err := container.Start(m.spec("/bin/sh", "-c", script), out)
	must(m.t, err)
	m.setAddresses(started)
	must(m.t, os.WriteFile(isSet, nil, 0o644)) //nolint:gosec // The container reads it.
	return started
}

// startOriginal starts nginx with the configuration as it is. It returns nil if nginx ends.
func (m *machine) startOriginal(first importset.Request) *container.Container {
	m.t.Helper()
	started := m.start("&& exec sleep infinity", m.output) // A configuration may start nginx as a daemon.
	m.t.Cleanup(started.Stop)
	m.serveBackends(started)
	if waitFor(started, originalAddress(first)) != nil {
		return nil
	}
	return started
}
