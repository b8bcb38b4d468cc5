package main

import (
	"context"
	"time"

	"example.com/nginx-operator/test/internal/audit"
)

// silenceLength is how long a user of the API has to be silent for its requests to be counted:
// events are written a little after what they tell of.
const silenceLength = 2 * time.Second

// silence waits until a user of the API has been silent for a while.
func silence(ctx context.Context, log audit.Log, user string) error {
	for {
		if err := pause(ctx, silenceLength); err != nil {
			return err
		}
		recent, err := log.Requests(audit.Filter{User: user, Since: time.Now().Add(-silenceLength)})
		if err != nil {
			return err
		}
		if len(recent) == 0 {
			return nil
		}
	}
}
