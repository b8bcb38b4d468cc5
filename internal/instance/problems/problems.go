// Package problems parses nginx's messages about a configuration that it refuses.
package problems

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"example.com/nginx-operator/internal/instanceapi"
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
	// Secrets are values that are never shown; nil: there are none.
	Secrets *Secrets
}

// notShown replaces nginx's message about a file that is not the configuration's own.
const notShown = "nginx refused this file; its message is not shown, because the file may contain a secret"

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

var placed = regexp.MustCompile(`^(.*) in (/\S*):(\d+)$`)

func (r Reader) problem(message string) instanceapi.Problem {
	var problem instanceapi.Problem
	if found := placed.FindStringSubmatch(message); found != nil {
		if line, err := strconv.Atoi(found[3]); err == nil {
			problem.File, problem.Line, message = found[2], line, found[1]
		}
	}
	if problem.File != "" && !r.Own(problem.File) {
		message = notShown
	}
	problem.File = r.shorten(problem.File)
	problem.Message = truncate(printable(redact(r.shorten(r.Secrets.Hide(message)))))
	return problem
}

// Redact returns a line of the error log in a form for everyone who may read the container's log.
func (r Reader) Redact(text string) string {
	text = r.Secrets.Hide(text)
	line, ok := ParseLine(text)
	if !ok {
		return text
	}
	found := placed.FindStringSubmatch(line.Message)
	if found == nil || r.Own(found[2]) {
		return text
	}
	head, _, _ := strings.Cut(text, line.Message)
	return head + notShown + " in " + found[2] + ":" + found[3]
}

func (r Reader) shorten(text string) string {
	for _, dir := range r.Hidden {
		text = strings.ReplaceAll(text, dir+"/", "")
	}
	return text
}

// The configuration itself can contain a key, as data:-----BEGIN ...
var inlineData = regexp.MustCompile(`data:[^\s"].*|-----BEGIN.*`)

func redact(message string) string {
	return inlineData.ReplaceAllString(message, "(not shown)")
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
