package instanceapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/nginx-operator/internal/boundedjson"
)

// lied is a type of answer that pods lie in.
type lied struct {
	of     reflect.Type
	limits boundedjson.Limits
	// head begins a text in which any other field can follow.
	head   string
	decode func([]byte) (any, error)
}

func liedTypes() []lied {
	config := func(into func() any) func([]byte) (any, error) {
		return func(text []byte) (any, error) {
			value := into()
			err := ConfigAnswerLimits.Unmarshal(text, value)
			return reflect.ValueOf(value).Elem().Interface(), err
		}
	}
	return []lied{
		{reflect.TypeFor[Status](), AnswerLimits, `{"protocol":1`, func(text []byte) (any, error) { return DecodeStatus(text) }},
		{reflect.TypeFor[RequestWindow](), AnswerLimits, `{"requests":100`, func(text []byte) (any, error) { return DecodeWindow(text) }},
		{reflect.TypeFor[ServedConfig](), ConfigAnswerLimits, `{"x":0`, config(func() any { return new(ServedConfig) })},
		{reflect.TypeFor[ConfigTest](), ConfigAnswerLimits, `{"x":0`, config(func() any { return new(ConfigTest) })},
	}
}

// field is a field of an answer, or the items in one.
type field struct {
	path string
	of   reflect.Type
	// bounds are those of its tag that have not been used yet.
	bounds []int
	// before and after are the text around its value.
	before, after string
}

// fieldsOf returns the fields in a type. It fails the test for one without a bound.
func fieldsOf(t *testing.T, l lied) (found []field) {
	t.Helper()
	var walk func(f field)
	walk = func(f field) {
		found = append(found, f)
		switch f.of.Kind() {
		case reflect.Pointer:
			found = found[:len(found)-1]
			f.of = f.of.Elem()
			walk(f)
		case reflect.Struct:
			if f.of == reflect.TypeFor[time.Time]() {
				return
			}
			for each := range f.of.Fields() {
				name, _, _ := strings.Cut(each.Tag.Get("json"), ",")
				walk(field{f.path + "." + name, each.Type, tagOf(t, each), f.before + `{"` + name + `":`, "}" + f.after})
			}
		case reflect.Slice:
			needs(t, f, 1)
			if f.of.Elem().Kind() != reflect.Uint8 {
				walk(field{f.path + "[]", f.of.Elem(), f.bounds[1:], f.before + "[", "]" + f.after})
			}
		case reflect.Array:
			walk(field{f.path + "[]", f.of.Elem(), f.bounds, f.before + "[", "]" + f.after})
		case reflect.Map:
			needs(t, f, 2)
			walk(field{f.path + "{}", f.of.Elem(), f.bounds[2:], f.before + `{"k":`, "}" + f.after})
		case reflect.String:
			needs(t, f, 1)
		case reflect.Bool, reflect.Int, reflect.Int32, reflect.Int64:
		default:
			t.Fatalf("%s is a %s, which this test does not know: add its lies", f.path, f.of)
		}
	}
	for each := range l.of.Fields() {
		name, _, _ := strings.Cut(each.Tag.Get("json"), ",")
		walk(field{l.of.Name() + "." + name, each.Type, tagOf(t, each), l.head + `,"` + name + `":`, "}"})
	}
	return found
}

func needs(t *testing.T, f field, bounds int) {
	t.Helper()
	if len(f.bounds) < bounds {
		t.Fatalf("%s has no bound: add the tag %s", f.path, boundedjson.Tag)
	}
}

func tagOf(t *testing.T, f reflect.StructField) (bounds []int) {
	t.Helper()
	text, ok := f.Tag.Lookup(boundedjson.Tag)
	if !ok {
		return nil
	}
	for each := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(each)
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		bounds = append(bounds, n)
	}
	return bounds
}

// honest returns a value that the field can have.
func (f field) honest() string {
	switch f.of.Kind() {
	case reflect.String:
		return `"a"`
	case reflect.Bool:
		return "true"
	case reflect.Slice:
		if f.of.Elem().Kind() == reflect.Uint8 {
			return `"YQ=="`
		}
		return "[" + (field{of: f.of.Elem()}).honest() + "]"
	case reflect.Array:
		return "[1]"
	case reflect.Map:
		return `{"k":` + (field{of: f.of.Elem()}).honest() + "}"
	case reflect.Struct:
		if f.of == reflect.TypeFor[time.Time]() {
			return `"2026-11-21T12:00:00Z"`
		}
		return "{}"
	case reflect.Pointer:
		return (field{of: f.of.Elem()}).honest()
	default:
		return "1"
	}
}

