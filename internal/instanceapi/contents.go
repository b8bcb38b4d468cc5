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

// EncodeContents returns the body of an order: the contents as JSON, compressed with gzip.
func EncodeContents(c Contents) ([]byte, error) {
	var body bytes.Buffer
	writer, err := gzip.NewWriterLevel(&body, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	encoder := json.NewEncoder(writer)
	// Escaped for HTML, a configuration of angle brackets would be longer than MaxContents.
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(c); err != nil {
		return nil, fmt.Errorf("encode the contents of an order: %w", err)
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return body.Bytes(), nil
}

// DecodeContents returns the contents in the body of an order, which may have MaxContents bytes.
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
	var c Contents
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, errors.New("the contents of an order are not JSON")
	}
	return c, nil
}
