package instanceapi

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Contents are the files of configurations by revision, and by name.
type Contents map[string]map[string]string

// encodedContents are Contents in JSON: base64, because JSON escapes control characters with six bytes, and replaces
// bytes that are not UTF-8.
type encodedContents map[string]map[string][]byte

// EncodeContents returns the body of an order: the contents as JSON with base64, compressed with gzip.
func EncodeContents(c Contents) ([]byte, error) {
	var body bytes.Buffer
	writer, err := gzip.NewWriterLevel(&body, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	if err := json.NewEncoder(writer).Encode(c.encoded()); err != nil {
		return nil, fmt.Errorf("encode the contents of an order: %w", err)
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return body.Bytes(), nil
}

func (c Contents) encoded() encodedContents {
	encoded := make(encodedContents, len(c))
	for revision, files := range c {
		encoded[revision] = make(map[string][]byte, len(files))
		for name, text := range files {
			encoded[revision][name] = []byte(text)
		}
	}
	return encoded
}

// DecodeContents returns the contents in the body of an order, whose JSON may have MaxContents bytes.
func DecodeContents(body []byte) (Contents, error) {
	reader, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("decompress the contents of an order: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(reader, MaxContents+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("decompress the contents of an order: %w", err)
	case len(text) > MaxContents:
		return nil, fmt.Errorf("the contents of an order are longer than %d bytes", MaxContents)
	}
	var encoded encodedContents
	if err := json.Unmarshal(text, &encoded); err != nil {
		return nil, errors.New("the contents of an order are not JSON with base64")
	}
	return encoded.decoded(), nil
}

func (e encodedContents) decoded() Contents {
	c := make(Contents, len(e))
	for revision, files := range e {
		c[revision] = make(map[string]string, len(files))
		for name, text := range files {
			c[revision][name] = string(text)
		}
	}
	return c
}
