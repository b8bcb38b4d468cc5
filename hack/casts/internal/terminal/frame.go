// Package terminal records what a terminal shows while commands run.
package terminal

import (
	"slices"
	"strings"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// Frame is what the terminal shows from a time on.
type Frame struct {
	At    time.Duration
	Lines []Line
}

// Line is a line of the terminal: its texts from left to right, without the blanks between them.
type Line []Span

// Span is a text in one style.
type Span struct {
	Column int
	Text   string
	Style  Style
}

// Style is how a text looks.
type Style struct {
	// Color is one of the sixteen colors of a terminal, or -1 for that of the text.
	Color                int
	Bold, Faint, Reverse bool
}

// plain is the style of most texts.
var plain = Style{Color: -1}

// Text returns the text of a frame, a line for each of the terminal's.
func (f Frame) Text() string {
	var b strings.Builder
	for _, line := range f.Lines {
		column := 0
		for _, s := range line {
			b.WriteString(strings.Repeat(" ", max(s.Column-column, 0)) + s.Text)
			column = s.Column + len([]rune(s.Text))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// cells is the part of an emulator that has its cells.
type cells interface {
	CellAt(x, y int) *uv.Cell
}

// lines reads the lines of a terminal.
func lines(c cells, columns, rows int) []Line {
	all := make([]Line, rows)
	for y := range rows {
		for x := range columns {
			all[y] = all[y].add(x, c.CellAt(x, y))
		}
		all[y] = all[y].trimmed()
	}
	return all
}

// add adds a cell to the line. A text ends where its style does, and where two cells are blank.
func (l Line) add(column int, cell *uv.Cell) Line {
	if cell == nil || cell.Width == 0 {
		return l
	}
	style := styleOf(cell.Style)
	blank := strings.TrimSpace(cell.Content) == "" && !style.Reverse
	if n := len(l); n > 0 {
		last := &l[n-1]
		end := last.Column + len([]rune(last.Text))
		if end == column && (last.Style == style || blank && !last.Style.Reverse) && !strings.HasSuffix(last.Text, "  ") {
			last.Text += content(cell)
			return l
		}
	}
	if blank {
		return l
	}
	return append(l, Span{column, content(cell), style})
}

func content(cell *uv.Cell) string {
	if cell.Content == "" {
		return " "
	}
	return cell.Content
}

// trimmed returns the line without blanks at the ends of its texts.
func (l Line) trimmed() Line {
	for i := range l {
		if !l[i].Style.Reverse {
			l[i].Text = strings.TrimRight(l[i].Text, " ")
		}
	}
	return slices.DeleteFunc(l, func(s Span) bool { return s.Text == "" })
}

func styleOf(s uv.Style) Style {
	style := plain
	switch color := s.Fg.(type) {
	case ansi.BasicColor:
		style.Color = int(color)
	case ansi.IndexedColor:
		if color < 16 {
			style.Color = int(color)
		}
	}
	style.Bold = s.Attrs&uv.AttrBold != 0
	style.Faint = s.Attrs&uv.AttrFaint != 0
	style.Reverse = s.Attrs&uv.AttrReverse != 0
	return style
}
