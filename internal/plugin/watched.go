package plugin

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// watched is the flag --watch.
type watched struct{ watch bool }

func (w *watched) addFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&w.watch, "watch", "w", false, "show it again and again, until you interrupt it")
}

// run shows something once, or again and again until the user interrupts it.
func (w *watched) run(cmd *cobra.Command, show func(context.Context) error) error {
	if !w.watch {
		return show(cmd.Context())
	}
	s := newRedrawn(cmd)
	defer s.restore()
	for {
		if err := s.draw(func() error { return show(cmd.Context()) }); err != nil {
			if errors.Is(err, context.Canceled) {
				return nil
			}
			return err
		}
	}
}

// redrawn is an output that shows one screen after the other, in place on a terminal.
type redrawn struct {
	cmd      *cobra.Command
	out      io.Writer
	terminal bool
}

func newRedrawn(cmd *cobra.Command) *redrawn {
	return &redrawn{cmd: cmd, out: cmd.OutOrStdout(), terminal: isTerminal(cmd.OutOrStdout())}
}

// These control terminals (ECMA-48, and DEC's private modes): the first line and column, the rest of a line, the rest of the
// screen, and whether long lines go on below.
const (
	home      = "\x1b[H"
	clearLine = "\x1b[K"
	clearRest = "\x1b[J"
	noWrap    = "\x1b[?7l"
	wrap      = "\x1b[?7h"
)

// draw shows what show prints. On a terminal, nothing flickers: lines are overwritten, and not cleared before.
func (r *redrawn) draw(show func() error) error {
	var screen bytes.Buffer
	r.cmd.SetOut(&screenOf{&screen, colours(r.out)})
	defer r.cmd.SetOut(r.out)
	err := show()
	if screen.Len() == 0 {
		return err
	}
	text := screen.String() + "\n"
	if r.terminal {
		lines := strings.Split(strings.TrimRight(screen.String(), "\n"), "\n")
		if height := heightOf(r.out); len(lines) > height {
			lines = append(lines[:height-1], "…")
		}
		text = noWrap + home + strings.Join(lines, clearLine+"\n") + clearLine + clearRest
	}
	if _, failed := io.WriteString(r.out, text); failed != nil {
		return failed
	}
	return err
}

// heightOf returns the number of lines of a terminal.
func heightOf(out io.Writer) int {
	const usual = 24
	file, ok := out.(*os.File)
	if !ok {
		return usual
	}
	_, height, err := term.GetSize(int(file.Fd()))
	if err != nil || height < 2 {
		return usual
	}
	return height
}

// restore leaves the terminal as it was, with the cursor below the last screen.
func (r *redrawn) restore() {
	r.cmd.SetOut(r.out)
	if r.terminal {
		// The command ends, and has nothing else to say.
		_, _ = io.WriteString(r.out, wrap+"\n")
	}
}

// screenOf collects a screen that is shown on a terminal later.
type screenOf struct {
	io.Writer
	colours bool
}
