package chart

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/hack/release/internal/project"
)

// template returns the template of a manifest that every install has, or only a cluster-wide one.
func template(object project.Object, everywhereOnly bool) (string, error) {
	text, err := body(object)
	if err != nil {
		return "", err
	}
	if all := conditions(object, everywhereOnly); len(all) > 0 {
		condition := strings.TrimSuffix(strings.TrimPrefix(all[0], "("), ")")
		if len(all) > 1 {
			condition = "and " + strings.Join(all, " ")
		}
		text = fmt.Sprintf("{{- if %s }}\n%s{{- end }}\n", condition, text)
	}
	return text, nil
}

// templateOfEach returns the template of a manifest that is rendered for each namespace to which
// the operator is restricted.
func templateOfEach(object project.Object) (string, error) {
	const each = "the-namespace"
	if err := object.Set("metadata.namespace", each); err != nil {
		return "", err
	}
	text, err := body(object)
	if err != nil {
		return "", err
	}
	text = strings.ReplaceAll(text, each, "{{ $namespace }}")
	return "{{- range $namespace := $.Values.watchNamespaces }}\n---\n" + text + "{{- end }}\n", nil
}

func body(object project.Object) (string, error) {
	if err := object.AddLabels(map[string]any{"app.kubernetes.io/name": project.Name}); err != nil {
		return "", err
	}
	edits, err := editsOf(object)
	if err != nil {
		return "", err
	}
	for i, e := range edits {
		if err := mark(object, e.path, fmt.Sprintf("EDIT-%d", i)); err != nil {
			return "", err
		}
	}
	raw, err := yaml.Marshal(object)
	if err != nil {
		return "", err
	}
	text := strings.ReplaceAll(string(raw), "{{", `{{ "{{" }}`)
	text = place(text, edits)
	return strings.ReplaceAll(text, project.Namespace, "{{ $.Release.Namespace }}"), nil
}

// mark sets a mark at the path of an edit.
func mark(object project.Object, path, value string) error {
	parent, last := path[:strings.LastIndex(path, ".")], path[strings.LastIndex(path, ".")+1:]
	switch last {
	case "+":
		list, err := object.Get(parent)
		if err != nil {
			return err
		}
		return object.Set(parent, append(list.([]any), value))
	case "*":
		// This name sorts after the existing keys.
		return object.Set(parent+".zz", value)
	default:
		return object.Set(path, value)
	}
}

var marked = regexp.MustCompile(`(?m)^( *)((?:- )?)((?:[a-zA-Z]+: )?)EDIT-(\d+)\n`)

// place replaces the marks by their edits. The edit of the first key of an element continues the line of the element.
func place(text string, edits []edit) string {
	return marked.ReplaceAllStringFunc(text, func(line string) string {
		parts := marked.FindStringSubmatch(line)
		number, err := strconv.Atoi(parts[4])
		if err != nil {
			return line
		}
		spaces, dash, key := parts[1], parts[2], parts[3]
		if dash == "" || key == "" {
			return indented(edits[number].piece, len(spaces))
		}
		return spaces + dash + strings.TrimLeft(indented(edits[number].piece, len(spaces)+len(dash)), " ")
	})
}

func indented(piece string, indent int) string {
	piece = strings.ReplaceAll(piece, "@+", strconv.Itoa(indent+2))
	piece = strings.ReplaceAll(piece, "@", strconv.Itoa(indent))
	var text strings.Builder
	for line := range strings.SplitSeq(strings.TrimPrefix(piece, "\n"), "\n") {
		text.WriteString(strings.Repeat(" ", indent) + strings.TrimPrefix(line, "\t\t") + "\n")
	}
	return text.String()
}
