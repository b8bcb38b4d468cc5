package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed" // for the template
	"encoding/hex"
	"os"
	"strings"
	"text/template"
)

// plugin is the kubectl plugin, which runs on the machines of users.
const plugin = "kubectl-nginx"

// krewFile is the manifest with which krew installs the plugin: its name is that of the plugin.
const krewFile = "nginx.yaml"

//go:embed krew.yaml.tmpl
var krewText string

var krewTemplate = template.Must(template.New(krewFile).Parse(krewText))

// krewPlatform is a platform in the manifest of krew.
type krewPlatform struct {
	System, Architecture, Address, Sum string
	// Files are those of the archive, and Program is the one to run.
	Files   []string
	Program string
}

// plugins packs the plugin for each platform, and makes the manifest for krew.
func (a *Archive) plugins(context.Context) error {
	var platforms []krewPlatform
	for _, platform := range a.Release.PluginPlatforms {
		content, err := a.pluginTree(platform)
		if err != nil {
			return err
		}
		name := a.pluginArchive(platform)
		if a.files[name], err = a.pack(name, content); err != nil {
			return err
		}
		sum := sha256.Sum256(a.files[name])
		system, architecture, _ := strings.Cut(platform, "/")
		platforms = append(platforms, krewPlatform{
			System: system, Architecture: architecture, Program: executable(platform, plugin), Files: content.names(),
			Address: a.Release.Downloads + "/v" + a.Version + "/" + name, Sum: hex.EncodeToString(sum[:]),
		})
	}
	var manifest bytes.Buffer
	err := krewTemplate.Execute(&manifest, map[string]any{"Version": a.Version, "Homepage": a.Release.Homepage, "Platforms": platforms})
	a.files[krewFile] = manifest.Bytes()
	return err
}

// pluginTree returns what users of a platform unpack: the plugin, what kubectl runs to complete its arguments, and the
// license.
func (a *Archive) pluginTree(platform string) (tree, error) {
	completion := "kubectl_complete-nginx"
	if strings.HasPrefix(platform, "windows/") {
		completion += ".cmd"
	}
	content := tree{}
	for _, file := range []struct {
		name, path string
		mode       int64
	}{
		{executable(platform, plugin), a.program(platform, plugin), 0o755},
		{completion, a.Path("cmd/" + plugin + "/" + completion), 0o755},
		{"LICENSE", a.Path("LICENSE"), 0o644},
	} {
		text, err := os.ReadFile(file.path)
		if err != nil {
			return nil, err
		}
		content.add(file.name, file.mode, text)
	}
	return content, nil
}

// pluginArchive returns the name of the plugin's archive for a platform.
func (a *Archive) pluginArchive(platform string) string {
	suffix := ".tar.gz"
	if strings.HasPrefix(platform, "windows/") {
		suffix = ".zip"
	}
	return plugin + "-" + a.Version + "-" + strings.ReplaceAll(platform, "/", "-") + suffix
}

// pack packs a tree as the suffix of the name says.
func (a *Archive) pack(name string, content tree) ([]byte, error) {
	if strings.HasSuffix(name, ".zip") {
		return content.zip(a.Date)
	}
	packed, err := content.tar(a.Date)
	if err != nil {
		return nil, err
	}
	return gzipped(packed)
}
