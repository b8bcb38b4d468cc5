package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestEveryReasonHasAMessage: each reason of a condition or an event of the nginx operator is on the page, so that its
// messages are reviewed.
func TestEveryReasonHasAMessage(t *testing.T) {
	page, err := os.ReadFile("../../" + outputPath)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^(?:condition \w+=\w+ \((\w+)\)|event \w+ (\w+)):`).FindAllStringSubmatch(string(page), -1) {
		found[match[1]+match[2]] = true
	}
	for prefix, file := range map[string]string{"Reason": "../../api/v1alpha2/conditions.go", "Event": "../../internal/nginx/status/event.go"} {
		reasons := constants(t, file, prefix)
		if len(reasons) == 0 {
			t.Errorf("%s declares no constants %s…", file, prefix)
		}
		for name, reason := range reasons {
			if !found[reason] {
				t.Errorf("%s (%s) has no message in %s: add a case to a test that renders messages", name, reason, outputPath)
			}
		}
	}
}

// constants returns the string constants of a file whose names begin with a prefix.
func constants(t *testing.T, file, prefix string) map[string]string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	ast.Inspect(parsed, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, prefix) {
			return true
		}
		if literal, ok := spec.Values[0].(*ast.BasicLit); ok {
			if all[spec.Names[0].Name], err = strconv.Unquote(literal.Value); err != nil {
				t.Fatal(err)
			}
		}
		return true
	})
	return all
}
