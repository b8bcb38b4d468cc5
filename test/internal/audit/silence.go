package audit

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// silenceLength is how long a user of the API has to be silent before its requests are counted. The
// API server writes an event shortly after the request.
const silenceLength = 2 * time.Second

// Silence waits until a user of the API has sent no request for silenceLength.
func (l Log) Silence(ctx context.Context, user string) error {
	err := wait.PollUntilContextCancel(ctx, silenceLength, false, func(context.Context) (bool, error) {
		recent, err := l.Requests(Filter{User: user, Since: time.Now().Add(-silenceLength)})
		return len(recent) == 0, err
	})
	if ctx.Err() != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	return err
}
