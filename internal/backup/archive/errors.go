package archive

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// RefusedError reports that an archive or a commit record is damaged, hostile, in an unknown
// format, or beyond the limits. A retry does not help. All other errors of readers are caused by
// the stream or the volume.
type RefusedError struct {
	// Entry is the path of the entry, or empty if the error is about the archive or its commit
	// record.
	Entry string
	// Problem is what is wrong.
	Problem string
	// Advice says what to do.
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

// beyondError reports that a limit is exceeded. Writer and readers detect this alike, but report it
// differently.
type beyondError string

func (e beyondError) Error() string { return string(e) }

func beyond(problem string, args ...any) error {
	return beyondError(fmt.Sprintf(problem, args...))
}

func isLimit(err error) bool {
	_, limit := errors.AsType[beyondError](err)
	return limit
}

// asRefused returns the error of a reader for an entry that breaks a rule: a RefusedError with
// advice.
func asRefused(entry string, err error) error {
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

// longest bounds how much of a string from an archive a message repeats, in bytes.
const longest = 120

// clip quotes an untrusted string, so that it can neither forge nor flood a message.
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
