//go:build e2e

package docs

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// step is one command of a page, with the output that the page shows.
type step struct {
	// line is the line of the page where the command starts.
	line int
	text string
	// output is what the page shows below the command; nil: it shows nothing, and any output will do.
	output []string
}

var (
	notRun = regexp.MustCompile(`^<!-- not run: .+ -->$`)
	fence  = regexp.MustCompile("^```(sh|console)$")
)

// read returns the commands of a page. It leaves out blocks below a comment `<!-- not run: REASON -->`, and runs the
// lines of a comment that begins with `<!-- run`, which a reader does not see.
func read(page string) ([]step, error) {
	text, err := os.ReadFile(page)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(string(text), "\n")
	var steps []step
	skip := false
	for i := 0; i < len(lines); i++ {
		language := fence.FindStringSubmatch(lines[i])
		switch {
		case notRun.MatchString(lines[i]):
			skip = true
		case lines[i] == "<!-- run":
			end := until(lines, i, "-->")
			steps = append(steps, step{line: i + 2, text: strings.Join(lines[i+1:end], "\n")})
			i = end
		case language != nil:
			end := until(lines, i, "```")
			if !skip {
				found, err := parse(language[1], lines[i+1:end], i+2)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", page, err)
				}
				steps = append(steps, found...)
			}
			i, skip = end, false
		}
	}
	return steps, nil
}

// until returns the index of the first line after start that is end.
func until(lines []string, start int, end string) int {
	for i := start + 1; i < len(lines); i++ {
		if lines[i] == end {
			return i
		}
	}
	return len(lines)
}

// parse splits a block into its commands. A block of the language sh is one command without output. In a block of the
// language console, commands begin with "$ ", go on after a backslash, and are followed by their output.
func parse(language string, lines []string, first int) ([]step, error) {
	if language == "sh" {
		return []step{{line: first, text: strings.Join(lines, "\n")}}, nil
	}
	var steps []step
	for i, line := range lines {
		command, isCommand := strings.CutPrefix(line, "$ ")
		switch {
		case isCommand:
			steps = append(steps, step{line: first + i, text: command})
		case len(steps) == 0:
			return nil, fmt.Errorf("line %d: output without a command", first+i)
		case strings.HasSuffix(steps[len(steps)-1].text, "\\"):
			steps[len(steps)-1].text += "\n" + line
		default:
			steps[len(steps)-1].output = append(steps[len(steps)-1].output, line)
		}
	}
	return steps, nil
}

// volatile is what differs from run to run, and what takes its place in a comparison.
var volatile = []struct {
	pattern *regexp.Regexp
	mask    string
}{
	{regexp.MustCompile(`\b[0-9a-f]{16}\b`), "HASH"},
	{regexp.MustCompile(`\b(hello|proxy|instance|web|first)-[0-9a-f]{8,10}(-[0-9a-z]{5})?\b`), "$1-POD"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "TIME"},
	{regexp.MustCompile(`\b(\d+[dhms]){1,2}\b`), "AGE"},
	{regexp.MustCompile(`\b\d{1,3}(\.\d{1,3}){3}\b`), "ADDRESS"},
	{regexp.MustCompile(`\b\d+(\.\d+)?(Ki|Mi)?\b( +AGE)$`), "SIZE$3"},
	{regexp.MustCompile(`\bnode-\d\b`), "NODE"},
	{regexp.MustCompile(` +`), " "},
}

func mask(line string) string {
	for _, v := range volatile {
		line = v.pattern.ReplaceAllString(line, v.mask)
	}
	return strings.TrimSpace(line)
}

// differs reports whether the output of a command is not what the page shows. In the page, "…" stands for any text.
func differs(shown []string, output string) bool {
	var patterns []string
	for _, line := range shown {
		patterns = append(patterns, strings.ReplaceAll(regexp.QuoteMeta(mask(line)), "…", ".*"))
	}
	var lines []string
	for line := range strings.SplitSeq(strings.TrimRight(output, "\n"), "\n") {
		lines = append(lines, mask(line))
	}
	return !regexp.MustCompile(`^` + strings.Join(patterns, "\n") + `$`).MatchString(strings.Join(lines, "\n"))
}
