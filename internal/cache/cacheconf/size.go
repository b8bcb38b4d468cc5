package cacheconf

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"example.com/nginx-operator/api/cache/v1alpha1"
)

// defaultMaxObjectSize is the default of spec.defaults.maxObjectSize.
const defaultMaxObjectSize = 1 << 30

// minSlice is the size of the smallest slices. Each costs a request and a key.
const minSlice = 64 << 10

// validateSizes returns why the sizes of objects and slices cannot be used; nil if they can.
func validateSizes(spec v1alpha1.NginxCacheSpec) error {
	if q := spec.Defaults.MaxObjectSize; q != nil && q.Sign() <= 0 {
		return fmt.Errorf("spec.defaults.maxObjectSize is %s: it must be more than 0", q)
	}
	if err := validateSlice("spec.defaults.slice", spec.Defaults.Slice); err != nil {
		return err
	}
	for i, r := range spec.Rules {
		if err := validateSlice(fmt.Sprintf("spec.rules[%d].slice", i), r.Slice); err != nil {
			return err
		}
	}
	return nil
}

func validateSlice(field string, q *resource.Quantity) error {
	if n := byteCount(q); n != 0 && n < minSlice {
		return fmt.Errorf("%s is %s: it must be at least 64Ki, or 0 for whole objects", field, q)
	}
	return nil
}

// sliceSizes returns the sizes of slices that a cache has, without 0, in their order.
func sliceSizes(spec v1alpha1.NginxCacheSpec) []int64 {
	sizes := []int64{byteCount(spec.Defaults.Slice)}
	for _, r := range spec.Rules {
		sizes = append(sizes, byteCount(r.Slice))
	}
	slices.Sort(sizes)
	return slices.DeleteFunc(slices.Compact(sizes), func(n int64) bool { return n == 0 })
}

func byteCount(q *resource.Quantity) int64 {
	if q == nil {
		return 0
	}
	return q.Value()
}

// maxObjectSize returns the size of the largest objects that are stored, in bytes.
func maxObjectSize(d v1alpha1.Defaults) int64 {
	return cmp.Or(byteCount(d.MaxObjectSize), defaultMaxObjectSize)
}

// greaterThan returns a regular expression for the decimal numbers that are greater than n: nginx compares no numbers.
func greaterThan(n int64) string {
	digits := strconv.FormatInt(n, 10)
	// A number with more digits is greater, and one with as many, if its first digit that differs is.
	greater := []string{fmt.Sprintf(`[1-9]\d{%d,}`, len(digits))}
	for i, digit := range digits {
		if digit == '9' {
			continue
		}
		greater = append(greater, fmt.Sprintf(`%s[%c-9]\d{%d}`, digits[:i], digit+1, len(digits)-i-1))
	}
	return `^0*(?:` + strings.Join(greater, "|") + `)$`
}
