package plugin

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"example.com/nginx-operator/internal/plugin/encode"
	"example.com/nginx-operator/internal/plugin/screen"
)

// output is the flag --output.
type output struct{ format string }

// addFlag adds the flag to a command.
func (o *output) addFlag(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&o.format, "output", "o", "", "json, yaml, name or wide; by default, tables for people")
}

// write prints what a command has found: found as JSON or YAML, names one by one, or what show shows.
func (o *output) write(cmd *cobra.Command, found any, names []string, show func(screen.Printer) error) error {
	out := cmd.OutOrStdout()
	switch o.format {
	case "", "wide":
		p := printer(cmd)
		p.Wide = o.format == "wide"
		return show(p)
	case "json":
		return encode.JSON(out, found, "  ")
	case "yaml":
		text, err := encode.YAML(found)
		if err != nil {
			return err
		}
		_, err = out.Write(text)
		return err
	case "name":
		for _, name := range names {
			if _, err := fmt.Fprintln(out, name); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("--output is %q: set it to json, yaml, name or wide", o.format)
}

// printer returns a printer for the output of a command.
func printer(cmd *cobra.Command) screen.Printer {
	out := cmd.OutOrStdout()
	return screen.Printer{Out: out, Now: time.Now(), Colours: colours(out)}
}

// colours reports whether an output shows colours: a terminal, unless NO_COLOR is set (https://no-color.org).
func colours(out io.Writer) bool {
	if screen, ok := out.(*screenOf); ok {
		return screen.colours
	}
	return isTerminal(out) && os.Getenv("NO_COLOR") == ""
}

func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(file.Fd()))
}
