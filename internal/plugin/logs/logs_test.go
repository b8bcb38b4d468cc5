package logs

import (
	"testing"
	"time"
)

// TestFilter: requests are found in the usual format and in JSON, and other lines are not taken for requests.
func TestFilter(t *testing.T) {
	const (
		usual = `10.0.0.1 - jo [26/Nov/2026:11:00:00 +0000] "GET /shop/cart?x=1 HTTP/1.1" 502 157 "-" "curl/8.1"`
		json  = `{"time":"2026-11-26","status":502,"request_uri":"/shop/cart?x=1"}`
		whole = `{"status":"502","request":"GET /shop/cart?x=1 HTTP/2.0"}`
		fault = `2026/11/26 11:00:00 [error] 7#7: *1 connect() failed (111: Connection refused), request: "GET /shop/cart HTTP/1.1", upstream: "http://10.0.0.9/"`
	)
	for name, tt := range map[string]struct {
		filter         Filter
		text           string
		matches, known bool
	}{
		"no filter":         {Filter{}, fault, true, true},
		"status":            {Filter{Status: "502"}, usual, true, true},
		"another status":    {Filter{Status: "404"}, usual, false, true},
		"class":             {Filter{Status: "5xx"}, usual, true, true},
		"another class":     {Filter{Status: "4xx"}, usual, false, true},
		"path":              {Filter{Path: "/shop/"}, usual, true, true},
		"another path":      {Filter{Path: "/cart"}, usual, false, true},
		"JSON":              {Filter{Status: "5xx", Path: "/shop"}, json, true, true},
		"JSON with a line":  {Filter{Status: "5xx", Path: "/shop"}, whole, true, true},
		"the error log":     {Filter{Status: "5xx"}, fault, false, false},
		"JSON of something": {Filter{Status: "5xx"}, `{"level":"info"}`, false, false},
		"broken JSON":       {Filter{Status: "5xx"}, `{"status":`, false, false},
	} {
		if matches, known := tt.filter.Matches(tt.text); matches != tt.matches || known != tt.known {
			t.Errorf("%s: %v, %v", name, matches, known)
		}
	}
}

func TestParse(t *testing.T) {
	at := time.Date(2026, 11, 26, 11, 0, 0, 123, time.UTC)
	for text, want := range map[string]Line{
		"2026-11-26T11:00:00.000000123Z GET / 200": {at, "web-1", "GET / 200"},
		"2026-11-26T11:00:00.000000123Z ":          {at, "web-1", ""},
		"without a time":                           {time.Unix(5, 0), "web-1", "without a time"},
	} {
		if got := parse("web-1", text, time.Unix(5, 0)); !got.Time.Equal(want.Time) || got.Text != want.Text || got.Pod != want.Pod {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// TestMerge: lines are in the order of their times, and none waits longer than the window for earlier ones.
func TestMerge(t *testing.T) {
	start := time.Unix(100, 0)
	m := &merger{}
	texts := func(lines []Line) (all string) {
		for _, l := range lines {
			all += l.Text
		}
		return all
	}
	m.add(Line{start.Add(2), "a", "2"}, start)
	m.add(Line{start.Add(1), "b", "1"}, start.Add(window/2))
	m.add(Line{start.Add(9), "a", "9"}, start.Add(window))
	if got := texts(m.take(start.Add(window/2), false)); got != "" {
		t.Errorf("too early: %q", got)
	}
	if got := texts(m.take(start.Add(window), false)); got != "12" {
		t.Errorf("after the window: %q", got)
	}
	m.add(Line{start.Add(3), "b", "3"}, start.Add(window))
	if got := texts(m.take(start.Add(window), true)); got != "39" {
		t.Errorf("at the end: %q", got)
	}
}

func TestValidStatus(t *testing.T) {
	for text, want := range map[string]bool{"404": true, "5xx": true, "": false, "5x": false, "600": false, "abc": false} {
		if ValidStatus(text) != want {
			t.Errorf("%q", text)
		}
	}
}
