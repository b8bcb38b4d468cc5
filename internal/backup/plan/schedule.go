package plan

import (
	"fmt"
	"time"

	cron "github.com/netresearch/go-cron"

	"example.com/nginx-operator/api/backup/v1alpha1"
)

// Schedule holds the times of a cron expression in a time zone. A time in the hour that is skipped
// when clocks are put forward is due after that hour. A time in the hour that is repeated when
// clocks are put back is due twice.
type Schedule struct {
	times *cron.SpecSchedule
	zone  *time.Location
}

// ParseSchedule parses a schedule trigger. The error names the invalid field.
func ParseSchedule(t *v1alpha1.ScheduleTrigger) (*Schedule, error) {
	name := t.TimeZone
	if name == "" {
		name = "Etc/UTC"
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, fmt.Errorf("triggers.schedule.timeZone %q is unknown: use a name of the IANA database, such as Europe/Berlin", name)
	}
	parsed, err := cron.ParseStandard(t.Cron)
	if err != nil {
		return nil, fmt.Errorf("triggers.schedule.cron %q: %w", t.Cron, err)
	}
	times, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, fmt.Errorf("triggers.schedule.cron %q is an interval: use five fields, such as \"0 3 * * *\"", t.Cron)
	}
	s := &Schedule{times: times, zone: zone}
	if s.Next(time.Unix(0, 0)).IsZero() {
		return nil, fmt.Errorf("triggers.schedule.cron %q names a date that never occurs", t.Cron)
	}
	return s, nil
}

// Next returns the first time after t.
func (s *Schedule) Next(t time.Time) time.Time { return s.times.Next(t.In(s.zone)) }

// Last returns the last time that was due at t.
func (s *Schedule) Last(t time.Time) time.Time {
	// Prev returns a time before its argument, but at t itself the schedule is due. It also does
	// not know the times that were moved out of a skipped hour.
	last := s.times.Prev(t.In(s.zone).Add(time.Second))
	for next := s.Next(last); !next.IsZero() && !next.After(t); next = s.Next(last) {
		last = next
	}
	return last
}
