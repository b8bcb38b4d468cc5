package screen

import (
	"strings"
	"unicode/utf8"
)

// tone is what a text means for a reader.
type tone int

const (
	plain tone = iota
	good
	warning
	bad
	// faint is for what matters less, such as a header.
	faint
)

// codes are the colours of terminals (ECMA-48, SGR).
var codes = map[tone]string{good: "32", warning: "33", bad: "31", faint: "2"}

// coloured returns a text in the colour of a tone.
func (p Printer) coloured(text string, t tone) string {
	if !p.Colours || t == plain || text == "" {
		return text
	}
	return "\x1b[" + codes[t] + "m" + text + "\x1b[0m"
}

// gap is the number of spaces between two columns.
const gap = 3

// table aligns the columns of rows.
type table struct {
	printer Printer
	rows    [][]cell
}

type cell struct {
	text string
	tone tone
}

func (p Printer) table(header ...string) *table {
	t := &table{printer: p}
	t.row(header...)
	for i := range t.rows[0] {
		t.rows[0][i].tone = faint
	}
	return t
}

// section begins a table after an empty line.
func (p Printer) section(header ...string) (*table, error) {
	return p.table(header...), p.printf("")
}

// row adds a row. An empty cell is "-", so that each line has as many words as the header.
func (t *table) row(texts ...string) *table {
	cells := make([]cell, 0, len(texts))
	for _, text := range texts {
		if text = Safe(text); text == "" {
			text = "-"
		}
		cells = append(cells, cell{text: text})
	}
	t.rows = append(t.rows, cells)
	return t
}

// mark gives a cell of the last row a tone.
func (t *table) mark(column int, tone tone) *table {
	t.rows[len(t.rows)-1][column].tone = tone
	return t
}

// print prints the rows.
func (t *table) print() error {
	widths := map[int]int{}
	for _, row := range t.rows {
		for i, c := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(c.text))
		}
	}
	for _, row := range t.rows {
		var line strings.Builder
		for i, c := range row {
			line.WriteString(t.printer.coloured(c.text, c.tone))
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.text)+gap))
			}
		}
		if err := t.printer.printf("%s", line.String()); err != nil {
			return err
		}
	}
	return nil
}
