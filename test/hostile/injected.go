package hostile

import (
	"embed"
	"fmt"
	"maps"
	"strings"

	"sigs.k8s.io/yaml"
)

//go:embed testdata/*.yaml
var bases embed.FS

// based lists the kinds and the files with accepted specs of them.
var based = []struct {
	kind Kind
	file string
}{
	{Nginx, "v1alpha2"}, {NginxOld, "v1alpha1"}, {Backup, "backups"}, {Policy, "policies"}, {Restore, "restores"}, {Cache, "caches"}, {Purge, "purges"},
}

// payloads are texts with a special meaning to some interpreter: nginx, a shell, a template, a log,
// a terminal, a file system or YAML.
var payloads = []struct{ name, text string }{
	{"syntax", "x\"'; }\n\tdaemon on; #$(id)`id`${A}{{.}}<b>%n\\"},
	{"unicode", "\u00e9e\u0301\u202e\u0085\u007f\ufeff\u2028\U0001F600"},
	{"path", "../../kube-system/secrets/x"},
}

// injections puts every payload into every text field. For each field, the operator handles one
// payload, in turn; for the others, only the API server is asked whether it would accept them.
func injections() ([]Case, error) {
	fields, err := Specs()
	if err != nil {
		return nil, err
	}
	var all []Case
	for _, b := range based {
		specs, err := Bases(b.file)
		if err != nil {
			return nil, err
		}
		all = append(all, honest(b.kind, specs)...)
		for i, path := range fields[b.kind].Texts("spec") {
			for j, p := range payloads {
				injected := inject(fields[b.kind], specs, path, p.text)
				if injected == nil {
					return nil, fmt.Errorf("%s of %s %s holds text, and no spec of testdata says it: add it there", path, b.kind.Name, b.kind.Version)
				}
				name := fmt.Sprintf("i%04d", len(all))
				all = append(all, Case{
					Name: fmt.Sprintf("injection: %s %s %s: %s", b.kind.Name, b.kind.Version, path, p.name), Sort: "injection",
					Kind: b.kind, Object: name, Body: body(b.kind, name, injected), Want: Want{Either: true}, DryRun: j != i%len(payloads),
				})
			}
		}
	}
	return all, nil
}

// honest returns the specs without any injection: only an injected value may cause a rejection. The
// last spec of v1alpha2 is left out, because it contains fields that our pods never have.
func honest(kind Kind, specs []map[string]any) []Case {
	var all []Case
	for j, spec := range specs {
		if kind != Nginx || j == len(specs)-1 {
			break
		}
		name := fmt.Sprintf("honest-%d", j)
		all = append(all, Case{
			Name: fmt.Sprintf("injection: nothing into spec %d", j), Sort: "injection",
			Kind: kind, Object: name, Body: body(kind, name, spec),
		})
	}
	return all
}

// inject returns the first of the specs that has the field, with the value in it, or nil if none
// has it.
func inject(field *Field, specs []map[string]any, path string, value any) any {
	for _, spec := range specs {
		in := injector{target: path, value: value}
		if injected := in.into(spec, field, "spec"); in.done {
			return injected
		}
	}
	return nil
}

// Bases reads the specs in a file of testdata.
func Bases(file string) ([]map[string]any, error) {
	text, err := bases.ReadFile("testdata/" + file + ".yaml")
	if err != nil {
		return nil, err
	}
	var specs []map[string]any
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		spec := map[string]any{}
		if err := yaml.Unmarshal([]byte(strings.TrimPrefix(document, "---\n")), &spec); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if len(spec) > 0 {
			specs = append(specs, spec)
		}
	}
	if file != "caches" {
		return specs, nil
	}
	templates, err := cacheTemplates(specs[1])
	return append(specs, templates...), err
}

// cacheTemplates returns a spec of an NginxCache with the podTemplate of each spec of an NginxOperator, which is of the same type.
func cacheTemplates(base map[string]any) (specs []map[string]any, err error) {
	applications, err := Bases("v1alpha2")
	if err != nil {
		return nil, err
	}
	for _, application := range applications {
		if template, ok := application["podTemplate"]; ok {
			spec := maps.Clone(base)
			delete(spec, "rollout")
			spec["podTemplate"] = template
			specs = append(specs, spec)
		}
	}
	return specs, nil
}
