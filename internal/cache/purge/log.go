package purge

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
)

// The keys of the ConfigMap. Each tier mounts its own.
const (
	KeyEdge   = "edge.json"
	KeyShards = "shards.json"
)

// Log is what is remembered of the purges of a cache. The edges may purge what all shards have purged: before, they would
// store the old content again.
type Log struct {
	Edge, Shards instanceapi.Purges
}

// ParseLog returns the log in the data of the ConfigMap. A tier whose part is missing has none.
func ParseLog(data map[string]string) (Log, error) {
	var log Log
	for key, part := range map[string]*instanceapi.Purges{KeyEdge: &log.Edge, KeyShards: &log.Shards} {
		text, ok := data[key]
		if !ok {
			continue
		}
		purges, err := instanceapi.ParsePurges([]byte(text))
		if err != nil {
			return Log{}, fmt.Errorf("%s: %w", key, err)
		}
		*part = purges
	}
	return log, nil
}

// Data returns the data of the ConfigMap.
func (l *Log) Data() (map[string]string, error) {
	data := map[string]string{}
	for key, part := range map[string]instanceapi.Purges{KeyEdge: l.Edge, KeyShards: l.Shards} {
		text, err := part.Text()
		if err != nil {
			return nil, err
		}
		data[key] = string(text)
	}
	return data, nil
}

// Numbers returns the numbers of the purges in the log by their objects.
func (l *Log) Numbers() map[string]int64 {
	numbers := make(map[string]int64, len(l.Shards.List))
	for _, p := range l.Shards.List {
		numbers[p.Owner] = p.Number
	}
	return numbers
}

// NewLog returns the log of a cache that begins at a time. Whatever a volume has from before is dropped.
func NewLog(now time.Time) Log {
	since := instanceapi.Purges{Since: now.UnixMilli()}
	return Log{Edge: since, Shards: since}
}

// Errors of Add.
var (
	// ErrNoRoom means that there is no room for a purge until pods have carried out others.
	ErrNoRoom = errors.New("too many purges wait for pods")
	// ErrTooLarge means that a purge is larger than the log can be.
	ErrTooLarge = errors.New("it names more than a log of purges can hold: purge fewer URLs at a time, or a prefix")
)

// Adder adds purges to a log. It encodes what the log has once, because there can be thousands of purges.
type Adder struct {
	log *Log
	// bytes is the length of the encoded log.
	bytes int
}

// Adder returns what adds purges to the log.
func (l *Log) Adder() (*Adder, error) {
	text, err := l.Shards.Text()
	// Others may have the same list.
	l.Shards.List = slices.Clip(l.Shards.List)
	return &Adder{log: l, bytes: len(text)}, err
}

// Add adds a purge that an object declares, and returns its number.
func (a *Adder) Add(owner string, purge instanceapi.Purge, now time.Time) (int64, error) {
	shards := &a.log.Shards
	purge.Number, purge.Owner = max(shards.Last()+1, now.UnixMilli()), owner
	text, err := instanceapi.Purges{Since: shards.Since, List: []instanceapi.Purge{purge}}.Text()
	if err != nil || len(text) > instanceapi.MaxPurges {
		return 0, ErrTooLarge
	}
	// That of an empty list is a part of the log already.
	empty, err := instanceapi.Purges{Since: shards.Since, List: []instanceapi.Purge{}}.Text()
	if err != nil {
		return 0, err
	}
	more := len(text) - len(empty) + len(`,"purges":[]`)
	if a.bytes+more > instanceapi.MaxPurges && len(shards.List) > 0 {
		return 0, ErrNoRoom
	}
	shards.List = append(shards.List, purge)
	a.bytes += more
	return purge.Number, nil
}

// Forget forgets the purges up to a number, which all pods have carried out.
func (l *Log) Forget(number int64) {
	for _, part := range []*instanceapi.Purges{&l.Edge, &l.Shards} {
		done := 0
		for done < len(part.List) && part.List[done].Number <= number {
			part.Since = part.List[done].Number
			done++
		}
		part.List = part.List[done:]
	}
}
