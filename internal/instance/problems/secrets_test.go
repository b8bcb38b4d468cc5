package problems

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/instanceapi"
)

// hiding returns Secrets with values, by the names of their variables.
func hiding(values map[string]string) *Secrets {
	s, found := &Secrets{}, Confidential{Values: map[string]string{}}
	for name, value := range values {
		found.Values["${"+name+"}"] = value
	}
	s.Add("r", found)
	return s
}

// TestSecrets: neither the values of this configuration nor those of earlier ones are shown, and messages stay readable.
func TestSecrets(t *testing.T) {
	var s *Secrets
	if s.Hide("text") != "text" || s.at("", "a.conf", 1) != "" || (&Secrets{}).Hide("text") != "text" {
		t.Error("without values, the text changes")
	}
	s = hiding(map[string]string{"TOKEN": "hunter2", "SHORT": "of"})
	s.Add("s", Confidential{Values: map[string]string{"${TOKEN}": "hunter2-new"}})
	const text = `invalid value "hunter2" of "hunter2-new"`
	if got, want := s.Hide(text), `invalid value "${TOKEN}" of "${TOKEN}"`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	reader := Reader{Own: func(string) bool { return true }, Secrets: s}
	const line = `2026/11/26 04:00:00 [emerg] 7#7: invalid value "hunter2" in /run/nginx-operator/site.conf:3`
	if got := reader.Redact(line); got != `2026/11/26 04:00:00 [emerg] 7#7: invalid value "${TOKEN}" in /run/nginx-operator/site.conf:3` {
		t.Error(got)
	}
	if got := reader.Problems(line); len(got) != 1 || got[0].Message != `invalid value "${TOKEN}"` {
		t.Errorf("%+v", got)
	}
}

// TestRememberedSecrets: those of earlier configurations are forgotten at some time, and the latest are not.
func TestRememberedSecrets(t *testing.T) {
	s := &Secrets{}
	for i := range 2 * mostSecrets {
		s.Add("r", Confidential{Values: map[string]string{"${A}": fmt.Sprintf("value %d", i)}})
	}
	if len(s.all) > mostSecrets {
		t.Errorf("it remembers %d values", len(s.all))
	}
	many := map[string]string{}
	for i := range 2 * mostSecrets {
		many[fmt.Sprintf("${A%d}", i)] = fmt.Sprintf("number%05d", i)
	}
	s.Add("r", Confidential{Values: many})
	if got := s.Hide("number00000 number01023"); got != "${A0} ${A1023}" {
		t.Error(got)
	}
	for i := range 2 * mostRevisions {
		s.Add(fmt.Sprint(i), Confidential{Lines: map[string][]LineRange{"a.conf": {{First: 1, Last: 1, Reference: "${A}"}}}})
	}
	if len(s.lines) > mostRevisions {
		t.Errorf("it remembers %d revisions", len(s.lines))
	}
}

