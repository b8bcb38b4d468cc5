// Package docs checks the documents. With the tag e2e, it runs the commands of the README, the tutorial and the how-to
// guides on the cluster of KUBECONFIG, and compares their output with what the pages show. The operator must be
// installed. KUBECTL is the kubectl to use.
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
	// notRun is a comment that leaves out the block below it.
	notRun = regexp.MustCompile(`^<!--\s*not run`)
	// reason is the form that such a comment must have.
	reason = regexp.MustCompile(`^<!-- not run: .+ -->$`)
	// fence begins a block. Its groups are the indentation, the fence and the language.
	fence = regexp.MustCompile("^(\\s*)(```+|~~~+)(\\w*).*$")
	// inlineFence is a fence after other text, for example in a quotation or on the first line of a list item.
	inlineFence = regexp.MustCompile("(?:```|~~~)(?:sh|console|bash|shell)\\b")
	// shells are languages of commands that the pages must not use: such blocks would not be run.
	shells = regexp.MustCompile(`^(bash|shell|zsh|terminal)$`)
)

// read returns the commands of a page. It leaves out blocks below a comment `<!-- not run: REASON -->`, and runs the
// lines of a comment that begins with `<!-- run`, which a reader does not see.
func read(page string) ([]step, error) {
	text, err := os.ReadFile(page)
	if err != nil {
		return nil, err
	}
	steps, err := steps(strings.Split(string(text), "\n"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", page, err)
	}
	return steps, nil
}

// steps returns the commands in the lines of a page. A block that would neither run nor has a reason is an error.
func steps(lines []string) ([]step, error) {
	r := reader{lines: lines}
	for i := 0; i < len(lines); {
		next, err := r.read(i)
		if err != nil {
			return nil, err
		}
		i = next
	}
	if r.skip {
		return nil, fmt.Errorf("line %d: `not run` at the end of the page", len(lines))
	}
	return r.steps, nil
}

// reader collects the commands of a page.
type reader struct {
	lines []string
	steps []step
	// skip is true below a comment that leaves out the next block.
	skip bool
}

// read reads what begins at a line, and returns the index of the line after it.
func (r *reader) read(i int) (next int, err error) {
	line, opening := strings.TrimSpace(r.lines[i]), fence.FindStringSubmatch(r.lines[i])
	switch {
	case r.skip && (opening == nil || !hasCommands(opening[3])):
		return 0, fmt.Errorf("line %d: `not run` without a block of sh or console on the next line", i)
	case notRun.MatchString(line):
		if !reason.MatchString(line) {
			return 0, fmt.Errorf("line %d: write the reason on one line: <!-- not run: REASON -->", i+1)
		}
		r.skip = true
	case line == "<!-- run":
		end, err := r.until(i, "-->")
		if err != nil {
			return 0, err
		}
		r.steps = append(r.steps, step{line: i + 2, text: strings.Join(r.lines[i+1:end], "\n")})
		return end + 1, nil
	case opening != nil:
		return r.block(i, opening[1], opening[2], opening[3])
	case inlineFence.MatchString(line):
		return 0, fmt.Errorf("line %d: begin the block on a line of its own, outside of quotations", i+1)
	}
	return i + 1, nil
}

// block reads the block that begins at a line, and returns the index of the line after it.
func (r *reader) block(i int, indentation, fence, language string) (next int, err error) {
	end, err := r.until(i, fence)
	if err != nil {
		return 0, err
	}
	text := make([]string, 0, end-i)
	for _, line := range r.lines[i+1 : end] {
		text = append(text, strings.TrimPrefix(line, indentation))
	}
	if hasCommands(language) {
		found, err := parse(language, text, i+2)
		if err != nil {
			return 0, err
		}
		if !r.skip {
			r.steps = append(r.steps, found...)
		}
		r.skip = false
		return end + 1, nil
	}
	if shells.MatchString(language) {
		return 0, fmt.Errorf("line %d: use the language sh or console instead of %s", i+1, language)
	}
	for n, line := range text {
		if strings.HasPrefix(line, "$ ") {
			return 0, fmt.Errorf("line %d: a command in a block that is not of the language console", i+2+n)
		}
	}
	return end + 1, nil
}

// until returns the index of the first line after start that is end, whatever its indentation.
func (r *reader) until(start int, end string) (int, error) {
	for i := start + 1; i < len(r.lines); i++ {
		if strings.TrimSpace(r.lines[i]) == end {
			return i, nil
		}
	}
	return 0, fmt.Errorf("line %d: no %s ends it", start+1, end)
}

func hasCommands(language string) bool { return language == "sh" || language == "console" }

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
