package container

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Children returns the IDs of a process's children, including those that it has inherited.
func Children(parent int) []int {
	var found []int
	names, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is valid
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if fields[1] != strconv.Itoa(parent) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil {
			found = append(found, pid)
		}
	}
	return found
}

// Title returns the command line of a process, or an empty string if the process has ended.
func Title(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err.Error()
	}
	return string(text)
}

// The titles of a master process, and of a worker that accepts requests. Those of Angie have its own name, and the number
// of the configuration.
var (
	masterTitle = regexp.MustCompile(`^(nginx|angie): master process`)
	workerTitle = regexp.MustCompile(`^(nginx|angie): worker process( #\d+)?\x00`)
)

// Master returns the ID of nginx's master process on this machine, or 0 if nginx does not run.
func (c *Container) Master() int { return child(c.PID(), masterTitle) }

// Worker returns the ID of a worker process that accepts requests, or 0 if there is none.
func (c *Container) Worker() int {
	if master := c.Master(); master != 0 {
		return child(master, workerTitle)
	}
	return 0
}

func child(parent int, title *regexp.Regexp) int {
	for _, pid := range Children(parent) {
		if title.MatchString(Title(pid) + "\x00") {
			return pid
		}
	}
	return 0
}
