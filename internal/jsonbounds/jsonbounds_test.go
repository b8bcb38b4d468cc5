package jsonbounds

import (
	"errors"
	"strings"
	"testing"
)

func TestDecode(t *testing.T) {
	limits := Limits{Bytes: 100, Elements: 10, Depth: 3}
	for name, tt := range map[string]struct {
		text string
		want error
	}{
		"within":                   {`{"a": [1, 2, 3], "b": {"c": "]}"}}`, nil},
		"as many as allowed":       {`[1,2,3,4,5,6,7,8,9,10]`, nil},
		"an element more":          {`[1,2,3,4,5,6,7,8,9,10,11]`, ErrElements},
		"empty objects":            {`[{},{},{},{},{},{}]`, ErrElements},
		"members":                  {`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"k":1}`, ErrElements},
		"as deep as allowed":       {`[[[1]]]`, nil},
		"a level more":             {`[[[[1]]]]`, ErrDepth},
		"brackets in a string":     {`"[[[[[[[[[[[[[[[[,,,,,,,,,,,,,,,,,"`, nil},
		"an escaped quote":         {`"\"[[[[[[[[[[[[[[[[,,,,,,,,,,,,,,,"`, nil},
		"an escaped backslash":     {`["\\",[[[1]]]]`, ErrDepth},
		"as long as allowed":       {`"` + strings.Repeat("a", 98) + `"`, nil},
		"a byte more":              {`"` + strings.Repeat("a", 99) + `"`, ErrBytes},
		"closed before it is open": {`]]]]]]]][[[[[[[[[[[[`, ErrElements},
	} {
		t.Run(name, func(t *testing.T) {
			var into any
			if err := Decode(strings.NewReader(tt.text), &into, limits); !errors.Is(err, tt.want) {
				t.Errorf("the error is %v, want %v", err, tt.want)
			}
		})
	}
}

// TestPieces: a text is counted the same in pieces.
func TestPieces(t *testing.T) {
	scan := NewScanner(Limits{Elements: 3, Depth: 9})
	for _, piece := range []string{`{"a\`, `",[": [`, `1`, `,2`} {
		if _, err := scan.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := scan.Write([]byte(`,`)); !errors.Is(err, ErrElements) {
		t.Errorf("the error is %v", err)
	}
}
