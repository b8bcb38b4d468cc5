package boundedjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

var limits = Limits{Bytes: 1000, Depth: 3, Items: 4, Values: 10, String: 20, Name: 8}

func TestLimits(t *testing.T) {
	long := strings.Repeat("x", 19)
	for name, tt := range map[string]struct {
		text, want string
	}{
		"empty list":          {`[]`, ""},
		"as many items":       {`[1,2,3,4]`, ""},
		"items":               {`[1,2,3,4,5]`, "items"},
		"fields":              {`{"a":1,"a":2,"a":3,"a":4,"a":5}`, "items"},
		"empty items":         {`[{},{},{},{},{}]`, "items"},
		"as deep":             {`[[[1]]]`, ""},
		"deep":                {`[[[[1]]]]`, "nested"},
		"deep and unclosed":   {strings.Repeat("[", 900), "nested"},
		"deep with objects":   {`{"a":{"a":{"a":{}}}}`, "nested"},
		"as many values":      {`[[1,1],[1,1],[1,1,1]]`, ""},
		"values":              {`[[1,1],[1,1],[1,1,1,1]]`, "values"},
		"as long string":      {`["` + long + `"]`, ""},
		"string":              {`["` + long + `xx"]`, "string"},
		"name":                {`{"` + long + `xx":1}`, "string"},
		"as long name":        {`{"` + long[:8] + `" : "` + long + `"}`, ""},
		"long name":           {`{"` + long[:9] + `" : 1}`, "name"},
		"unclosed string":     {`["` + long + "xx", "string"},
		"number":              {`[1` + strings.Repeat("0", 30) + `]`, "string"},
		"literal":             {strings.Repeat("t", 30), "string"},
		"structure in string": {`["[[[[,,,,,,"]`, ""},
		"escaped quote":       {`["\"[[[[,,,,,"]`, ""},
		"escaped backslash":   {`["\\",1,2,3,4]`, "items"},
		"closed too often":    {`]]]][[[1]]]`, "invalid"},
		"bytes":               {strings.Repeat(" ", 1001), "bytes"},
		"as many bytes":       {strings.Repeat(" ", 999) + "1", ""},
		"invalid UTF-8":       {"[\"\xff\xfe\"]", ""},
		"no JSON":             {`hello`, "invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			var whole any
			err := limits.Unmarshal([]byte(tt.text), &whole)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			// The limits do not depend on how the text arrives.
			text, readErr := limits.Read(iotest.OneByteReader(strings.NewReader(tt.text)))
			if isLimit(err) != isLimit(readErr) || readErr == nil && string(text) != tt.text {
				t.Errorf("read as %q (%v), decoded with %v", text, readErr, err)
			}
		})
	}
}

func isLimit(err error) bool {
	exceeded := (*LimitError)(nil)
	return errors.As(err, &exceeded)
}

// TestReadStops: nothing is read after the byte that exceeds a limit.
func TestReadStops(t *testing.T) {
	endless := &counted{from: iotest.OneByteReader(io.MultiReader(strings.NewReader("[1,2,3,4,5"), strings.NewReader(strings.Repeat(",5", 400))))}
	if _, err := limits.Read(endless); err == nil || endless.n > 10 {
		t.Errorf("%d bytes were read (%v)", endless.n, err)
	}
}

type counted struct {
	from io.Reader
	n    int
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n += n
	return n, err
}

type bounded struct {
	Text    string            `json:"text" max:"4"`
	List    []string          `json:"list" max:"2,3"`
	Nested  []*bounded        `json:"nested" max:"2"`
	Files   map[string][]byte `json:"files" max:"2,3,4"`
	Numbers [2]int64          `json:"numbers"`
	Pair    [2]string         `json:"pair" max:"2"`
	hidden  string
}

