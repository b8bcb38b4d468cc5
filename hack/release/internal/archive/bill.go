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
	"strings"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"

	"example.com/nginx-operator/hack/release/internal/project"
)

// bills write a software bill of materials (CycloneDX) for each platform: what the linker
// wrote into the programs, so nothing that is not in them, and nothing less.
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
	bill := cyclonedx.NewBOM()
	root := cyclonedx.Component{
		BOMRef: project.Name, Type: cyclonedx.ComponentTypeContainer, Name: a.Release.Image, Version: a.Version,
		Licenses: &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "Apache-2.0"}}},
	}
	var components []cyclonedx.Component
	dependencies := []cyclonedx.Dependency{}
	var refs []string
	seen := map[string]bool{}
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
		program := a.programComponent(name, platform, content)
		components = append(components, program)
		var uses []string
		for _, module := range modules(info) {
			uses = append(uses, module.BOMRef)
			if !seen[module.BOMRef] {
				seen[module.BOMRef] = true
				components = append(components, module)
			}
		}
		refs = append(refs, program.BOMRef)
		dependencies = append(dependencies, cyclonedx.Dependency{Ref: program.BOMRef, Dependencies: &uses})
	}
	dependencies = append([]cyclonedx.Dependency{{Ref: root.BOMRef, Dependencies: &refs}}, dependencies...)
	// A number that is the same for the same programs.
	bill.SerialNumber = "urn:uuid:" + uuid.NewSHA1(uuid.NameSpaceOID, identity.Sum(nil)).String()
	bill.Metadata = &cyclonedx.Metadata{Timestamp: a.Date.Format(time.RFC3339), Component: &root}
	bill.Components, bill.Dependencies = &components, &dependencies
	return bill, nil
}

func (a *Archive) programComponent(name, platform string, content []byte) cyclonedx.Component {
	sum := sha256.Sum256(content)
	return cyclonedx.Component{
		BOMRef: "program:" + name, Type: cyclonedx.ComponentTypeApplication, Name: name, Version: a.Version,
		Hashes:     &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}},
		Properties: &[]cyclonedx.Property{{Name: "platform", Value: platform}},
	}
}

// modules are what a program was linked from, Go's own library included.
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
