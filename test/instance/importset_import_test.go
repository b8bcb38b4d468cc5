//go:build instance && importset

package instance_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/plugin/importer"
	"example.com/nginx-operator/test/standin/container"
)

// startImport starts an instance with what the import makes of the configuration, after the steps of its review.
func (m *machine) startImport() *container.Container {
	m.t.Helper()
	result, err := importer.Config(importer.Folder{Config: os.DirFS(m.conf), Root: os.DirFS(m.root)}, []string{m.main}, importer.Options{})
	if err != nil {
		m.t.Errorf("the import refuses it: %v", err)
		return nil
	}
	spec, files := result.Applications[0].Spec, map[string]string{}
	for name, text := range spec.Config.Files {
		files[name] = string(text)
	}
	for _, c := range result.ConfigMaps {
		files = c.Data
	}
	p := newPod(m.t, files)
	p.root = m.root
	p.mounts = m.sockets
	secrets := m.secrets(result.Review.Steps)
	var arguments []string
	for _, c := range spec.TLS {
		p.mount(instanceapi.DirSecrets+"/"+c.Name, secrets[c.SecretName])
		arguments = append(arguments, "--certificate="+c.Name)
	}
	for _, port := range spec.Ports {
		arguments = append(arguments, portArgument(port))
	}
	if spec.PodTemplate != nil {
		p.mounts = append(p.mounts, m.secretMount(secrets[result.Applications[0].Name+"-files"]))
	}
	p.start("", arguments...)
	m.serveBackends(p.container)
	if err := m.reachable(p); err != nil {
		m.t.Errorf("the import does not start: %v\n%s", err, requests.ReplaceAllString(p.output.String(), ""))
		return nil
	}
	return p.container
}

// secrets does the steps of a review that create Secrets.
func (m *machine) secrets(steps []string) map[string]map[string]string {
	m.t.Helper()
	secrets := map[string]map[string]string{}
	for _, step := range steps {
		_, command, found := strings.Cut(step, "kubectl create secret ")
		if !found {
			continue
		}
		words := strings.Fields(command)
		secret := map[string]string{}
		for _, word := range words[2:] {
			flag, value, _ := strings.Cut(strings.Trim(word, "'"), "=")
			switch flag {
			case "--cert":
				secret["tls.crt"] = m.read(value)
			case "--key":
				secret["tls.key"] = m.read(value)
			case "--from-file":
				key, path, _ := strings.Cut(value, "=")
				secret[key] = m.read(path)
			}
		}
		secrets[words[1]] = secret
	}
	return secrets
}

func portArgument(p v1alpha2.Port) string {
	return fmt.Sprintf("--port=%s:%d/%s", p.Name, p.Port, p.Protocol)
}

// secretMount mounts a Secret where an import expects its files.
func (m *machine) secretMount(secret map[string]string) container.Mount {
	m.t.Helper()
	dir := filepath.Join(m.dir, "secret")
	must(m.t, os.MkdirAll(dir, 0o755))
	for name, text := range secret {
		must(m.t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)) //nolint:gosec // nginx's user reads it.
	}
	return container.Mount{From: dir, To: "/etc/nginx-files"}
}

// reachable waits until an instance is ready. It returns why it is not.
func (m *machine) reachable(p *Pod) error {
	deadline := time.Now().Add(patience)
	for {
		status, err := p.status()
		switch {
		case err == nil && status.Ready:
			return nil
		case err == nil:
			err = fmt.Errorf("status %+v", status)
		}
		select {
		case <-p.container.Ended():
			return fmt.Errorf("it has ended: %v", p.container.State())
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return err
		}
	}
}
