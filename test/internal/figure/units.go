package figure

import "time"

// MiB are mebibytes.
func MiB(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// Rate is how many of n things were done in a second.
func Rate(n int, took time.Duration) float64 { return float64(n) / took.Seconds() }

// Milliseconds is the share of one of n things in a time.
func Milliseconds(d time.Duration, n int) float64 { return 1000 * d.Seconds() / float64(n) }
