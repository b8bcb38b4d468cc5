package nginx

import (
	"context"
	"fmt"
)

// Connections are nginx's own counters
// (https://nginx.org/en/docs/http/ngx_http_stub_status_module.html).
type Connections struct {
	Active, Accepted, Handled, Requests, Reading, Writing, Waiting int64
	// Own is how many of Requests are those of the StatusClient.
	Own int64
}

// stubStatus is the format of the module's response.
const stubStatus = "Active connections: %d \nserver accepts handled requests\n %d %d %d \nReading: %d Writing: %d Waiting: %d"

// Connections reads the counters.
func (a StatusClient) Connections(ctx context.Context) (Connections, error) {
	_, body, err := a.get(ctx, statusPath)
	if err != nil {
		return Connections{}, err
	}
	c, err := parseStub(body)
	c.Own = a.queries.Load()
	return c, err
}

// InProgress returns the number of requests that nginx handles, without this query, and 0 if it does not answer.
func (a StatusClient) InProgress(ctx context.Context) int64 {
	c, err := a.Connections(ctx)
	if err != nil {
		return 0
	}
	return max(0, c.Reading+c.Writing-1)
}

func parseStub(body string) (Connections, error) {
	var c Connections
	_, err := fmt.Sscanf(body, stubStatus, &c.Active, &c.Accepted, &c.Handled, &c.Requests, &c.Reading, &c.Writing, &c.Waiting)
	if err != nil {
		return Connections{}, fmt.Errorf("nginx answered %.200q: %w", body, err)
	}
	return c, nil
}