// lies returns lies about a field, by what is wrong.
func (f field) lies(l lied) map[string]string {
	all := map[string]string{
		"null": "null", "a number": "7", "a text": `"text"`, "true": "true", "an object": `{"a":{}}`, "a list": `[{}]`,
		"the greatest number": "9223372036854775807", "the least number": "-9223372036854775808", "beyond numbers": "1e999", "a fraction": "1.5",
		"a long number": strings.Repeat("9", 10*l.limits.String), "deep lists": strings.Repeat("[", 10*l.limits.Depth) + strings.Repeat("]", 10*l.limits.Depth),
		"deep objects": strings.Repeat(`{"a":`, 10*l.limits.Depth) + "0" + strings.Repeat("}", 10*l.limits.Depth),
	}
	all["many items"] = "[" + strings.Repeat("0,", 10*l.limits.Items) + "0]"
	all["a long text"] = `"` + strings.Repeat("x", 10*l.limits.String) + `"`
	if f.of.Kind() == reflect.Struct && f.of != reflect.TypeFor[time.Time]() {
		all["duplicate unknown fields"] = "{" + strings.Repeat(`"x":[{}],`, 10*l.limits.Items) + `"x":0}`
		return all
	}
	if len(f.bounds) == 0 {
		return all
	}
	n := 10 * f.bounds[0]
	switch f.of.Kind() {
	case reflect.String:
		for name, unit := range map[string]string{"ten times the bytes": "x", "controls": `\u0000`, "raw controls": "\x01", "line breaks": `\n`, "invalid UTF-8": "\xff", "accents": "é"} {
			all[name] = `"` + strings.Repeat(unit, n) + `"`
		}
	case reflect.Slice:
		if f.of.Elem().Kind() == reflect.Uint8 {
			all["ten times the bytes"] = `"` + strings.Repeat("QUFB", n/3) + `"`
			break
		}
		item := (field{of: f.of.Elem()}).honest()
		all["ten times the items"] = "[" + strings.Repeat(item+",", n-1) + item + "]"
		all["items that are null"] = "[" + strings.Repeat("null,", n-1) + "null]"
	case reflect.Map:
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf("%q:%s", fmt.Sprint(i), (field{of: f.of.Elem()}).honest()))
		}
		all["ten times the items"] = "{" + strings.Join(names, ",") + "}"
		all["a name of ten times the bytes"] = `{"` + strings.Repeat("x", 10*f.bounds[1]) + `":` + (field{of: f.of.Elem()}).honest() + "}"
	default:
		// The items of an array have no bound of their own.
	}
	return all
}

// exceeds are the lies that exceed a limit of the whole text, with what the error names.
var exceeds = map[string]string{
	"a long number": "bytes", "a long text": "bytes", "deep lists": "nested", "deep objects": "nested", "many items": "items", "duplicate unknown fields": "items",
}

