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

// bills writes a software bill of materials (CycloneDX) for each platform. It contains exactly the
// modules that the linker recorded in the programs.
func (a *Archive) bills(context.Context) error {
	for _, platform := range a.Release.Platforms {
		bill, err := a.bill(platform)
		if err != nil {
			return err
		}
		var text bytes.Buffer
		encoder := cyclonedx.NewBOMEncoder(&text, cyclonedx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false)
		if err := encoder.EncodeVersion(bill, cyclonedx.SpecVersion1_6); err != nil {
			return err
		}
		a.files[a.named("-"+strings.ReplaceAll(platform, "/", "-")+".cdx.json")] = text.Bytes()
	}
	return nil
}

func (a *Archive) bill(platform string) (*cyclonedx.BOM, error) {
	root := cyclonedx.Component{
		BOMRef: project.Name, Type: cyclonedx.ComponentTypeContainer, Name: a.Release.Image, Version: a.Version,
		Licenses: &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "Apache-2.0"}}},
	}
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
	all := []cyclonedx.Component{component("std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		all = append(all, component(module.Path, module.Version))
	}
	return all
}

func component(name, version string) cyclonedx.Component {
	purl := "pkg:golang/" + name + "@" + version
	return cyclonedx.Component{BOMRef: purl, Type: cyclonedx.ComponentTypeLibrary, Name: name, Version: version, PackageURL: purl}
}
