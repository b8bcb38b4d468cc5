// Package svg draws a recording of a terminal as an animated picture.
//
// The frames are one below the other, and an animation of CSS moves each into sight at its time. It needs no script, and
// nothing from elsewhere. It begins with the frame that stands still without animations, and for viewers who prefer none.
package svg

import (
	"encoding/xml"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"example.com/nginx-operator/hack/casts/internal/terminal"
)

// Cast is a recording with what the picture needs besides.
type Cast struct {
	// Title names the picture for readers who do not see it, and Description tells them what happens.
	Title, Description string
	Columns, Rows      int
	Frames             []terminal.Frame
	// Still is the frame that stands still.
	Still int
}

// The measures of the picture, in pixels.
const (
	cellWidth, cellHeight = 8.4, 18
	margin, bar           = 14, 34
	fontSize              = 14
)

// lead is how long the still frame is shown first, and pause how long the last frame stays before the animation begins again.
const (
	lead  = 2 * time.Second
	pause = 5 * time.Second
)

// Draw returns the picture.
func Draw(c Cast) string {
	width, height := float64(c.Columns)*cellWidth+2*margin, c.Rows*cellHeight
	outer := height + bar + margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" width="%.0f" height="%d" role="img" aria-labelledby="t d">`, width, outer, width, outer)
	fmt.Fprintf(&b, "\n<title id=\"t\">%s</title>\n<desc id=\"d\">%s</desc>\n", escape(c.Title), escape(c.Description))
	b.WriteString("<style>" + style(c, height) + "</style>\n")
	fmt.Fprintf(&b, `<rect class="window" x=".5" y=".5" width="%.0f" height="%d" rx="8"/>`, width-1, outer-1)
	for i := range 3 {
		fmt.Fprintf(&b, `<circle class="dot" cx="%d" cy="18" r="5"/>`, 20+i*18)
	}
	symbols := newSymbols()
	frames := drawFrames(c, symbols, height)
	fmt.Fprintf(&b, "\n<defs>%s</defs>\n", symbols.text.String())
	fmt.Fprintf(&b, `<svg x="%d" y="%d" width="%.0f" height="%d"><g class="film">`, margin, bar, width-2*margin, height)
	b.WriteString("\n" + frames + "</g></svg>\n</svg>\n")
	return b.String()
}

func drawFrames(c Cast, symbols *symbols, height int) string {
	var b strings.Builder
	for i, f := range c.Frames {
		for y, line := range f.Lines {
			if len(line) > 0 {
				fmt.Fprintf(&b, `<use href="#%s" y="%d"/>`, symbols.of(line), i*height+y*cellHeight)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// symbols are the lines of all frames, each once.
type symbols struct {
	names map[string]string
	text  strings.Builder
}

func newSymbols() *symbols { return &symbols{names: map[string]string{}} }

// of returns the name of a line.
func (s *symbols) of(line terminal.Line) string {
	drawn := drawLine(line)
	name, known := s.names[drawn]
	if !known {
		name = fmt.Sprintf("l%d", len(s.names))
		s.names[drawn] = name
		fmt.Fprintf(&s.text, "<g id=\"%s\">%s</g>\n", name, drawn)
	}
	return name
}

func drawLine(line terminal.Line) string {
	var b strings.Builder
	for _, span := range line {
		x, n := float64(span.Column)*cellWidth, utf8.RuneCountInString(span.Text)
		if span.Style.Reverse {
			fmt.Fprintf(&b, `<rect class="reverse" x="%.1f" width="%.1f" height="%d"/>`, x, float64(n)*cellWidth, cellHeight)
		}
		// The length keeps columns aligned in whatever font the viewer has.
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" textLength="%.1f"%s>%s</text>`, x, cellHeight-4, float64(n)*cellWidth, classes(span.Style), escape(span.Text))
	}
	return b.String()
}

func classes(s terminal.Style) string {
	var all []string
	if s.Color >= 0 {
		all = append(all, fmt.Sprintf("c%d", s.Color))
	}
	if s.Bold {
		all = append(all, "b")
	}
	if s.Faint {
		all = append(all, "f")
	}
	if s.Reverse {
		all = append(all, "r")
	}
	if len(all) == 0 {
		return ""
	}
	return ` class="` + strings.Join(all, " ") + `"`
}

func escape(text string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(text)); err != nil {
		return "" // a builder accepts everything
	}
	return b.String()
}
