package browser

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"slices"
)

// mostColours is the number of colours of a small picture: the index of one fits into a byte.
const mostColours = 256

// Shrink encodes a PNG again with its most frequent colours, which is a third of the size. A page has few others.
func Shrink(picture []byte) ([]byte, error) {
	decoded, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, fmt.Errorf("decode a screenshot: %w", err)
	}
	palette := frequent(decoded)
	small := image.NewPaletted(decoded.Bounds(), palette)
	nearest := map[color.Color]uint8{}
	each(decoded, func(x, y int, c color.Color) {
		index, known := nearest[c]
		if !known {
			index = uint8(palette.Index(c))
			nearest[c] = index
		}
		small.SetColorIndex(x, y, index)
	})
	var out bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, small)
	return out.Bytes(), err
}

// frequent returns the most frequent colours of a picture.
func frequent(picture image.Image) color.Palette {
	count := map[color.Color]int{}
	each(picture, func(_, _ int, c color.Color) { count[c]++ })
	colours := slices.SortedFunc(maps.Keys(count), func(a, b color.Color) int { return cmp.Compare(count[b], count[a]) })
	return colours[:min(len(colours), mostColours)]
}

// each calls do for each pixel.
func each(picture image.Image, do func(x, y int, c color.Color)) {
	bounds := picture.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			do(x, y, picture.At(x, y))
		}
	}
}
