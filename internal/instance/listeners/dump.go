package listeners

import (
	"bytes"
	"regexp"
	"strings"
)

var header = regexp.MustCompile(`^# configuration file (/.*):$`)

// Bounds of what is kept of a dump, beside the files that are known anyway.
const (
	maxKept = 2 << 20
	maxLine = 64 << 10
)

// Dump reads what `nginx -T` writes, while it is written. A configuration may include files
// with a million lines of data, of geo and map blocks: only the directives that may matter for
// listeners are kept of the files that are not known, and an empty line for every other.
type Dump struct {
	known map[string]string
	files map[string]*strings.Builder
	// file is the one that is being read; nil before the first.
	file *strings.Builder
	// content is what is left of a known file; matched is how much of it has been read.
	content string
	matched int
	// line is the beginning of one whose end has not come yet.
	line []byte
	// begins tells that a statement may begin with the next line.
	begins bool
	kept   int
	cut    bool
}

// NewDump returns a Dump that nothing was written to. The contents of known files are given,
// as they may look like a header themselves: people paste such output.
func NewDump(known map[string]string) *Dump {
	return &Dump{known: known, files: map[string]*strings.Builder{}}
}

// Write reads on. It never fails.
func (d *Dump) Write(p []byte) (int, error) {
	total := len(p)
	for len(p) > 0 {
		if d.matched < len(d.content) {
			p = d.match(p)
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

// match passes over what is known. A file that begins differently is another one, such as a
// pasted dump inside of a file.
func (d *Dump) match(p []byte) []byte {
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

// extend adds to the line. Of one that is too long to be a directive the rest is dropped.
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
	if begins && isData(d.line) {
		d.file.WriteByte('\n')
		return
	}
	if d.kept += len(d.line); d.kept > maxKept {
		d.cut = true
		return
	}
	d.file.Write(d.line)
}

// open begins a file. nginx shows each once, so another header of the same name is a
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

// Files are the texts by path, without what cannot matter. Lines keep their numbers.
func (d *Dump) Files() map[string]string {
	if len(d.line) > 0 {
		d.endLine()
	}
	files := make(map[string]string, len(d.files))
	for name, text := range d.files {
		files[name] = text.String()
		if content, ok := d.known[name]; ok && strings.HasPrefix(files[name], content) {
			// nginx ends every file with a line break.
			files[name] = content
		}
	}
	return files
}

// Cut tells that not everything that may matter was kept.
func (d *Dump) Cut() bool { return d.cut }

// endsStatement tells whether a statement may begin after a line, given that one might
// have begun with it.
func endsStatement(line []byte, begins bool) bool {
	text := bytes.TrimSpace(line)
	if len(text) == 0 || begins && text[0] == '#' {
		return begins
	}
	last := text[len(text)-1]
	return last == ';' || last == '{' || last == '}'
}

// looked are the directives that listeners are found by.
var looked = map[string]bool{"listen": true, "ssl_certificate": true, "ssl": true, "include": true}

// isData tells whether a line is one whole statement that nothing depends on, or nothing at
// all. Whatever is not plain (a quote, a brace, an escape) is kept, so what is dropped leaves the
// structure as it is, even in the middle of a quoted text.
func isData(line []byte) bool {
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
	return !looked[string(bytes.Trim(name, `"`))]
}
