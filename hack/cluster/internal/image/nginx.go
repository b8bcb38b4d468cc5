package image

import (
	"context"
	"io"
)

// Nginx stub
func Nginx(ctx context.Context, out string, progress io.Writer) ([]string, error) { return nil, nil }
