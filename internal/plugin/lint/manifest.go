package lint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// manifest is an object, and where its fields are.
type manifest struct {
	file    string
	content map[string]any
	// lines are those of the fields, by their paths.
	lines map[string]int
}

func (m *manifest) text(keys ...string) string {
	var value any = m.content
	for _, key := range keys {
		fields, ok := value.(map[string]any)
		if !ok {
			return ""
		}
		value = fields[key]
	}
	text, _ := value.(string)
	return text
}

func (m *manifest) name() string      { return m.text("metadata", "name") }
func (m *manifest) namespace() string { return m.text("metadata", "namespace") }

// groupKind returns the group and the kind.
func (m *manifest) groupKind() string {
	group, _, found := strings.Cut(m.text("apiVersion"), "/")
	if !found {
		group = ""
	}
	return group + "/" + m.text("kind")
}

func (m *manifest) version() string {
	_, version, _ := strings.Cut(m.text("apiVersion"), "/")
	return version
}

// problem returns a problem of a field.
func (m *manifest) problem(field, format string, args ...any) Problem {
	return Problem{File: m.file, Line: m.line(field), Object: strings.TrimSpace(m.text("kind") + " " + m.name()), Field: field, Message: fmt.Sprintf(format, args...)}
}

// line returns the line of a field, or else of the nearest field that contains it.
func (m *manifest) line(field string) int {
	for {
		if line, ok := m.lines[field]; ok {
			return line
		}
		end := strings.LastIndexAny(field, ".[")
		if end < 0 {
			return m.lines[""]
		}
		field = field[:end]
	}
}

// parse returns the objects of a document, and what is no YAML in it.
func parse(d Document) (found []*manifest, problems []Problem) {
	for _, part := range split(d.Text) {
		var root yamlv3.Node
		if err := yamlv3.Unmarshal(part.text, &root); err != nil {
			problems = append(problems, syntaxProblem(d.Name, part.line, err))
			continue
		}
		if len(root.Content) == 0 || root.Content[0].Tag == "!!null" {
			continue
		}
		content, err := decode(part.text)
		if err != nil {
			problems = append(problems, syntaxProblem(d.Name, part.line, err))
			continue
		}
		found = append(found, objects(d.Name, content, root.Content[0], part.line)...)
	}
	return found, problems
}

// decode decodes an object as the API server does: a number without a fraction is an integer.
func decode(text []byte) (map[string]any, error) {
	converted := text
	// Within JSON, some characters are text that are line breaks in YAML.
	if !json.Valid(text) {
		var err error
		if converted, err = yaml.YAMLToJSONStrict(text); err != nil {
			return nil, err
		}
	}
	content := map[string]any{}
	return content, utiljson.Unmarshal(converted, &content)
}

// objects returns an object, or those of a list.
func objects(file string, content map[string]any, node *yamlv3.Node, offset int) []*manifest {
	m := &manifest{file: file, content: content, lines: map[string]int{}}
	m.addLines("", node, offset)
	items, isList := content["items"].([]any)
	if !isList || !strings.HasSuffix(m.text("kind"), "List") {
		return []*manifest{m}
	}
	var found []*manifest
	list := valueOf(node, "items")
	for i, item := range items {
		if fields, ok := item.(map[string]any); ok && list != nil && i < len(list.Content) {
			found = append(found, objects(file, fields, list.Content[i], offset)...)
		}
	}
	return found
}

func valueOf(node *yamlv3.Node, key string) *yamlv3.Node {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}
	return nil
}

// addLines records the lines of a value and of all values in it. A key is found in both forms in which paths have it.
func (m *manifest) addLines(path string, node *yamlv3.Node, offset int) {
	if node.Kind == yamlv3.AliasNode {
		return
	}
	if _, known := m.lines[path]; !known {
		m.lines[path] = node.Line + offset
	}
	switch node.Kind {
	default:
	case yamlv3.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			key, value := node.Content[i], node.Content[i+1]
			for _, child := range []string{strings.TrimPrefix(path+"."+key.Value, "."), path + "[" + key.Value + "]"} {
				m.lines[child] = key.Line + offset
				m.addLines(child, value, offset)
			}
			if value.Style == yamlv3.LiteralStyle {
				m.lines[textOf(path, key.Value)] = value.Line + offset
			}
		}
	case yamlv3.SequenceNode:
		for i, item := range node.Content {
			m.addLines(path+"["+strconv.Itoa(i)+"]", item, offset)
		}
	}
}

// textOf is the path under which the line before a literal text is recorded.
func textOf(path, key string) string { return path + "\x00" + key }

// textLine returns the line of the manifest for a line of a literal text, or that of its key.
func (m *manifest) textLine(path, key string, line int) int {
	if start, ok := m.lines[textOf(path, key)]; ok && line > 0 {
		return start + line
	}
	return m.line(path + "[" + key + "]")
}

// part is one of the documents of a file, and the number of lines before it.
type part struct {
	text []byte
	line int
}

// split splits a file at its lines with three dashes.
func split(text []byte) []part {
	var parts []part
	start, line, from := 0, 0, 0
	at := 0
	for at < len(text) {
		end := bytes.IndexByte(text[at:], '\n')
		next := len(text)
		if end >= 0 {
			next = at + end + 1
		}
		if content := bytes.TrimRight(text[at:next], " \t\r\n"); bytes.Equal(content, []byte("---")) || bytes.HasPrefix(content, []byte("--- ")) {
			parts = append(parts, part{text[start:at], from})
			start, from = next, line+1
			if rest := bytes.TrimPrefix(content, []byte("---")); len(bytes.TrimSpace(rest)) > 0 && rest[1] != '#' {
				start, from = at, line
			}
		}
		at = next
		line++
	}
	return append(parts, part{text[start:], from})
}

var yamlLine = regexp.MustCompile(`\bline (\d+)\b`)

// syntaxProblem returns what a YAML parser says, at the line of the file.
func syntaxProblem(file string, offset int, err error) Problem {
	message := strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\n", " "), "error converting YAML to JSON: ")
	p := Problem{File: file, Message: message}
	if found := yamlLine.FindStringSubmatch(message); found != nil {
		if n, err := strconv.Atoi(found[1]); err == nil {
			p.Line = n + offset
			p.Message = strings.TrimPrefix(strings.Replace(message, "line "+found[1]+": ", "", 1), "yaml: ")
		}
	}
	return p
}
