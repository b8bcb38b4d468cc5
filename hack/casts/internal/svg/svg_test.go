package svg

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"example.com/nginx-operator/hack/casts/internal/terminal"
)

var update = flag.Bool("update", false, "write the golden file")

// cast has each style, a line that occurs twice, and characters that mean something to XML.
func cast() Cast {
	plain, green := terminal.Style{Color: -1}, terminal.Style{Color: 2, Bold: true}
	prompt := terminal.Line{{Column: 0, Text: "$", Style: green}, {Column: 2, Text: `echo "<b>&" 'x'`, Style: plain}}
	return Cast{
		Title: "A <title>", Description: "What & why", Columns: 24, Rows: 3, Still: 1,
		Frames: []terminal.Frame{
			{Lines: []terminal.Line{prompt, nil, nil}},
			{At: 1500 * time.Millisecond, Lines: []terminal.Line{prompt, {{Column: 0, Text: `<b>& x`, Style: terminal.Style{Color: 1, Faint: true}}}, nil}},
			{At: 2 * time.Second, Lines: []terminal.Line{nil, prompt, {{Column: 4, Text: "End", Style: terminal.Style{Color: -1, Reverse: true}}}}},
		},
	}
}

func TestDraw(t *testing.T) {
	const golden = "testdata/cast.svg"
	got := Draw(cast())
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the picture differs from %s: run go test -update, and review the difference:\n%s", golden, got)
	}
}

// TestDrawIsSelfContained: a picture is well-formed, and neither runs nor loads anything.
func TestDrawIsSelfContained(t *testing.T) {
	text := Draw(cast())
	decoder := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, forbidden := range []string{"<script", "@import", "url(", "<image", "<foreignObject", `href="http`} {
		if strings.Contains(text, forbidden) {
			t.Errorf("the picture contains %s", forbidden)
		}
	}
	for _, needed := range []string{"prefers-reduced-motion:no-preference", "prefers-color-scheme:dark", "translateY(-54px)", "<title", "<desc"} {
		if !strings.Contains(text, needed) {
			t.Errorf("the picture lacks %s", needed)
		}
	}
}
