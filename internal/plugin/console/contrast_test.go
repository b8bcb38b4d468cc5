package console

import (
	"math"
	"regexp"
	"strconv"
	"testing"
)

// leastContrast is that of text at level AA (https://www.w3.org/TR/WCAG22/#contrast-minimum).
const leastContrast = 4.5

var (
	themePattern  = regexp.MustCompile(`(?m)^:root[^{]*\{[^}]*\}`)
	colourPattern = regexp.MustCompile(`--([a-z-]+): (#[0-9a-f]{6})`)
)

// TestContrast: texts can be read in both themes.
func TestContrast(t *testing.T) {
	css, err := embedded.ReadFile("assets/css/base.css")
	if err != nil {
		t.Fatal(err)
	}
	themes := themePattern.FindAllString(string(css), -1)
	if len(themes) != 2 {
		t.Fatalf("there are %d themes", len(themes))
	}
	for i, theme := range themes {
		colours := map[string]float64{}
		for _, m := range colourPattern.FindAllStringSubmatch(theme, -1) {
			colours[m[1]] = luminance(t, m[2])
		}
		for text, backgrounds := range map[string][]string{
			"text":  {"back", "card", "raised", "plus", "minus", "bad-soft", "warn-soft", "info-soft", "accent-soft"},
			"muted": {"back", "card", "raised", "bad-soft", "warn-soft", "info-soft", "accent-soft"},
			"good":  {"card", "good-soft", "plus"}, "bad": {"card", "bad-soft", "minus"}, "warn": {"back", "card", "warn-soft"}, "info": {"card", "info-soft"},
			"accent": {"card", "back"}, "accent-text": {"accent"},
		} {
			for _, background := range backgrounds {
				if c := contrast(colours[text], colours[background]); c < leastContrast {
					t.Errorf("theme %d: %s on %s has a contrast of %.2f", i, text, background, c)
				}
			}
		}
	}
}

// luminance is the relative luminance of a colour (https://www.w3.org/TR/WCAG22/#dfn-relative-luminance).
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		channel := float64(n) / 255
		if channel <= 0.04045 {
			channel /= 12.92
		} else {
			channel = math.Pow((channel+0.055)/1.055, 2.4)
		}
		sum += weight * channel
	}
	return sum
}

func contrast(a, b float64) float64 { return (max(a, b) + 0.05) / (min(a, b) + 0.05) }
