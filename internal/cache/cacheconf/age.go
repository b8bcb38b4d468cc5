package cacheconf

import (
	"fmt"
	"strings"
)

// ageDigits is the number of decimal digits of an age in seconds: about 3 years.
const ageDigits = 8

// age is the data of the template of the Age header.
type age struct {
	// Times matches the last digits of the time now and of another time, into one variable for each digit.
	Times string
	// Digits are the numbers of the digits, the lowest first; Reversed are the same, the highest first.
	Digits, Reversed []int
	// Subtractions is the table of the subtraction of one digit.
	Subtractions []subtraction
}

// subtraction is that of one digit: Of is a digit of now, a digit of then, and whether the digit before has borrowed.
type subtraction struct {
	Of             string
	Digit, Borrows int
}

// newAge returns the data of the subtraction of two times. nginx has no arithmetic, but maps.
func newAge() age {
	var now, then strings.Builder
	a := age{}
	for n := ageDigits - 1; n >= 0; n-- {
		fmt.Fprintf(&now, `(?<cache_now_%d>\d)`, n)
		fmt.Fprintf(&then, `(?<cache_then_%d>\d)`, n)
		a.Reversed = append(a.Reversed, n)
		a.Digits = append([]int{n}, a.Digits...)
	}
	a.Times = `^\d*` + now.String() + `\.\d+ \d*` + then.String() + `$`
	for now := range 10 {
		for then := range 10 {
			for borrowed := range 2 {
				s := subtraction{Of: fmt.Sprintf("%d%d%d", now, then, borrowed), Digit: (10 + now - then - borrowed) % 10}
				if now < then+borrowed {
					s.Borrows = 1
				}
				a.Subtractions = append(a.Subtractions, s)
			}
		}
	}
	return a
}
