package importset

import (
	"regexp/syntax"
	"strings"
)

// maxSamples bounds the samples of a regular expression.
const maxSamples = 6

// Samples returns texts that match a regular expression of nginx: one for each alternative, up to a bound. It returns
// none for an expression that only PCRE knows, such as one that looks ahead.
func Samples(expression string) []string {
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil
	}
	return samplesOf(parsed.Simplify())
}

func samplesOf(r *syntax.Regexp) []string {
	switch r.Op {
	case syntax.OpLiteral:
		return []string{string(r.Rune)}
	case syntax.OpCharClass:
		return []string{classSample(r.Rune)}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return []string{"x"}
	case syntax.OpCapture, syntax.OpPlus, syntax.OpStar, syntax.OpQuest, syntax.OpRepeat:
		return samplesOf(r.Sub[0])
	case syntax.OpConcat:
		return concatSamples(r.Sub)
	case syntax.OpAlternate:
		var all []string
		for _, sub := range r.Sub {
			all = append(all, samplesOf(sub)...)
		}
		return all[:min(len(all), maxSamples)]
	default: // the beginning, the end, or nothing
		return []string{""}
	}
}

// classSample returns a letter of a class if it has one, or else its first character.
func classSample(ranges []rune) string {
	for _, c := range "ax0-_./" {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= c && c <= ranges[i+1] {
				return string(c)
			}
		}
	}
	if len(ranges) == 0 {
		return ""
	}
	return string(ranges[0])
}

// concatSamples joins the samples of the parts: as many as the part with the most has.
func concatSamples(parts []*syntax.Regexp) []string {
	most := 1
	var each [][]string
	for _, part := range parts {
		samples := samplesOf(part)
		if len(samples) == 0 {
			return nil
		}
		each, most = append(each, samples), max(most, len(samples))
	}
	var all []string
	for i := range most {
		var b strings.Builder
		for _, samples := range each {
			b.WriteString(samples[i%len(samples)])
		}
		all = append(all, b.String())
	}
	return all
}
