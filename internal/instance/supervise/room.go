package supervise

import (
	"example.com/nginx-operator/internal/instance/budget"
	"example.com/nginx-operator/internal/instance/limits"
	"example.com/nginx-operator/internal/instance/nginx"
)

// testMemory is what a test may use of what is left now.
func (s *Supervisor) testMemory() nginx.Memory {
	memory := limits.ReadMemory(s.Cgroup, s.Proc.Meminfo())
	return nginx.TestMemory(memory.Free, memory.Limit, memory.Limited)
}

// room is what the container has left now.
func (s *Supervisor) room() budget.Room {
	memory := limits.ReadMemory(s.Cgroup, s.Proc.Meminfo())
	room := budget.Room{Free: memory.Free, Limit: memory.Limit, Limited: memory.Limited, Processes: -1}
	if free, limited := limits.FreeProcesses(s.Cgroup); limited {
		room.Processes = free
	}
	return room
}
