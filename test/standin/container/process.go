package container

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Children are the processes that a process has started, and those that it has inherited.
func Children(parent int) []int {
	var found []int
	names, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is a good one
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

// Title is what a process calls itself; empty: it is gone.
func Title(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err.Error()
	}
	return string(text)
}

// Master is the process id of nginx, as this machine counts; 0: it does not run.
func (c *Container) Master() int { return child(c.PID(), "nginx: master") }

// Worker is that of one that takes requests; 0: there is none.
func (c *Container) Worker() int {
	if master := c.Master(); master != 0 {
		return child(master, "nginx: worker process\x00")
	}
	return 0
}

func child(parent int, title string) int {
	for _, pid := range Children(parent) {
		if strings.HasPrefix(Title(pid)+"\x00", title) {
			return pid
		}
	}
	return 0
}
