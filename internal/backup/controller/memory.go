package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/nginx-operator/internal/kube/slots"
)

const (
	// largePasses is the number of passes that may each use more than smallPass bytes. Namespaces share them, so one namespace
	// has at most one of two.
	largePasses = 2
	// smallPass is the memory in bytes that a pass may use at any time. The declarations of most applications are smaller.
	smallPass = 512 << 10
	// memoryWait bounds how long a pass waits for memory. It leaves most of the pass for the work.
	memoryWait = 10 * time.Second
)

// MemoryRetry is the interval at which an object waits for memory again.
const MemoryRetry = 5 * time.Second

// MemoryMessage is the message of the condition of an object that waits for memory.
const MemoryMessage = "Waiting for memory: other large backups or restores are in progress"

// ErrNoMemory means that other passes use the memory.
var ErrNoMemory = errors.New("other large backups or restores use the memory")

// Memory bounds the memory for the declarations of backups and restores.
type Memory struct{ large *slots.Slots }

// NewMemory returns unused memory.
func NewMemory() *Memory { return &Memory{large: slots.New(largePasses)} }

// Use returns the use of the memory by one pass. Release it.
func (m *Memory) Use(namespace string) *MemoryUse { return &MemoryUse{memory: m, namespace: namespace} }

// MemoryUse is the use of the memory by one pass. It is not safe for concurrent use.
type MemoryUse struct {
	memory    *Memory
	namespace string
	bytes     int64
	// large reports whether the pass may use more than smallPass bytes.
	large bool
}

// Add counts bytes before they are used. If the pass uses more than smallPass bytes, Add waits as Reserve does.
func (u *MemoryUse) Add(ctx context.Context, bytes int64) error {
	if u.bytes += bytes; u.bytes <= smallPass {
		return nil
	}
	return u.Reserve(ctx)
}

// Reserve waits until the pass may use more than smallPass bytes. The error is ErrNoMemory after memoryWait.
func (u *MemoryUse) Reserve(ctx context.Context) error {
	if u.large {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, memoryWait)
	defer cancel()
	if u.large = u.memory.large.Acquire(limited, u.namespace); u.large {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("wait for memory: %w", err)
	}
	return ErrNoMemory
}

// Keep sets the bytes that the pass still uses. It ends the reservation if they are few.
func (u *MemoryUse) Keep(bytes int64) {
	if u.bytes = bytes; u.large && bytes <= smallPass {
		u.memory.large.Release(u.namespace)
		u.large = false
	}
}

// Release ends the use.
func (u *MemoryUse) Release() { u.Keep(0) }