// TestBoundaries: a pod that lies in any one field of an answer is refused, with what is wrong, or believed within the bound of
// the field, and takes little memory.
func TestBoundaries(t *testing.T) {
	for _, l := range liedTypes() {
		empty, err := l.decode([]byte(l.head + "}"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range fieldsOf(t, l) {
			t.Run(f.path, func(t *testing.T) {
				if got, err := l.decode([]byte(f.before + f.honest() + f.after)); err != nil || f.path != "Status.protocol" && f.honest() != "{}" && reflect.DeepEqual(got, empty) {
					t.Fatalf("the truth is not believed: %v", err)
				}
				for name, lie := range f.lies(l) {
					checkLie(t, l, f, name, f.before+lie+f.after)
				}
				// A field that is there again replaces, or is added to, the first one.
				doubled := strings.TrimSuffix(f.before, "}") + f.honest() + f.after
				again := doubled[:len(doubled)-1] + strings.Repeat(","+doubled[len(l.head)+1:len(doubled)-1], 10*l.limits.Items) + "}"
				checkLie(t, l, f, "duplicate fields", again)
			})
		}
	}
}

func checkLie(t *testing.T, l lied, f field, name, text string) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := l.decode([]byte(text))
	runtime.ReadMemStats(&after)
	// The text itself is copied once.
	if allocated := int(after.TotalAlloc-before.TotalAlloc) - len(text); allocated > 8*l.limits.Bytes {
		t.Errorf("%s: %d bytes were allocated", name, allocated)
	}
	exceeded, limit, wrong := exceeds[name], (*boundedjson.LimitError)(nil), (*json.UnmarshalTypeError)(nil)
	if name == "duplicate fields" {
		exceeded = "than"
	}
	switch {
	case exceeded != "" && (!errors.As(err, &limit) || !strings.Contains(err.Error(), exceeded)):
		t.Errorf("%s: error %v, want one that names the %s", name, err, exceeded)
	case errors.As(err, &wrong):
		if last := f.path[strings.LastIndex(f.path, ".")+1:]; !strings.Contains(wrong.Field, strings.TrimRight(last, "[]{}")) {
			t.Errorf("%s: %v does not name %s", name, err, last)
		}
	case err == nil:
		checkWithin(t, f.path+": "+name, reflect.ValueOf(got), nil)
		if size := boundedjson.Size(got); size > 2*l.limits.Bytes {
			t.Errorf("%s: %d bytes are kept", name, size)
		}
		if _, err := json.Marshal(got); err != nil {
			t.Errorf("%s: it cannot be written again: %v", name, err)
		}
	case len(err.Error()) > 1000:
		t.Errorf("%s: the error has %d bytes", name, len(err.Error()))
	}
}

// checkWithin fails the test if something in a value exceeds the bounds of its field.
func checkWithin(t *testing.T, path string, v reflect.Value, bounds []int) {
	t.Helper()
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			checkWithin(t, path, v.Elem(), bounds)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				checkWithin(t, path, v.Field(i), tagOf(t, f))
			}
		}
	case reflect.String, reflect.Slice, reflect.Map:
		if v.Len() > bounds[0] {
			t.Errorf("%s: %d items or bytes, want at most %d", path, v.Len(), bounds[0])
		}
		checkItems(t, path, v, bounds)
	default:
	}
}

func checkItems(t *testing.T, path string, v reflect.Value, bounds []int) {
	t.Helper()
	switch {
	case v.Kind() == reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			checkWithin(t, path, entries.Key(), bounds[1:2])
			checkWithin(t, path, entries.Value(), bounds[2:])
		}
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8:
		for i := range v.Len() {
			checkWithin(t, path, v.Index(i), bounds[1:])
		}
	}
}

// TestBoundariesOfBytes: of an answer that is ten times too long, no more than the bound is read.
func TestBoundariesOfBytes(t *testing.T) {
	for _, l := range liedTypes() {
		for _, begin := range []string{strings.Repeat(" ", 10*l.limits.Bytes) + l.head, l.head + "}" + strings.Repeat(" ", 10*l.limits.Bytes)} {
			limit := (*boundedjson.LimitError)(nil)
			if _, err := l.decode([]byte(begin + "}")); !errors.As(err, &limit) || limit.Limit != l.limits.Bytes {
				t.Errorf("%s: error %v, want one that names %d bytes", l.of.Name(), err, l.limits.Bytes)
			}
			from := strings.NewReader(begin)
			if _, err := l.limits.Read(from); !errors.As(err, &limit) || len(begin)-from.Len() > l.limits.Bytes+1 {
				t.Errorf("%s: %d bytes were read (%v)", l.of.Name(), len(begin)-from.Len(), err)
			}
		}
	}
}

