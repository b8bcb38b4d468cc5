package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"

	"example.com/nginx-operator/hack/release/internal/project"
)

// bills writes a software bill of materials (CycloneDX) for the operator's image and for the plugin, on each platform. It
// contains exactly the modules that the linker recorded in the programs.
func (a *Archive) bills(context.Context) error {
	for _, platform := range a.Release.Platforms {
		image := component(cyclonedx.ComponentTypeContainer, project.Name, a.Release.Image, a.Version)
		if err := a.bill(project.Name, platform, image, programs); err != nil {
			return err
		}
	}
	for _, platform := range a.Release.PluginPlatforms {
		file := component(cyclonedx.ComponentTypeFile, plugin, a.pluginArchive(platform), a.Version)
		if err := a.bill(plugin, platform, file, []string{plugin}); err != nil {
			return err
		}
	}
	return nil
}

// bill writes the bill of what is shipped for a platform.
func (a *Archive) bill(name, platform string, shipped cyclonedx.Component, programs []string) error {
	bill, err := a.contents(platform, shipped, programs)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	encoder := cyclonedx.NewBOMEncoder(&text, cyclonedx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false)
	err = encoder.EncodeVersion(bill, cyclonedx.SpecVersion1_6)
	a.files[a.billFile(name, platform)] = text.Bytes()
	return err
}

// billFile returns the name of the bill of the operator or the plugin.
func (a *Archive) billFile(name, platform string) string {
	return name + "-" + a.Version + "-" + strings.ReplaceAll(platform, "/", "-") + ".cdx.json"
}

// component returns a component of the project.
func component(kind cyclonedx.ComponentType, ref, name, version string) cyclonedx.Component {
	return cyclonedx.Component{
		BOMRef: ref, Type: kind, Name: name, Version: version,
		Licenses: &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "Apache-2.0"}}},
	}
}

// contents returns the bill of what is shipped.
func (a *Archive) contents(platform string, root cyclonedx.Component, programs []string) (*cyclonedx.BOM, error) {
	parts := &parts{}
	identity := sha256.New()
	for _, name := range programs {
		path := a.program(platform, name)
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		identity.Write(content)
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		parts.add(a.programComponent(name, platform, content), modules(info))
	}
	dependencies := append([]cyclonedx.Dependency{{Ref: root.BOMRef, Dependencies: &parts.programs}}, parts.dependencies...)
	bill := cyclonedx.NewBOM()
	// Use a number that is the same for the same programs.
	bill.SerialNumber = "urn:uuid:" + uuid.NewSHA1(uuid.NameSpaceOID, identity.Sum(nil)).String()
	bill.Metadata = &cyclonedx.Metadata{Timestamp: a.Date.Format(time.RFC3339), Component: &root}
	bill.Components, bill.Dependencies = &parts.components, &dependencies
	return bill, nil
}

// parts are the components of the image. A module that two programs use is listed once.
type parts struct {
	components   []cyclonedx.Component
	dependencies []cyclonedx.Dependency
	programs     []string
}

func (p *parts) add(program cyclonedx.Component, modules []cyclonedx.Component) {
	p.components = append(p.components, program)
	p.programs = append(p.programs, program.BOMRef)
	var uses []string
	for _, module := range modules {
		uses = append(uses, module.BOMRef)
		known := slices.ContainsFunc(p.components, func(c cyclonedx.Component) bool { return c.BOMRef == module.BOMRef })
		if !known {
			p.components = append(p.components, module)
		}
	}
	p.dependencies = append(p.dependencies, cyclonedx.Dependency{Ref: program.BOMRef, Dependencies: &uses})
}

func (a *Archive) programComponent(name, platform string, content []byte) cyclonedx.Component {
	sum := sha256.Sum256(content)
	return cyclonedx.Component{
		BOMRef: "program:" + name, Type: cyclonedx.ComponentTypeApplication, Name: name, Version: a.Version,
		Hashes:     &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}},
		Properties: &[]cyclonedx.Property{{Name: "platform", Value: platform}},
	}
}

// modules returns the modules that a program was linked from, including Go's own library.
func modules(info *debug.BuildInfo) []cyclonedx.Component {
	all := []cyclonedx.Component{module("std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		all = append(all, module(m.Path, m.Version))
	}
	return all
}

func module(name, version string) cyclonedx.Component {
	purl := "pkg:golang/" + name + "@" + version
	return cyclonedx.Component{BOMRef: purl, Type: cyclonedx.ComponentTypeLibrary, Name: name, Version: version, PackageURL: purl}
}