func TestBound(t *testing.T) {
	got := bounded{hidden: "unexported"}
	text := `{"text":"äöü","list":["abcd","b","c"],"nested":[{"text":"12345"},null,{}],"files":{"long":"YQ==","a":"YWJjZGU="},"numbers":[1,2],"pair":["abc","d"]}`
	large := Limits{Bytes: 1 << 10, Depth: 8, Items: 100, Values: 100, String: 100}
	if err := large.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	want := bounded{
		Text: "äö", List: []string{"abc", "b"}, Nested: []*bounded{{Text: "1234"}, nil},
		Files: map[string][]byte{"a": []byte("abcd")}, Numbers: [2]int64{1, 2}, Pair: [2]string{"ab", "d"}, hidden: "unexported",
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(bounded{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if cap(got.List) != 2 {
		t.Errorf("the list has room for %d items", cap(got.List))
	}
}

func TestUnbounded(t *testing.T) {
	type item struct {
		Text string
	}
	type value struct {
		Text    string
		List    []string `max:"3"`
		Items   []item   `max:"3"`
		Names   map[string]string
		Any     any
		Fine    []string `max:"3,4"`
		Counts  []int    `max:"3"`
		Mistake string   `max:"0"`
	}
	want := []string{
		"value.Text", "value.List[]", "value.Items[].Text", "value.Names", "value.Any", `value.Mistake: the tag max:"0" is not a bound`,
	}
	if diff := cmp.Diff(want, Unbounded[value]()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if err := Bound(&value{Text: "a"}); err == nil || !strings.Contains(err.Error(), "Text") {
		t.Errorf("error %v, want one that names the field", err)
	}
}

func TestSize(t *testing.T) {
	if small, large := Size(bounded{}), Size(bounded{Text: strings.Repeat("x", 100), List: make([]string, 10), Files: map[string][]byte{"a": make([]byte, 100)}}); large-small < 100+10*16+100 {
		t.Errorf("the sizes are %d and %d", small, large)
	}
}

// TestSizeOfDecodedJSON: what is decoded without a type counts with about the memory that it takes.
func TestSizeOfDecodedJSON(t *testing.T) {
	const most = 30_000
	for name, text := range map[string]string{
		"small maps":    "[" + strings.Repeat(`{"a":{}},`, most) + "0]",
		"texts":         "[" + strings.Repeat(`"12345678901234567890123456789012",`, most) + "0]",
		"numbers":       "[" + strings.Repeat(`1000.5,`, most) + "0]",
		"lists":         "[" + strings.Repeat(`[[1]],`, most) + "0]",
		"one large map": largeMap(most),
		"one text":      `{"a":"` + strings.Repeat("x", 1<<20) + `"}`,
	} {
		var value any
		took := heapOf(func() {
			if err := json.Unmarshal([]byte(text), &value); err != nil {
				t.Fatal(err)
			}
		})
		size := Size(value)
		if size < took*7/10 || size > took*15/10 {
			t.Errorf("%s: %d bytes of JSON take %d bytes, counted as %d", name, len(text), took, size)
		}
	}
}

func largeMap(entries int) string {
	var text strings.Builder
	for i := range entries {
		fmt.Fprintf(&text, `"k%d":1.5,`, i)
	}
	return "{" + text.String() + `"":0}`
}

// heapOf returns how much memory is kept of what do allocates.
func heapOf(do func()) int {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	do()
	runtime.GC()
	runtime.ReadMemStats(&after)
	return int(after.HeapAlloc) - int(before.HeapAlloc)
}

// FuzzLimits: what is within the limits has at most so many values, however it is written.
func FuzzLimits(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":"\"\\"}],"a":[]}`))
	f.Add([]byte(`[[[1]]]`))
	f.Add([]byte("\"\\u00e4\xff\""))
	f.Fuzz(func(t *testing.T, text []byte) {
		var value any
		if err := limits.Unmarshal(text, &value); err != nil {
			if !isLimit(err) && json.Valid(text) {
				t.Errorf("%s: %v", text, err)
			}
			return
		}
		if depth, values, most := measure(t, text); depth > limits.Depth || values > limits.Values || most > limits.Items {
			t.Errorf("%s is within the limits: depth %d, %d values, at most %d in one", text, depth, values, most)
		}
	})
}

// measure counts with the decoder of the standard library.
func measure(t *testing.T, text []byte) (depth, values, most int) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	type open struct {
		object bool
		tokens int
	}
	var all []open
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return depth, values, most
		}
		if err != nil {
			t.Fatal(err)
		}
		delim, _ := token.(json.Delim)
		if delim == '}' || delim == ']' {
			last := all[len(all)-1]
			n := last.tokens
			if last.object {
				n /= 2
			}
			values, most, all = values+n, max(most, n), all[:len(all)-1]
			continue
		}
		if len(all) > 0 {
			all[len(all)-1].tokens++
		}
		if delim != 0 {
			all = append(all, open{object: delim == '{'})
			depth = max(depth, len(all))
		}
	}
}
