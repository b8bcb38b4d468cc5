package hostile

import (
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"

	"golang.org/x/sync/errgroup"

	"example.com/nginx-operator/test/golden"
	"example.com/nginx-operator/test/hostile"
)

// atOnce is how many resources are sent at the same time.
const atOnce = 8

// TestHostile: each resource of the corpus, sent to one namespace, is rejected or does no harm, and
// the operator reports on each accepted one.
func TestHostile(t *testing.T) {
	cases, err := hostile.All()
	if err != nil {
		t.Fatal(err)
	}
	s := newSender(t)
	s.prepare(t)
	answers := sendAll(t, s, cases)
	var accepted []hostile.Case
	for _, c := range cases {
		if answers[c.Name].code == http.StatusCreated && !c.DryRun {
			accepted = append(accepted, c)
		}
		checkAnswer(t, c, answers[c.Name])
	}
	reported := waitReported(t, s, accepted)
	for _, c := range accepted {
		checkReported(t, c, reported[key(c)])
	}
	waitQuiet(t)
	checkPlaces(t, s)
	checkObjects(t, s, accepted, reported)
	checkJobs(t, s)
	checkLog(t)
	golden.Compare(t, filepath.Join("testdata", "injections.txt"), outcomes(cases, answers, reported))
	report(t, cases, answers)
}

func sendAll(t *testing.T, s sender, cases []hostile.Case) map[string]answer {
	t.Helper()
	answers, mu := map[string]answer{}, sync.Mutex{}
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, c := range cases {
		group.Go(func() error {
			a, err := s.send(t.Context(), c)
			mu.Lock()
			defer mu.Unlock()
			answers[c.Name] = a
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	return answers
}

// checkAnswer checks that a rejection is about what was sent, with a message that names the field.
func checkAnswer(t *testing.T, c hostile.Case, a answer) {
	t.Helper()
	switch {
	case a.code == http.StatusCreated:
		if c.Want.Refused != "" {
			t.Errorf("%s: it is accepted, and not refused with %q", c.Name, c.Want.Refused)
		}
		return
	case c.Want.Refused == "" && !c.Want.Either:
		t.Errorf("%s: it is refused: %d %.500s", c.Name, a.code, a.message)
		return
	case !strings.Contains(a.message, c.Want.Refused):
		t.Errorf("%s: the message does not contain %q: %.500s", c.Name, c.Want.Refused, a.message)
	}
	if !slices.Contains([]int{http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge, http.StatusInternalServerError}, a.code) ||
		a.code == http.StatusInternalServerError && !strings.Contains(a.message, "too large") && c.Kind != hostile.NginxOld {
		t.Errorf("%s: the answer is not about what was sent: %d %.500s", c.Name, a.code, a.message)
	}
	if c.Want.Either && !strings.Contains(a.message, lastField(c.Name)) {
		t.Errorf("%s: the field is not named: %.500s", c.Name, a.message)
	}
}

// lastField returns the last field name in the path of a case of the sort injection.
func lastField(name string) string {
	path, _, _ := strings.Cut(name[strings.Index(name, "spec"):], ": ")
	parts := strings.FieldsFunc(path, func(c rune) bool { return c == '.' || c == '[' || c == '{' })
	for _, part := range slices.Backward(parts) {
		if part != "]" && part != "}" && part != "key}" {
			return part
		}
	}
	return path
}

// checkReported checks that a condition reports the problem in one short line.
func checkReported(t *testing.T, c hostile.Case, o outcome) {
	t.Helper()
	if len(o.message) > 2048 || strings.ContainsFunc(o.message, unicode.IsControl) {
		t.Errorf("%s: the condition is no short line: %.500q", c.Name, o.message)
	}
	if c.Want.Either {
		return
	}
	reason := c.Want.Reason
	if reason == "" {
		reason = "Accepted"
	}
	if !slices.Contains(strings.Split(reason, "|"), o.reason) || !strings.Contains(o.message, c.Want.Message) {
		t.Errorf("%s: it is %s (%.300s), and not %s with %q", c.Name, o.reason, o.message, reason, c.Want.Message)
	}
}

// outcomes returns a line for each case that may be either rejected or harmless.
func outcomes(cases []hostile.Case, answers map[string]answer, reported map[string]outcome) string {
	var b strings.Builder
	for _, c := range cases {
		switch {
		case !c.Want.Either:
		case answers[c.Name].code == http.StatusCreated && c.DryRun:
			fmt.Fprintf(&b, "%s: would be accepted\n", c.Name)
		case answers[c.Name].code == http.StatusCreated:
			fmt.Fprintf(&b, "%s: harmless, %s\n", c.Name, reported[key(c)].reason)
		default:
			fmt.Fprintf(&b, "%s: refused\n", c.Name)
		}
	}
	return b.String()
}

// report logs how many cases there are of each sort, and their results.
func report(t *testing.T, cases []hostile.Case, answers map[string]answer) {
	t.Helper()
	counts := map[string]*struct{ all, refused, harmless, dryRun int }{}
	for _, c := range cases {
		for _, sort := range []string{c.Sort, "together"} {
			if counts[sort] == nil {
				counts[sort] = new(struct{ all, refused, harmless, dryRun int })
			}
			n := counts[sort]
			n.all++
			switch {
			case answers[c.Name].code != http.StatusCreated:
				n.refused++
			case c.DryRun:
				n.dryRun++
			default:
				n.harmless++
			}
		}
	}
	for _, sort := range slices.Sorted(maps.Keys(counts)) {
		n := counts[sort]
		t.Logf("%-12s %5d cases: %5d refused, %5d harmless, %5d that would be accepted", sort, n.all, n.refused, n.harmless, n.dryRun)
	}
}
