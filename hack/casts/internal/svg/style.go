package svg

import (
	"fmt"
	"strings"
)

// palette has the colors of a theme: the window's, its frame's, the text's, and the first eight of a terminal.
type palette struct {
	window, frame, text string
	colors              [8]string
}

var (
	day   = palette{"#fbfbfa", "#d0d3d8", "#24292f", [8]string{"#24292f", "#b3261e", "#1a7f37", "#8a5a00", "#0a58ca", "#8250df", "#0b7285", "#6e7781"}}
	night = palette{"#14181d", "#343b45", "#d7dce2", [8]string{"#5c6773", "#ff7b72", "#56d364", "#e3b341", "#79b8ff", "#d2a8ff", "#56d4dd", "#d7dce2"}}
)

func (p palette) css() string {
	var b strings.Builder
	fmt.Fprintf(&b, ".window{fill:%s;stroke:%s}.dot{fill:%s}text{fill:%s}.reverse{fill:%s}.r{fill:%s}", p.window, p.frame, p.frame, p.text, p.text, p.window)
	for i, color := range p.colors {
		fmt.Fprintf(&b, ".c%d,.c%d{fill:%s}", i, i+8, color)
	}
	return b.String()
}

// style returns the style sheet of a picture whose terminal has a height.
func style(c Cast, height int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `text{font:%dpx ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;white-space:pre}.b{font-weight:700}.f{opacity:.65}`, fontSize)
	b.WriteString(day.css())
	fmt.Fprintf(&b, "@media (prefers-color-scheme:dark){%s}", night.css())
	fmt.Fprintf(&b, ".film{transform:translateY(%dpx)}", -c.Still*height)
	total := lead + c.Frames[len(c.Frames)-1].At + pause
	fmt.Fprintf(&b, "@media (prefers-reduced-motion:no-preference){.film{animation:play %.1fs step-end infinite}}@keyframes play{0%%{transform:translateY(%dpx)}", total.Seconds(), -c.Still*height)
	for i, f := range c.Frames {
		fmt.Fprintf(&b, "%.4g%%{transform:translateY(%dpx)}", 100*(lead+f.At).Seconds()/total.Seconds(), -i*height)
	}
	b.WriteString("}")
	return b.String()
}
