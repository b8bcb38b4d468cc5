// Package problems reads what nginx says about a configuration that it does not take.
package problems

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"example.com/nginx-operator/internal/instanceapi"
)

// Bounds of what is reported: it ends up in a status.
const (
	maxProblems = 5
	maxMessage  = 500
)

// Line is one line of nginx's error log.
type Line struct {
	// Level such as emerg.
	Level string
	// PID of the process that wrote it; 0 if the line does not tell.
	PID     int
	Message string
	// OfRequest tells that the line is about a client's request or connection. It has addresses and query strings.
	OfRequest bool
}

// Severe tells whether nginx gave something up.
func (l Line) Severe() bool {
	return slices.Contains([]string{"emerg", "alert", "crit", "error"}, l.Level)
}

// Ignored tells whether nginx only passes over what it complains about: a changed lock_file
// is reported as an emergency, and the configuration is taken.
func (l Line) Ignored() bool { return strings.HasSuffix(l.Message, ", ignored") }

// Before the log is open, lines start with "nginx:" instead of time and process.
var logLine = regexp.MustCompile(`^(?:nginx: |\d{4}/\d\d/\d\d \d\d:\d\d:\d\d )\[([a-z]+)\] (?:(\d+)#\d+: )?(\*\d+ )?(.*)$`)

// ParseLine reads a line of the error log.
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

// LastWords are the lines that may tell why nginx ended: none about requests, and none of the level error, which
// nginx goes on after.
func LastWords(lines []string) []string {
	var words []string
	for _, text := range lines {
		if line, ok := ParseLine(text); ok && line.Severe() && line.Level != "error" && !line.OfRequest {
			words = append(words, text)
		}
	}
	return words
}

// Reader turns lines into problems. Paths in Hidden folders are told by the bare name of
// the file: users know only that.
//
// nginx quotes what it does not understand, and a configuration can include any file of
// the container, by many names. So nothing is quoted but the files that Own tells to be
// the configuration's own: the operator may read these.
type Reader struct {
	Hidden []string
	Own    func(file string) bool
}

// notShown stands for nginx's words about a file that is not the configuration's own.
const notShown = "nginx does not take this file; its words are not shown, because the file may hold a secret"

// Problems are those of the text's lines that tell of one, without repetitions.
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
	problem.Message = limit(printable(redact(r.shorten(message))))
	return problem
}

// Redact is a line of the error log as it may be shown to everybody who may read the
// container's log.
func (r Reader) Redact(text string) string {
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

// A key can stand in the configuration itself, as data:-----BEGIN ...
var inlineData = regexp.MustCompile(`data:[^\s"].*|-----BEGIN.*`)

func redact(message string) string {
	return inlineData.ReplaceAllString(message, "(not shown)")
}

// printable replaces what a terminal would take for a command.
func printable(message string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, message)
}

func limit(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage], "") + "…"
}
