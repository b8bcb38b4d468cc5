package optional

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestWait: an absent kind whose definition is watched is not looked for until the definition changes; without the watch,
// only after an owner has declared it.
func TestWait(t *testing.T) {
	for name, tt := range map[string]struct {
		watched, exists, wanted, absent bool
		// want is the pause; 0: it does not end by itself.
		want time.Duration
	}{
		"absent, watched":            {watched: true, absent: true},
		"absent, wanted and watched": {watched: true, wanted: true, absent: true},
		"not served yet":             {watched: true, exists: true, absent: true, want: time.Second},
		"cannot be found out":        {watched: true, want: time.Second},
		"not watched":                {absent: true},
		"not watched, but wanted":    {wanted: true, absent: true, want: unwatchedPause},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := &kind{wanted: make(chan struct{}), definition: definition{changed: make(chan struct{}, 1)}}
				k.definition.watched.Store(tt.watched)
				k.definition.exists.Store(tt.exists)
				if tt.wanted {
					k.want()
					k.want()
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				began := time.Now()
				k.wait(ctx, time.Second, tt.absent)
				if waited := time.Since(began); waited != tt.want && (tt.want != 0 || waited != time.Hour) {
					t.Errorf("it waited %s", waited)
				}
				// A change of the definition ends every pause.
				signal(k.definition.changed)
				signal(k.definition.changed)
				began = time.Now()
				if next := k.wait(t.Context(), time.Minute, tt.absent); next != retryMin || time.Since(began) != 0 {
					t.Errorf("after a change it waited %s, and then %s", time.Since(began), next)
				}
			})
		})
	}
}
