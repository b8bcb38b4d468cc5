// Command figures checks that every table of figures in the documents names the commits that they were measured on, and
// that none of these is more than one release behind.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// pages are the documents with figures.
var pages = []string{"docs/performance.md", "docs/reliability.md", "docs/results/performance.md", "docs/results/reliability.md"}

// kept is how many releases figures are kept for: those of the one before the newest are still valid.
const kept = 2

func main() {
	if err := run(context.Background(), "."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root string) error {
	history, err := readHistory(ctx, root)
	if err != nil {
		return err
	}
	var errs []error
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			return err
		}
		for _, s := range sections(string(text)) {
			if err := history.check(s); err != nil {
				errs = append(errs, fmt.Errorf("%s: %q: %w", page, s.title, err))
			}
		}
	}
	return errors.Join(errs...)
}

// section is a part of a document with figures.
type section struct {
	title string
	// commits are those that it names, abbreviated.
	commits []string
}

var (
	heading  = regexp.MustCompile(`(?m)^#+ (.+)$`)
	row      = regexp.MustCompile(`(?m)^\|.*\|.*\d`)
	measured = regexp.MustCompile(`(?m)^Measured on ((?:[0-9a-f]{7,40}(?:,\s)?)+)\.$`)
)

// sections returns the sections of a page that have a table with figures.
func sections(page string) []section {
	var all []section
	starts := heading.FindAllStringSubmatchIndex(page, -1)
	for i, at := range starts {
		end := len(page)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		text := page[at[1]:end]
		if !row.MatchString(text) {
			continue
		}
		s := section{title: page[at[2]:at[3]]}
		for _, line := range measured.FindAllStringSubmatch(text, -1) {
			s.commits = append(s.commits, strings.Fields(strings.ReplaceAll(line[1], ",", " "))...)
		}
		all = append(all, s)
	}
	return all
}

// history is what is known of the repository's commits.
type history struct {
	// commits are the hashes of all commits, the newest first.
	commits []string
	// valid is the number of commits since the oldest release for which figures are kept.
	valid int
	// partial reports whether older commits are missing, as in a clone with --depth.
	partial bool
}

func readHistory(ctx context.Context, root string) (history, error) {
	commits, err := lines(ctx, root, "log", "--format=%H")
	if err != nil {
		return history{}, err
	}
	releases, err := lines(ctx, root, "log", "--format=%H", "--", "VERSION")
	if err != nil {
		return history{}, err
	}
	shallow, err := lines(ctx, root, "rev-parse", "--is-shallow-repository")
	if err != nil {
		return history{}, err
	}
	h := history{commits: commits, valid: len(commits), partial: slices.Contains(shallow, "true")}
	if len(releases) >= kept {
		h.valid = slices.Index(commits, releases[kept-1])
	}
	return h, nil
}

func lines(ctx context.Context, root string, arguments ...string) ([]string, error) {
	command := exec.CommandContext(ctx, "git", append([]string{"-C", root}, arguments...)...)
	text, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w", strings.Join(arguments, " "), err)
	}
	return strings.Fields(string(text)), nil
}

// check returns why the figures of a section are not up to date; nil if they are.
func (h history) check(s section) error {
	if len(s.commits) == 0 {
		return errors.New(`it has figures and names no commit: add the line "Measured on 1a2b3c4."`)
	}
	for _, commit := range s.commits {
		switch age := slices.IndexFunc(h.commits, func(hash string) bool { return strings.HasPrefix(hash, commit) }); {
		case age < 0 && h.partial:
		case age < 0:
			return fmt.Errorf("%s is no commit of this branch", commit)
		case age > h.valid:
			return fmt.Errorf("%s is more than one release behind: measure again", commit)
		}
	}
	return nil
}
