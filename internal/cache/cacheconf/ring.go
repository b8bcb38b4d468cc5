package cacheconf

import (
	"fmt"
	"strings"
)

// RingSize returns how many shards a configuration of the edges sends requests to.
func RingSize(edge Files) int {
	return strings.Count(edge["edge.conf"], fmt.Sprintf(":%d resolve ", Port))
}
