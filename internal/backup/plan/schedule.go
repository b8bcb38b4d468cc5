package plan

import (
	"fmt"
	"time"

	cron "github.com/netresearch/go-cron"

	"example.com/nginx-operator/api/backup/v1alpha1"
)

// Schedule is when backups are taken: the times of a cron expression in a time zone. What
// falls into the hour that is left out when clocks are put forward is taken after it; what
// falls into the hour that comes twice is taken twice.
type Schedule struct {
	times *cron.SpecSchedule
	zone  *time.Location
}

// ParseSchedule understands the times of a trigger, or tells what is wrong with them.
func ParseSchedule(t *v1alpha1.ScheduleTrigger) (*Schedule, error) {
	name := t.TimeZone
	if name == "" {
		name = "Etc/UTC"
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, fmt.Errorf("triggers.schedule.timeZone %q is not known: use a name of the IANA database, such as Europe/Berlin", name)
	}
	parsed, err := cron.ParseStandard(t.Cron)
	if err != nil {
		return nil, fmt.Errorf("triggers.schedule.cron %q: %w", t.Cron, err)
	}
	times, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, fmt.Errorf("triggers.schedule.cron %q has no times of the clock: use five fields, such as \"0 3 * * *\"", t.Cron)
	}
	s := &Schedule{times: times, zone: zone}
	if s.Next(time.Unix(0, 0)).IsZero() {
		return nil, fmt.Errorf("triggers.schedule.cron %q names a day that never comes", t.Cron)
	}
	return s, nil
}

// Next is the first time after t.
func (s *Schedule) Next(t time.Time) time.Time { return s.times.Next(t.In(s.zone)) }

// Last is the last time that was due at t.
func (s *Schedule) Last(t time.Time) time.Time {
	// Prev looks before t, and at t it is due. It does not know the times that were moved out
	// of an hour that there is not.
	last := s.times.Prev(t.In(s.zone).Add(time.Second))
	for next := s.Next(last); !next.IsZero() && !next.After(t); next = s.Next(last) {
		last = next
	}
	return last
}