// TestBoundariesOfRefusals: whatever a pod answers instead of a reason, the error is short, and names the status only.
func TestBoundariesOfRefusals(t *testing.T) {
	signed := sign(t, currentKey, nextOrder(receiver, requested), nil)
	for name, text := range map[string]string{
		"ten times the bytes": strings.Repeat("x", 10*MaxRefusal), "a reason and more": string(Busy) + strings.Repeat(" ", 10*MaxRefusal) + "x",
		"controls": "\x00\x1b[2J", "two reasons": "Busy Busy", "another case": "busy", "JSON": `{"refusal":"Busy"}`, "null": "null", "nothing": "", "invalid UTF-8": "\xff",
	} {
		client := clientOf(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusConflict)
			_, _ = w.Write([]byte(text))
		})
		_, err := client.Order(t.Context(), podIP, signed)
		refused := (*RefusedError)(nil)
		if err == nil || len(err.Error()) > 200 || !strings.Contains(err.Error(), "409") != (name == "a reason and more") {
			t.Errorf("%s: error %v", name, err)
		}
		if errors.As(err, &refused) != (name == "a reason and more") {
			t.Errorf("%s: refused as %+v", name, refused)
		}
	}
}

// TestBoundariesOfMountedFiles: users who can change ConfigMaps cannot use up the memory of process 1 with the trust file or
// the purges.
func TestBoundariesOfMountedFiles(t *testing.T) {
	const object = 1 << 20 // the API server accepts no larger ConfigMap
	repeated := func(head, text, tail string, most int) string {
		return head + strings.Repeat(text, (most-len(head)-len(tail))/len(text)) + tail
	}
	trust := func(text string) error { _, err := ParseTrust(text); return err }
	purges := func(text string) error { _, err := ParsePurges([]byte(text)); return err }
	for name, tt := range map[string]struct {
		parse func(string) error
		text  string
	}{
		"keys":            {trust, repeated(`{"keys":[`, `{},`, `{}]}`, 200<<10)},
		"pods":            {trust, repeated(`{"follow":{"pods":[`, `"",`, `""]}}`, 200<<10)},
		"a long file":     {trust, repeated(`{"application":{"uid":"`, `x`, `"}}`, object)},
		"a long name":     {trust, repeated(`{"application":{"uid":"`, `x`, `"}}`, 200<<10)},
		"deep":            {trust, repeated(`{"x":`, `[`, ``, 200<<10)},
		"purges":          {purges, repeated(`{"purges":[`, `{},`, `{}]}`, MaxPurges)},
		"targets":         {purges, repeated(`{"purges":[{"targets":[`, `{},`, `{}]}]}`, MaxPurges)},
		"tags":            {purges, repeated(`{"purges":[{"tags":[`, `"",`, `""]}]}`, MaxPurges)},
		"deep purges":     {purges, repeated(`{"purges":`, `[`, ``, MaxPurges)},
		"too many purges": {purges, repeated(`{"purges":[`, `{},`, `{}]}`, object)},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := tt.parse(tt.text)
		runtime.ReadMemStats(&after)
		if limit := (*boundedjson.LimitError)(nil); !errors.As(err, &limit) {
			t.Errorf("%s: error %v, want a limit", name, err)
		}
		if allocated := int(after.TotalAlloc-before.TotalAlloc) - len(tt.text); allocated > 256<<10 {
			t.Errorf("%s: %d bytes were allocated", name, allocated)
		}
	}
}

// TestLargestMountedFiles: the limits admit what the operator writes.
func TestLargestMountedFiles(t *testing.T) {
	trust := Trust{Application: Application{Namespace: strings.Repeat("n", 63), Name: strings.Repeat("a", 253), UID: strings.Repeat("u", 36)}, Follow: &Follow{Revision: "r1", Number: 1}}
	for range maxKeys {
		trust.Keys = append(trust.Keys, NewPublicKey(publicOf(currentKey)))
	}
	for range 1000 {
		trust.Follow.Pods = append(trust.Follow.Pods, strings.Repeat("u", 36))
	}
	if text, err := trust.Text(); err != nil {
		t.Error(err)
	} else if _, err := ParseTrust(text); err != nil {
		t.Error(err)
	}
	var purges Purges
	const shortest = len(`{"number":1000000000000,"all":true},`)
	for n := range (MaxPurges - 20) / shortest {
		purges.List = append(purges.List, Purge{Number: 1e12 + int64(n), All: true})
	}
	text, err := purges.Text()
	if err != nil || len(text) < MaxPurges-shortest {
		t.Fatalf("%d bytes (%v)", len(text), err)
	}
	if _, err := ParsePurges(text); err != nil {
		t.Error(err)
	}
}
