package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var parse = target{module: "example.com/m", pkg: "example.com/m/internal/x", name: "FuzzParse"}

func TestRead(t *testing.T) {
	if parse.String() != "internal/x.FuzzParse" {
		t.Errorf("a row is called %s", parse)
	}
	const good = `fuzz: elapsed: 0s, gathering baseline coverage: 0/3 completed
fuzz: elapsed: 3s, execs: 325017 (108336/sec), new interesting: 11 (total: 202)
fuzz: elapsed: 4s, execs: 400000 (75000/sec), new interesting: 12 (total: 203)
PASS
`
	const bad = `fuzz: elapsed: 0s, execs: 7 (0/sec), new interesting: 0 (total: 3)
--- FAIL: FuzzParse (0.02s)
    --- FAIL: FuzzParse (0.00s)
        x_test.go:9: it is wrong

    Failing input written to testdata/fuzz/FuzzParse/582528ddfad69eb5
    To re-run:
    go test -run=FuzzParse/582528ddfad69eb5
FAIL
`
	const expired = `fuzz: elapsed: 3s, execs: 11008 (3668/sec), new interesting: 11 (total: 15)
fuzz: elapsed: 4s, execs: 11008 (0/sec), new interesting: 11 (total: 15)
--- FAIL: FuzzParse (4.01s)
    context deadline exceeded
FAIL
exit status 1
FAIL	example.com/m/internal/x	4.018s
`
	const exceeded = `--- FAIL: FuzzParse (0.02s)
    --- FAIL: FuzzParse (0.00s)
        x_test.go:9: context deadline exceeded

    Failing input written to testdata/fuzz/FuzzParse/582528ddfad69eb5
FAIL
`
	for name, tt := range map[string]struct {
		text   string
		failed bool
		want   result
	}{
		"good":           {good, false, result{executions: 400000, interesting: 12}},
		"bad":            {bad, true, result{executions: 7, failure: bad, replay: "go test ./internal/x -run='^FuzzParse$/^582528ddfad69eb5$'"}},
		"time is up":     {expired, true, result{executions: 11008, interesting: 11}},
		"its own time":   {exceeded, true, result{failure: exceeded, replay: "go test ./internal/x -run='^FuzzParse$/^582528ddfad69eb5$'"}},
		"does not build": {"FAIL", true, result{failure: "FAIL", replay: "go test ./internal/x -run='^FuzzParse$'"}},
		"nothing":        {"", false, result{}},
	} {
		if diff := cmp.Diff(tt.want, parse.read(tt.text, tt.failed), cmp.AllowUnexported(result{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestDeclared(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x_test.go")
	source := "package x\nfunc FuzzA(f *testing.F) {}\nfunc (T) FuzzB(f *testing.F) {}\nfunc FuzzHelp() {}\nfunc TestFuzz(t *testing.T) {}\n"
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	names, err := declared(file)
	if diff := cmp.Diff([]string{"FuzzA"}, names); err != nil || diff != "" {
		t.Errorf("targets (%v), -want +got:\n%s", err, diff)
	}
}

func TestSmallest(t *testing.T) {
	texts := map[string][]byte{"a": make([]byte, 3), "b": make([]byte, 1), "c": make([]byte, 2), "d": make([]byte, maxInputBytes+1)}
	if diff := cmp.Diff([]string{"b", "c"}, smallest(texts, 2)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if n := len(smallest(texts, 9)); n != 3 {
		t.Errorf("%d are kept", n)
	}
}
