package archive

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// RefusedError is about an archive or a commit record that is damaged, hostile, of a format
// that is not known, or beyond the limits. To try again is of no use. All other errors of
// readers are about the stream or the volume.
type RefusedError struct {
	// Entry of the archive; empty: the archive, or its commit record.
	Entry string
	// Problem is what is wrong.
	Problem string
	// Advice is what to do.
	Advice string
}

// Error names the entry, what is wrong with it, and what to do.
func (e *RefusedError) Error() string {
	where := ""
	if e.Entry != "" {
		where = "entry " + clip(e.Entry) + ": "
	}
	return "backup refused: " + where + e.Problem + "; " + e.Advice
}

const (
	adviseOther   = "restore another backup"
	adviseLimit   = "raise the limit if the backup is to be trusted"
	adviseUpgrade = "upgrade the operator to read it"
)

func refuse(entry, problem string, args ...any) error {
	return &RefusedError{Entry: entry, Problem: fmt.Sprintf(problem, args...), Advice: adviseOther}
}

// beyondError is about something that is beyond a limit. Writer and readers find it alike,
// and say different things about it.
type beyondError string

func (e beyondError) Error() string { return string(e) }

func beyond(problem string, args ...any) error {
	return beyondError(fmt.Sprintf(problem, args...))
}

func isLimit(err error) bool {
	_, limit := errors.AsType[beyondError](err)
	return limit
}

// judged is what a reader says about an entry that breaks a rule.
func judged(entry string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*RefusedError](err); ok {
		return err
	}
	advice := adviseOther
	if isLimit(err) {
		advice = adviseLimit
	}
	return &RefusedError{Entry: entry, Problem: err.Error(), Advice: advice}
}

func laterVersion(format int) error {
	return &RefusedError{
		Problem: fmt.Sprintf("made by a later version: format %d, this one reads %d", format, Format),
		Advice:  adviseUpgrade,
	}
}

// longest is how many bytes of a string from an archive a message repeats.
const longest = 120

// clip quotes a string that somebody else chose, so that it can neither forge nor flood a
// message.
func clip(s string) string {
	if len(s) <= longest {
		return strconv.Quote(s)
	}
	end := longest
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return strconv.Quote(strings.Clone(s[:end])) + fmt.Sprintf("… (%d bytes)", len(s))
}
