package nginx

import (
	"bytes"
	"io"
	"os"
)

// hasDirective reports whether the program knows a directive of a module that is not loaded at run time: it then has
// the directive's name as a string. The answer for a script, which may start any nginx, is yes.
func hasDirective(path, name string) bool {
	file, err := os.Open(path)
	if err != nil {
		return true
	}
	defer func() { _ = file.Close() }() // it was only read
	magic := make([]byte, 4)
	if _, err := io.ReadFull(file, magic); err != nil || string(magic) != "\x7fELF" {
		return true
	}
	return contains(file, []byte("\x00"+name+"\x00"))
}

// contains reads in blocks, because the programs of some forks are larger than the memory that is spared for this one.
func contains(from io.Reader, text []byte) bool {
	block := make([]byte, 64<<10)
	kept := 0
	for {
		n, err := from.Read(block[kept:])
		if bytes.Contains(block[:kept+n], text) {
			return true
		}
		if err != nil {
			return false
		}
		end := kept + n
		kept = min(end, len(text)-1)
		copy(block, block[end-kept:end])
	}
}
