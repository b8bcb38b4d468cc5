package supervise

import (
	"testing"
	"time"

	"example.com/nginx-operator/internal/instance/budget"
	"example.com/nginx-operator/internal/instance/journal"
	"example.com/nginx-operator/internal/instance/window"
	"example.com/nginx-operator/test/golden"
)

// TestMessages renders why an instance rolls a configuration back.
func TestMessages(t *testing.T) {
	const where = "configuration rolled back by an instance"
	limited, unlimited := budget.Room{Limited: true, Limit: 64 << 20}, budget.Room{}
	var messages golden.Messages
	for _, room := range []budget.Room{limited, unlimited} {
		messages.Add(where, crashMessage("11", room))
		messages.Add(where, crashMessage("9", room))
		messages.Add(where, outOfMemory(room))
		messages.Add(where, endedMessage(journal.Entry{MemoryShort: true}, room))
	}
	before := window.Tally{Answers: 1000, Time: 30 * time.Second}
	for _, c := range []comparison{
		{first: window.Tally{Answers: 80, Bad: 60, Time: 30 * time.Second}, before: before},
		{before: window.Tally{Answers: 3000, Time: 30 * time.Second}, silentLong: 12, since: time.Second},
	} {
		messages.Add(where, c.problem())
	}
	for _, c := range []traffic{{rate: 20, before: .01, takes: never, since: 5}, {rate: 20, before: .01, takes: 2, gaveUp: true, since: 5}, {rate: 20, before: .01, takes: 2, since: 5}} {
		messages.Add(where, c.comparison().problem())
	}
	messages.Compare(t, "rollbacks.txt")
}
