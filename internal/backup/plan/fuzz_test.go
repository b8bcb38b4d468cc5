package plan

import (
	"strings"
	"testing"
	"time"

	"example.com/nginx-operator/api/backup/v1alpha1"
)

// FuzzSchedule: an impossible schedule is refused with the name of the field. The times of a
// possible one are in order, and none is due between the last one and the next one.
func FuzzSchedule(f *testing.F) {
	for _, cron := range []string{"0 3 * * *", "*/15 0-6,22 1 JAN-MAR MON", "@hourly", "0 0 30 2 *", "0 0 29 2 *", "TZ=UTC 0 0 * * *", "* * * * * *", "60 * * * *", "*/0 * * * *", "H 1 * * *", "0 0 L * *", "0 0 * * 5#3", "@every 1ns", "\n0 3 * * *\x1b[31m"} {
		f.Add(cron, "Europe/Berlin", int64(1_800_000_000))
	}
	f.Add("30 2 * * *", "../../etc/passwd", int64(-1))
	f.Add("30 2 29 3 *", "Local", int64(1_774_745_000))
	f.Fuzz(func(t *testing.T, cron, zone string, unix int64) {
		trigger := &v1alpha1.ScheduleTrigger{Cron: cron, TimeZone: zone}
		s, err := ParseSchedule(trigger)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "triggers.schedule.") {
				t.Errorf("the refusal is %q", err)
			}
			return
		}
		at := time.Unix(unix%(1<<32), 0)
		next := s.Next(at)
		if !next.IsZero() && !next.After(at) {
			t.Errorf("the next time after %s is %s", at, next)
		}
		last := s.Last(at)
		if last.After(at) {
			t.Errorf("the last time at %s is %s", at, last)
		}
		if between := s.Next(last); !last.IsZero() && !between.IsZero() && !between.After(at) {
			t.Errorf("at %s the last time is %s, and %s comes after it", at, last, between)
		}
	})
}
