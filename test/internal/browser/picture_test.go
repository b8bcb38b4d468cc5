package browser

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"testing"
)

// picture has rare colours in a corner, and two frequent ones.
func picture(t *testing.T) []byte {
	t.Helper()
	p := image.NewRGBA(image.Rect(0, 0, 60, 20))
	for x := range 60 {
		for y := range 20 {
			p.Set(x, y, color.RGBA{R: uint8(255 * (x % 2)), A: 255})
			if x < 16 && y < 19 {
				p.Set(x, y, color.RGBA{G: uint8(100 + x), B: uint8(100 + y), A: 255})
			}
		}
	}
	var encoded bytes.Buffer
	if err := png.Encode(&encoded, p); err != nil {
		t.Fatal(err)
	}
	return encoded.Bytes()
}

func TestShrink(t *testing.T) {
	small, err := Shrink(picture(t))
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := png.Decode(bytes.NewReader(small))
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := decoded.(*image.Paletted); !ok || len(p.Palette) != mostColours {
		t.Errorf("the picture is %T", decoded)
	}
	if r, g, b, _ := decoded.At(59, 19).RGBA(); r != 0xffff || g != 0 || b != 0 {
		t.Errorf("a frequent colour has become %x %x %x", r, g, b)
	}
	if _, err := Shrink([]byte("no picture")); err == nil {
		t.Error("no picture is shrunk")
	}
}
