package listeners

import (
	"bytes"
	"regexp"
	"strings"
)

var header = regexp.MustCompile(`^# configuration file (/.*):$`)

// These bound how much of a dump is kept, in addition to the known files.
const (
	maxKept = 2 << 20
	maxLine = 64 << 10
)

// Dump reads the output of `nginx -T` as it is written. A configuration may include files with a
// million lines of data for geo and map blocks. So of the files that are not known, Dump only keeps
// the directives that may matter for listeners, and an empty line for every other line.
type Dump struct {
	known map[string]string
	files map[string]*strings.Builder
	// file is the current file; nil before the first.
	file *strings.Builder
	// content is the text of a known file, and matched is how much of it has been read.
	content string
	matched int
	// line is the beginning of an incomplete line.
	line []byte
	// begins is set if a statement may begin with the next line.
	begins bool
	kept   int
	cut    bool
}

// NewDump returns an empty Dump. known are the contents of known files: they may contain lines that
// look like a header, for example in pasted output of `nginx -T`.
func NewDump(known map[string]string) *Dump {
	return &Dump{known: known, files: map[string]*strings.Builder{}}
}

// Write reads the next part of the output. It never fails.
func (d *Dump) Write(p []byte) (int, error) {
	total := len(p)
	for len(p) > 0 {
		if d.matched < len(d.content) {
			p = d.skipKnown(p)
			continue
		}
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			d.extend(p)
			break
		}
		d.extend(p[:end+1])
		p = p[end+1:]
		d.endLine()
	}
	return total, nil
}

// skipKnown skips known content. A file that begins differently is another file, such as one in a
// pasted dump.
func (d *Dump) skipKnown(p []byte) []byte {
	rest := d.content[d.matched:]
	n := min(len(p), len(rest))
	if string(p[:n]) == rest[:n] {
		d.matched += n
		return p[n:]
	}
	before := d.content[:d.matched]
	d.content, d.matched = "", 0
	if d.file != nil {
		d.file.Reset()
	}
	_, _ = d.Write([]byte(before))
	return p
}

// extend appends to the line. It drops the rest of a line that is too long for a directive.
func (d *Dump) extend(p []byte) {
	if room := maxLine - len(d.line); len(p) > room {
		d.cut = true
		p = p[len(p)-min(room, 1):]
	}
	d.line = append(d.line, p...)
}

func (d *Dump) endLine() {
	defer func() { d.line = d.line[:0] }()
	if found := header.FindSubmatch(bytes.TrimSuffix(d.line, []byte("\n"))); found != nil && d.open(string(found[1])) {
		return
	}
	if d.file == nil {
		return
	}
	begins := d.begins
	d.begins = endsStatement(d.line, begins)
	if begins && isIrrelevant(d.line) {
		d.file.WriteByte('\n')
		return
	}
	if d.kept += len(d.line); d.kept > maxKept {
		d.cut = true
		return
	}
	d.file.Write(d.line)
}

// open begins a file. nginx prints each file once, so another header with the same name is a
// comment.
func (d *Dump) open(name string) bool {
	if d.files[name] != nil {
		return false
	}
	d.file, d.begins = &strings.Builder{}, true
	d.files[name] = d.file
	if content, ok := d.known[name]; ok {
		d.file.WriteString(content)
		d.content, d.matched = content, 0
	}
	return true
}

// Files returns the texts by path, without the lines that cannot matter. The other lines keep their
// numbers.
func (d *Dump) Files() map[string]string {
	if len(d.line) > 0 {
		d.endLine()
	}
	files := make(map[string]string, len(d.files))
	for name, text := range d.files {
		files[name] = text.String()
		if content, ok := d.known[name]; ok && strings.HasPrefix(files[name], content) {
			// nginx appends a line break to every file.
			files[name] = content
		}
	}
	return files
}

// Cut reports whether lines that may matter were dropped.
func (d *Dump) Cut() bool { return d.cut }

// endsStatement reports whether a statement may begin after a line. begins reports whether one
// might have begun with it.
func endsStatement(line []byte, begins bool) bool {
	text := bytes.TrimSpace(line)
	if len(text) == 0 || begins && text[0] == '#' {
		return begins
	}
	last := text[len(text)-1]
	return last == ';' || last == '{' || last == '}'
}

// relevantDirectives are the directives that determine the listeners.
var relevantDirectives = map[string]bool{"listen": true, "ssl_certificate": true, "ssl": true, "include": true}

// isIrrelevant reports whether a line is empty, or one whole statement that listeners do not depend on. A
// line with a quote, a brace or an escape is kept unless it is plain, so dropping a line does not
// change the structure, even within a quoted text.
func isIrrelevant(line []byte) bool {
	text := bytes.TrimSpace(line)
	if len(text) == 0 {
		return true
	}
	if bytes.ContainsAny(text, "{}'\\") {
		return false
	}
	if bytes.Count(text, []byte{'"'})%2 != 0 {
		return false
	}
	if text[0] == '#' {
		return true
	}
	statement, rest, found := bytes.Cut(text, []byte{';'})
	if !found {
		return false
	}
	if rest = bytes.TrimSpace(rest); len(rest) > 0 && rest[0] != '#' {
		return false
	}
	name, _, _ := bytes.Cut(statement, []byte(" "))
	name, _, _ = bytes.Cut(name, []byte("\t"))
	return !relevantDirectives[string(bytes.Trim(name, `"`))]
}
