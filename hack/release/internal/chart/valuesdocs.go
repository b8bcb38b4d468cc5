package chart

import (
	"encoding/json"
	"strings"

	"sigs.k8s.io/yaml"
)

// lineWidth is the maximum length of a comment line.
const lineWidth = 100

// defaults returns values.yaml, which contains the descriptions as comments.
func defaults(values []value) (string, error) {
	text := strings.Builder{}
	text.WriteString(generated)
	for _, v := range values {
		text.WriteString("\n" + comment(v.description, ""))
		if v.group == nil {
			if err := writeValue(&text, v, ""); err != nil {
				return "", err
			}
			continue
		}
		text.WriteString(v.name + ":\n")
		for _, below := range v.group {
			text.WriteString(comment(below.description, "  "))
			if err := writeValue(&text, below, "  "); err != nil {
				return "", err
			}
		}
	}
	return text.String(), nil
}

func writeValue(text *strings.Builder, v value, indent string) error {
	encoded, err := yaml.Marshal(map[string]any{v.name: v.fallback})
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(encoded)) {
		text.WriteString(indent + line)
	}
	return nil
}

func comment(text, indent string) string {
	var lines strings.Builder
	line := indent + "#"
	for field := range strings.FieldsSeq(text) {
		if len(line)+1+len(field) > lineWidth {
			lines.WriteString(line + "\n")
			line = indent + "#"
		}
		line += " " + field
	}
	return lines.String() + line + "\n"
}

// table returns the rows of the README's table.
func table(values []value, prefix string) (string, error) {
	var rows strings.Builder
	for _, v := range values {
		name := prefix + v.name
		if v.group != nil {
			below, err := table(v.group, name+".")
			if err != nil {
				return "", err
			}
			rows.WriteString(below)
			continue
		}
		fallback, err := json.Marshal(v.fallback)
		if err != nil {
			return "", err
		}
		shown := string(fallback)
		if len(shown) > 60 {
			shown = "see values.yaml"
		} else {
			shown = "`" + shown + "`"
		}
		rows.WriteString("| `" + name + "` | " + strings.ReplaceAll(v.description, "|", `\|`) + " | " + shown + " |\n")
	}
	return rows.String(), nil
}
