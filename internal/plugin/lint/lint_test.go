package lint

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/test/golden"
)

func check(t *testing.T, test Tester, documents ...Document) *Report {
	t.Helper()
	report, err := Check(t.Context(), documents, test)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// TestSamples: lint accepts the samples, which the API server and the operator accept.
func TestSamples(t *testing.T) {
	names, err := filepath.Glob("../../../config/samples/*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatal("no samples", err)
	}
	var documents []Document
	for _, name := range names {
		documents = append(documents, Document{Name: filepath.Base(name), Text: []byte(golden.Read(t, name))})
	}
	report := check(t, nil, documents...)
	if report.Checked < 10 {
		t.Errorf("only %d objects are checked", report.Checked)
	}
	for _, p := range report.Problems {
		t.Errorf("%s", p)
	}
}

// TestProblems: each problem has the line that the user has to change.
func TestProblems(t *testing.T) {
	var b strings.Builder
	for _, p := range check(t, nil, Document{Name: "bad.yaml", Text: []byte(golden.Read(t, "testdata/bad.yaml"))}).Problems {
		b.WriteString(p.String() + "\n")
	}
	golden.Compare(t, "testdata/bad.txt", b.String())
}

func TestSplit(t *testing.T) {
	text := "# first\n---\na: 1\n--- # second\nb: 2\n---\n"
	parts := split([]byte(text))
	var got []string
	for _, p := range parts {
		got = append(got, strings.TrimSpace(string(p.text)))
	}
	if want := []string{"# first", "a: 1", "b: 2", ""}; strings.Join(got, "|") != strings.Join(want, "|") || parts[2].line != 4 {
		t.Errorf("split() = %q, the third after line %d", got, parts[2].line)
	}
}

func TestList(t *testing.T) {
	report := check(t, nil, Document{Name: "a.json", Text: []byte(`{"apiVersion": "v1", "kind": "List", "items": [
  {"apiVersion": "v1", "kind": "Secret"},
  {"apiVersion": "operator.example.com/v1alpha2", "kind": "NginxOperator", "metadata": {"name": "a"},
   "spec": {"replicas": "two"}}
]}`)})
	if report.Checked != 1 || report.Skipped != 1 || len(report.Problems) != 1 || report.Problems[0].Line != 4 {
		t.Errorf("%+v", report)
	}
}

// said is a Tester that says the same about every configuration.
type said []Tested

func (s said) Test(context.Context, *v1alpha2.NginxOperator, map[string]string) ([]Tested, error) {
	return s, nil
}

func TestTester(t *testing.T) {
	document := Document{Name: "a.yaml", Text: []byte(`apiVersion: operator.example.com/v1alpha2
kind: NginxOperator
metadata: {name: a}
spec:
  config:
    files:
      site.conf: |
        server {
          listen 80;
          lisen 81;
        }
`)}
	report := check(t, said{{Problem: instanceapi.Problem{File: "site.conf", Line: 3, Message: "unknown directive"}}}, document)
	if !report.Refused() || report.Problems[0].Line != 10 {
		t.Errorf("%+v", report)
	}
	if report = check(t, said{{Problem: instanceapi.Problem{Message: "host not found"}, NotTested: true}}, document); report.Refused() || len(report.Problems) != 1 {
		t.Errorf("what nginx cannot test is refused: %+v", report)
	}
}

// FuzzCheck: no input makes the check panic, and each problem has a file.
func FuzzCheck(f *testing.F) {
	text, err := os.ReadFile("testdata/bad.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add("--- a\n---\n- b\n")
	f.Fuzz(func(t *testing.T, text string) {
		report, err := Check(t.Context(), []Document{{Name: "fuzz", Text: []byte(text)}}, nil)
		if err != nil {
			return
		}
		for _, p := range report.Problems {
			if p.File == "" || p.Message == "" {
				t.Errorf("%+v", p)
			}
		}
	})
}
