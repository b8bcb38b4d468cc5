// Package problems parses nginx's messages about a configuration that it refuses.
package problems

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/userinfo"
)

// These bound what is reported, because it becomes a part of a status.
const (
	maxProblems = 5
	maxMessage  = 500
)

// Line is a line of nginx's error log.
type Line struct {
	// Level is the severity, such as emerg.
	Level string
	// PID is the process that wrote the line; 0 if the line does not contain it.
	PID     int
	Message string
	// OfRequest reports whether the line is about a client's request or connection. Such a line
	// contains addresses and query strings.
	OfRequest bool
}

// Severe reports whether nginx failed at something.
func (l Line) Severe() bool {
	return slices.Contains([]string{"emerg", "alert", "crit", "error"}, l.Level)
}

// Ignored reports whether nginx ignores what it complains about: it logs a changed lock_file as an
// emergency, but accepts the configuration.
func (l Line) Ignored() bool { return strings.HasSuffix(l.Message, ", ignored") }

// Before the log is open, lines begin with the name of the program instead of the time and the process.
var logLine = regexp.MustCompile(`^(?:(?:nginx|angie): |\d{4}/\d\d/\d\d \d\d:\d\d:\d\d )\[([a-z]+)\] (?:(\d+)#\d+: )?(\*\d+ )?(.*)$`)

// ParseLine parses a line of the error log.
func ParseLine(text string) (Line, bool) {
	found := logLine.FindStringSubmatch(strings.TrimRight(text, "\r\n"))
	if found == nil {
		return Line{}, false
	}
	line := Line{Level: found[1], Message: found[4], OfRequest: found[3] != ""}
	if found[2] != "" {
		pid, err := strconv.Atoi(found[2])
		if err != nil {
			return Line{}, false
		}
		line.PID = pid
	}
	return line, true
}

// FatalLines returns the lines that may show why nginx ended. It omits lines about requests, and
// those of the level error, after which nginx continues.
func FatalLines(lines []string) []string {
	var words []string
	for _, text := range lines {
		if line, ok := ParseLine(text); ok && line.Severe() && line.Level != "error" && !line.OfRequest {
			words = append(words, text)
		}
	}
	return words
}

// Reader turns lines into problems. It removes the Hidden folders from paths, because users only
// know the names of the files.
//
// nginx quotes what it does not understand, and a configuration can include any file of the container,
// by many names. So messages are only shown for files that Own reports to be the configuration's own:
// the operator may read these.
type Reader struct {
	Hidden []string
	Own    func(file string) bool
	// Secrets are values that are never shown; nil: there are none. Revision is the one that the lines are about; empty: it is
	// unknown.
	Secrets  *Secrets
	Revision string
}

// notShown replaces nginx's message about a file that is not the configuration's own, and lineNotShown the one about a line
// with the value of a Secret. nginx quotes parts of a line, and may have changed them.
const (
	notShown     = "nginx refused this file; its message is not shown, because the file may contain a secret"
	lineNotShown = "nginx's message about this line is not shown, because it may contain the value of "
)

// Problems returns the problems in the lines of a text, without duplicates.
func (r Reader) Problems(text string) []instanceapi.Problem {
	var found []instanceapi.Problem
	for raw := range strings.Lines(text) {
		line, ok := ParseLine(raw)
		if !ok || !line.Severe() || line.Ignored() || line.OfRequest {
			continue
		}
		problem := r.problem(line.Message)
		if !slices.Contains(found, problem) && len(found) < maxProblems {
			found = append(found, problem)
		}
	}
	return found
}

func (r Reader) problem(message string) instanceapi.Problem {
	message, file, line := r.shown(message)
	if file != "" && !r.Own(file) {
		file = r.Secrets.Hide(file)
	}
	return instanceapi.Problem{File: r.shorten(file), Line: line, Message: truncate(printable(redact(r.shorten(message))))}
}

var placed = regexp.MustCompile(`^(.*) in (/\S*):(\d+)$`)

// shown returns what may be shown of a message, and the file and the line that it is about; empty: none.
func (r Reader) shown(message string) (shown, file string, line int) {
	found := placed.FindStringSubmatch(message)
	if found == nil {
		return r.Secrets.Hide(message), "", 0
	}
	line, err := strconv.Atoi(found[3])
	if err != nil {
		return r.Secrets.Hide(message), "", 0
	}
	file = found[2]
	if !r.Own(file) {
		return notShown, file, line
	}
	if reference := r.Secrets.at(r.Revision, filepath.Base(file), line); reference != "" {
		return lineNotShown + reference, file, line
	}
	return r.Secrets.Hide(found[1]), file, line
}

// Redact returns a line of the error log in a form for everyone who may read the container's log.
func (r Reader) Redact(text string) string {
	text = strings.TrimRight(text, "\r\n")
	line, ok := ParseLine(text)
	if !ok {
		return redact(r.Secrets.Hide(text))
	}
	head := strings.TrimSuffix(text, line.Message)
	message, file, number := r.shown(line.Message)
	message = redact(message)
	if file == "" {
		return head + message
	}
	if !r.Own(file) {
		file = r.Secrets.Hide(file)
	}
	return head + message + " in " + file + ":" + strconv.Itoa(number)
}

func (r Reader) shorten(text string) string {
	for _, dir := range r.Hidden {
		text = strings.ReplaceAll(text, dir+"/", "")
	}
	return text
}

// The configuration itself can contain a key, as data:-----BEGIN ...
var inlineData = regexp.MustCompile(`data:[^\s"].*|-----BEGIN.*`)

// hidden replaces what is hidden of a message.
const hidden = "(not shown)"

func redact(message string) string {
	return userinfo.Hide(inlineData.ReplaceAllString(message, hidden), hidden)
}

// printable replaces characters that a terminal could interpret.
func printable(message string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, message)
}

func truncate(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage], "") + "…"
}
