package bugs

import (
	"fmt"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/nginx-operator/test/fault/internal/attack"
	"example.com/nginx-operator/test/fault/internal/journey"
	"example.com/nginx-operator/test/fault/internal/suite"
	"example.com/nginx-operator/test/testenv"
)

// TestAll: every bug applies to the current source, and names existing cases that find it.
func TestAll(t *testing.T) {
	all, err := All()
	if err != nil || len(all) < 45 {
		t.Fatalf("%d bugs: %v", len(all), err)
	}
	journeys, err := journey.All()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, b := range all {
		if names[b.Name] || b.About == "" || len(b.Cases) == 0 {
			t.Errorf("bug %s: its name is taken, or it has no about, or no cases", b.Name)
		}
		names[b.Name] = true
		for _, name := range b.Cases {
			if err := checkName(journeys, name); err != nil {
				t.Errorf("bug %s: %v", b.Name, err)
			}
		}
		checkSources(t, b)
	}
}

func checkName(journeys []*journey.Journey, name string) error {
	if folder, ok := strings.CutPrefix(name, UnitKind); ok {
		tests, err := filepath.Glob(filepath.Join(testenv.Root(), folder, "*_test.go"))
		if err == nil && len(tests) == 0 {
			err = fmt.Errorf("%s has no tests", folder)
		}
		return err
	}
	one, ok := strings.CutPrefix(name, AttackKind)
	if !ok {
		return suite.CheckName(journeys, name)
	}
	if !slices.Contains(attack.Names(), one) {
		return fmt.Errorf("there is no attack %s", one)
	}
	return nil
}

func checkSources(t *testing.T, b *Bug) {
	t.Helper()
	sources, err := b.Sources(testenv.Root())
	if err != nil {
		t.Error(err)
	}
	for file, text := range sources {
		if _, err := parser.ParseFile(token.NewFileSet(), file, text, 0); err != nil {
			t.Errorf("bug %s: %v", b.Name, err)
		}
	}
}
