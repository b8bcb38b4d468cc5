package main

import (
	"testing"

	"example.com/nginx-operator/internal/instance/limits"
)

func TestMemoryLimit(t *testing.T) {
	if got := memoryLimit(limits.Memory{Limit: 512 << 20, Limited: true}); got < 400<<20 || got > 412<<20 {
		t.Errorf("of 512 MiB, the program may use %d MiB", got>>20)
	}
	if got := memoryLimit(limits.Memory{Limit: 64 << 30}); got != 0 {
		t.Errorf("without a limit, the program may use %d MiB", got>>20)
	}
}
