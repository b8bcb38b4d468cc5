package scale

import (
	"fmt"
	"syscall"
	"time"

	"example.com/nginx-operator/test/internal/process"
)

// meter is the processor time used until a moment: by the operator, by the API servers and etcds,
// by this process, and by the whole machine.
type meter struct {
	at                               time.Time
	operator, plane, client, machine time.Duration
	processors                       int
}

func (b *bench) meter() (m meter, err error) {
	m.at = time.Now()
	if b.operator != nil {
		if m.operator, err = b.operator.Used(); err != nil {
			return m, err
		}
	}
	if m.plane, err = process.ControlPlaneTime(); err != nil {
		return m, err
	}
	var self syscall.Rusage
	if err = syscall.Getrusage(syscall.RUSAGE_SELF, &self); err != nil {
		return m, err
	}
	m.client = time.Duration(self.Utime.Nano() + self.Stime.Nano())
	m.machine, m.processors, err = process.MachineTime()
	return m, err
}

// usage is the processor time used in a time span.
type usage struct {
	span            time.Duration
	operator, plane time.Duration
	// others is the share of the processor time, from 0 to 1, that unrelated programs used.
	others float64
}

// String returns how many processors were in use.
func (u usage) String() string {
	return fmt.Sprintf("operator %.2f, API server %.2f", u.operator.Seconds()/u.span.Seconds(), u.plane.Seconds()/u.span.Seconds())
}

// used returns the usage since an earlier moment.
func (b *bench) used(before meter) (usage, error) {
	now, err := b.meter()
	if err != nil {
		return usage{}, err
	}
	u := usage{span: now.at.Sub(before.at), operator: now.operator - before.operator, plane: now.plane - before.plane}
	others := now.machine - before.machine - u.operator - u.plane - (now.client - before.client)
	u.others = max(0, others.Seconds()/(u.span.Seconds()*float64(now.processors)))
	return u, nil
}
