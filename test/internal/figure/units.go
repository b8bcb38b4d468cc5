package figure

import "time"

// MiB converts bytes to mebibytes.
func MiB(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// Rate returns how many of n things were done per second.
func Rate(n int, took time.Duration) float64 { return float64(n) / took.Seconds() }

// Milliseconds returns the time per thing, in milliseconds, if n things took d.
func Milliseconds(d time.Duration, n int) float64 { return 1000 * d.Seconds() / float64(n) }
