package figure

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Formats of Print.
const (
	Table = "table"
	JSON  = "json"
)

// Print writes figures in a format: a table with indented details for people, or a JSON array for
// programs.
func Print(out io.Writer, format string, figures []Figure) error {
	switch format {
	case Table:
		return printTable(out, figures)
	case JSON:
		return printJSON(out, figures)
	}
	return fmt.Errorf("there is no format %q: use %s or %s", format, Table, JSON)
}

// printTable formats all rows before it adds the details, because a line of details would end the
// columns of a tabwriter.
func printTable(out io.Writer, figures []Figure) error {
	var columns strings.Builder
	rows := [][]string{{"MEASUREMENT", "FIGURE", "VALUE", "UNIT", "GOAL", "VERDICT"}}
	for _, f := range figures {
		rows = append(rows, []string{f.Measurement, f.Name, format(f.Value), f.Unit, dash(f.Goal.String()), dash(f.Verdict())})
	}
	if err := Columns(&columns, rows); err != nil {
		return err
	}
	for i, row := range strings.SplitAfter(columns.String(), "\n") {
		if i > 0 && i <= len(figures) {
			row += details(figures[i-1])
		}
		if _, err := io.WriteString(out, row); err != nil {
			return err
		}
	}
	return nil
}

// Columns writes rows with aligned columns.
func Columns(out io.Writer, rows [][]string) error {
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		if _, err := io.WriteString(table, strings.Join(row, "\t")+"\n"); err != nil {
			return err
		}
	}
	return table.Flush()
}

func details(f Figure) string {
	var lines strings.Builder
	for _, line := range f.Details {
		lines.WriteString("    " + line + "\n")
	}
	return lines.String()
}

func dash(cell string) string {
	if cell == "" {
		return "-"
	}
	return cell
}

func printJSON(out io.Writer, figures []Figure) error {
	type row struct {
		Measurement string   `json:"measurement"`
		Name        string   `json:"name"`
		Value       float64  `json:"value"`
		Unit        string   `json:"unit"`
		Goal        string   `json:"goal,omitempty"`
		Verdict     string   `json:"verdict,omitempty"`
		Details     []string `json:"details,omitempty"`
	}
	rows := make([]row, 0, len(figures))
	for _, f := range figures {
		rows = append(rows, row{f.Measurement, f.Name, f.Value, f.Unit, f.Goal.String(), f.Verdict(), f.Details})
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(rows)
}
