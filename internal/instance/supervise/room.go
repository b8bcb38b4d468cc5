package supervise

import (
	"example.com/nginx-operator/internal/instance/budget"
	"example.com/nginx-operator/internal/instance/limits"
	"example.com/nginx-operator/internal/instance/nginx"
)

// testMemory returns how much of the free memory a test may use.
func (s *Supervisor) testMemory() nginx.ConfigTestLimits {
	memory := limits.ReadMemory(s.Cgroup, s.Proc.Meminfo())
	return nginx.NewConfigTestLimits(memory.Free, memory.Limit, memory.Limited)
}

// room returns the free memory and processes of the container.
func (s *Supervisor) room() budget.Room {
	memory := limits.ReadMemory(s.Cgroup, s.Proc.Meminfo())
	room := budget.Room{Free: memory.Free, Limit: memory.Limit, Limited: memory.Limited, Processes: -1}
	if free, limited := limits.FreeProcesses(s.Cgroup); limited {
		room.Processes = free
	}
	return room
}