// TestPartsOfSecrets: nginx quotes parts of values, in lower case, and cuts them off.
func TestPartsOfSecrets(t *testing.T) {
	s := hiding(map[string]string{
		"OPTS": "weight=1 hunter2secret", "URL": "Hunter3Secret.example.com/path", "PIN": "AbCd", "LONG": strings.Repeat("0123456789wxyz-_", 200),
	})
	tests := map[string]struct{ text, want string }{
		"a word":             {`invalid parameter "hunter2secret"`, `invalid parameter "${OPTS}"`},
		"a host":             {`host not found in upstream "hunter3secret.example.com"`, `host not found in upstream "${URL}"`},
		"in other cases":     {`"HUNTER3secret" abcd ABCD`, `"${URL}" ${PIN} ${PIN}`},
		"cut off":            {`unknown directive "0123456789wxyz-_0123`, `unknown directive "${LONG}`},
		"short parts":        {`weight of a path`, `weight of a path`},
		"nothing":            {`no "events" section in configuration`, `no "events" section in configuration`},
		"at the ends":        {`hunter2secretXhunter2secret`, `${OPTS}X${OPTS}`},
		"one after another":  {`hunter2secrethunter3secret`, `${OPTS}${URL}`},
		"not of ASCII":       {`é "hunter2secret" é`, `é "${OPTS}" é`},
		"longer than a part": {`x weight=1 hunter2secretly`, `x ${OPTS}ly`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := s.Hide(tt.text); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

// TestLinesOfSecrets: what nginx says of a line with a value is not shown at all, and what it says of others is.
func TestLinesOfSecrets(t *testing.T) {
	const dir = "/run/nginx-operator/revisions/r-1/"
	s := &Secrets{}
	s.Add("r", Confidential{Lines: map[string][]LineRange{"site.conf": {{First: 3, Last: 5, Reference: "${TOKEN}"}}}})
	s.Add("other", Confidential{Lines: map[string][]LineRange{"site.conf": {{First: 9, Last: 9, Reference: "${OTHER}"}}}})
	reader := Reader{Own: func(file string) bool { return strings.HasPrefix(file, dir) }, Secrets: s, Hidden: []string{strings.TrimSuffix(dir, "/")}, Revision: "r"}
	const head = "2026/11/26 04:00:00 [emerg] 7#7: "
	for place, hidden := range map[string]string{"site.conf:2": "", "site.conf:3": "${TOKEN}", "site.conf:5": "${TOKEN}", "site.conf:6": "", "site.conf:9": "", "a.conf:3": ""} {
		message := `invalid parameter "abc"`
		if hidden != "" {
			message = lineNotShown + hidden
		}
		file, _, _ := strings.Cut(place, ":")
		found := reader.Problems(head + `invalid parameter "abc" in ` + dir + place)
		if len(found) != 1 || found[0].File != file || found[0].Line == 0 || found[0].Message != message {
			t.Errorf("%s: %+v", place, found)
		}
		if got := reader.Redact(head + `invalid parameter "abc" in ` + dir + place); got != head+message+" in "+dir+place {
			t.Error(got)
		}
	}
	// The container's log may be about any revision.
	reader.Revision = ""
	if got := reader.Redact(head + `invalid parameter "abc" in ` + dir + "site.conf:9"); got != head+lineNotShown+"${OTHER} in "+dir+"site.conf:9" {
		t.Error(got)
	}
}

// TestHeadOfALine: the time and the level of a line stay, so that it can be parsed.
func TestHeadOfALine(t *testing.T) {
	reader := Reader{Own: func(string) bool { return true }, Secrets: hiding(map[string]string{"A": "emerg", "B": "2026"})}
	if got := reader.Redact("2026/11/26 04:00:00 [emerg] 7#7: emerg 2026"); got != "2026/11/26 04:00:00 [emerg] 7#7: ${A} ${B}" {
		t.Error(got)
	}
}

// TestHideIn: a value can be in the path of a file that is included.
func TestHideIn(t *testing.T) {
	found := []instanceapi.Problem{{File: "/etc/hunter2/a.conf", Message: "of hunter2"}, {File: "hunter2.conf"}}
	hiding(map[string]string{"A": "hunter2"}).HideIn(found)
	if diff := cmp.Diff([]instanceapi.Problem{{File: "/etc/${A}/a.conf", Message: "of ${A}"}, {File: "hunter2.conf"}}, found); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAddLines(t *testing.T) {
	var lines []LineRange
	for _, added := range []LineRange{{1, 2, "${A}"}, {2, 3, "${B}"}, {4, 4, "${B}"}} {
		lines = AddLines(lines, added)
	}
	if diff := cmp.Diff([]LineRange{{1, 3, "${A}"}, {4, 4, "${B}"}}, lines); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for i := range 2 * mostRanges {
		lines = AddLines(lines, LineRange{10 + 2*i, 10 + 2*i, "${C}"})
	}
	if last := lines[len(lines)-1]; len(lines) != mostRanges || last.Last != 10+2*(2*mostRanges-1) {
		t.Errorf("%d ranges, the last is %+v", len(lines), last)
	}
}

// FuzzHide: no part of a value of that length is left, and what has none stays.
func FuzzHide(f *testing.F) {
	f.Add(`host "hunter2secret" not found`, "Hunter2Secret/path", "hunter3")
	f.Fuzz(func(t *testing.T, text, value, other string) {
		s := hiding(map[string]string{"A": value, "B": other})
		rest := string(lower(s.Hide(text)))
		if !strings.ContainsAny(value+other, "${}AB\n") && !strings.Contains(text, "${") {
			for _, v := range []string{value, other} {
				v = string(lower(v))
				for i := range max(0, len(v)-leastPart+1) {
					if strings.Contains(rest, v[i:i+leastPart]) {
						t.Fatalf("%q is in %q", v[i:i+leastPart], rest)
					}
				}
			}
		}
	})
}
