package lint

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instance/assemble"
	"example.com/nginx-operator/internal/instance/listeners"
	"example.com/nginx-operator/internal/instance/syntax"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/internal/nginx/podtemplate"
)

// Tester tests a configuration with nginx.
type Tester interface {
	Test(ctx context.Context, nginx *v1alpha2.NginxOperator, files map[string]string) ([]Tested, error)
}

// Tested is what nginx says about a configuration.
type Tested struct {
	instanceapi.Problem
	// NotTested is set if nginx could not test the rest without the cluster.
	NotTested bool
}

// files are those of a configuration, and where they are.
type files struct {
	texts nginxconf.Files
	in    *manifest
	// path is that of the field with the files.
	path string
}

// problem returns a problem of a line of a file.
func (f *files) problem(p instanceapi.Problem) Problem {
	found := f.in.problem(f.path, "%s", p.Message)
	if _, known := f.texts[p.File]; known {
		found.Field = f.path + "[" + p.File + "]"
		found.Line = f.in.textLine(f.path, p.File, p.Line)
		if p.Line > 0 {
			found.Message = p.File + ":" + strconv.Itoa(p.Line) + ": " + p.Message
		}
	}
	return found
}

// checkConfig checks the configuration of an application, as the operator and the instances do.
func (m *manifest) checkConfig(ctx context.Context, nginx *v1alpha2.NginxOperator, s *set, test Tester) ([]Problem, error) {
	f := m.files(nginx, s)
	switch {
	case nginx.Spec.Config == nil:
		return nil, nil
	case f == nil:
		p := m.problem("spec.config.configMap.name", "the ConfigMap %s is not in the input, so its files are not checked", nginx.Spec.Config.ConfigMap.Name)
		p.Warning = true
		return []Problem{p}, nil
	}
	config, err := nginxconf.New(f.texts)
	if err != nil {
		return []Problem{f.in.problem(f.path, "%s", err)}, nil
	}
	found := checkSyntax(config.Files)
	if len(found) == 0 {
		found = append(checkLayout(config.Files), checkPorts(nginx, config.Files)...)
	}
	var problems []Problem
	for _, p := range found {
		problems = append(problems, f.problem(p))
	}
	if len(found) > 0 || test == nil {
		return problems, nil
	}
	tested, err := test.Test(ctx, nginx, config.Files)
	for _, t := range tested {
		p := f.problem(t.Problem)
		p.Warning = t.NotTested
		problems = append(problems, p)
	}
	return problems, err
}

// files returns the files of the configuration, or nil if they are in a ConfigMap that is not in the input.
func (m *manifest) files(nginx *v1alpha2.NginxOperator, s *set) *files {
	config := nginx.Spec.Config
	f := &files{texts: nginxconf.Files{}, in: m, path: "spec.config.files"}
	switch {
	case config == nil:
		return f
	case config.ConfigMap == nil:
		for name, text := range config.Files {
			f.texts[name] = string(text)
		}
		return f
	}
	source := s.configMaps[m.namespace()+"/"+config.ConfigMap.Name]
	if source == nil {
		return nil
	}
	f.in, f.path = source, "data"
	data, _ := source.content["data"].(map[string]any)
	for name, text := range data {
		f.texts[name], _ = text.(string)
	}
	return f
}

// checkSyntax finds files that are no sequence of directives.
func checkSyntax(texts nginxconf.Files) (found []instanceapi.Problem) {
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if !strings.HasSuffix(name, ".conf") {
			continue
		}
		if bad := syntax.Check(texts[name]); bad != nil {
			found = append(found, instanceapi.Problem{File: name, Line: bad.Line, Message: bad.Message})
		}
	}
	return found
}

// checkLayout finds what the instance manager refuses before nginx reads the files.
func checkLayout(texts nginxconf.Files) []instanceapi.Problem {
	return assemble.Files(texts, assemble.Settings{StateDir: "/run", Workers: 1, Image: assemble.DefaultImage()}).Problems
}

// checkPorts finds declared ports on which no server listens. It finds none if files of the image may have servers.
func checkPorts(nginx *v1alpha2.NginxOperator, texts nginxconf.Files) []instanceapi.Problem {
	const root = "/config/"
	all := map[string]string{}
	assembled := assemble.Files(texts, assemble.Settings{StateDir: "/run", Workers: 1, Image: assemble.DefaultImage()})
	for name, text := range assembled.Files {
		all[root+name] = text
	}
	tree := syntax.NewTree(root, all)
	if includesImage(tree, root, texts) {
		return nil
	}
	found, _ := listeners.Reader{TLSDir: instanceapi.DirTLS, DefaultPort: 8000}.All(tree, root+assemble.MainFile)
	var declared []instanceapi.DeclaredPort
	for _, p := range podtemplate.Ports(&nginx.Spec) {
		declared = append(declared, instanceapi.DeclaredPort{Name: p.Name, Port: podtemplate.TargetPort(p), Protocol: string(p.Protocol)})
	}
	problems := listeners.Check(declared, found, nil, nil, instanceapi.Port)
	for i := range problems {
		problems[i].File = strings.TrimPrefix(problems[i].File, root)
	}
	return problems
}

// includesImage reports whether the user's files include others that may have a server.
func includesImage(tree syntax.Tree, root string, texts nginxconf.Files) bool {
	found := false
	tree.Walk(root+assemble.MainFile, func(v syntax.Visit) {
		if v.Name != "include" || len(v.Args) != 1 || assemble.Generated(strings.TrimPrefix(v.File, root)) {
			return
		}
		inside := v.In("http") || v.In("stream") || v.In()
		_, known := texts[v.Args[0]]
		found = found || inside && !known && !strings.HasSuffix(v.Args[0], "mime.types")
	})
	return found
}
