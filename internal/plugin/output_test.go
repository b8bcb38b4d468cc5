package plugin

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// format finds the formats in the description of a flag, and in a row of the document.
var format = regexp.MustCompile(`\b(json|yaml|name|wide|text)\b`)

// TestFormats: docs/kubectl-nginx.md names the formats of each command that has the flag --output.
func TestFormats(t *testing.T) {
	page, err := os.ReadFile("../../docs/kubectl-nginx.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| command | `-o` |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	documented := map[string][]string{}
	for row := range strings.Lines(table) {
		cells := strings.Split(row, "|")
		for _, command := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
			documented[command[1]] = formats(cells[2])
		}
	}
	root := NewCommand(genericiooptions.NewTestIOStreamsDiscard(), "test")
	if diff := cmp.Diff(declaredFormats(root, ""), documented); diff != "" {
		t.Errorf("-flags +document:\n%s", diff)
	}
}

// declaredFormats returns the formats of all commands below a command, by their words.
func declaredFormats(parent *cobra.Command, words string) map[string][]string {
	all := map[string][]string{}
	for _, command := range parent.Commands() {
		name := strings.TrimSpace(words + " " + command.Name())
		if flag := command.Flags().Lookup("output"); flag != nil {
			all[name] = formats(flag.Usage)
		}
		maps.Copy(all, declaredFormats(command, name))
	}
	return all
}

// formats returns the formats in a text, sorted.
func formats(text string) []string {
	found := format.FindAllString(text, -1)
	slices.Sort(found)
	return slices.Compact(found)
}
