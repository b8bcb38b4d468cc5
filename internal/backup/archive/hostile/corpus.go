// Package hostile is a corpus of archives that a reader of backups has to refuse: damaged
// ones, and ones that somebody made to get out of a volume, to fill it, or to exhaust the
// reader. It is for tests of whatever reads archives.
//
// Each archive is made of raw blocks, since a library that writes tars would not write most
// of them. Where a case is not about digests, its manifest and its commit record are honest
// about what is wrong with it, so that nothing but the rule in question can refuse it.
package hostile

import (
	"slices"

	"example.com/nginx-operator/internal/backup/archive"
)

// Case is an archive that has to be refused.
type Case struct {
	Name string
	// Build makes the archive and its commit record, the same ones each time.
	Build func() (text []byte, commit archive.Commit)
	// Want is part of the error.
	Want string
	// Limits to read it with.
	Limits archive.Limits
}

// rule is a case as the tables have it.
type rule struct {
	name, want string
	edit       func(*build)
}

// Corpus are all cases.
func Corpus() []Case {
	var cases []Case
	for _, r := range slices.Concat(pathRules, longRules, linkRules, typeRules, headerRules, orderRules, bombRules, streamRules, flipRules(), cutRules(), manifestRules, commitRules) {
		limits := archive.DefaultLimits()
		limits.Slack, limits.Ratio = 1<<20, 100
		cases = append(cases, Case{Name: r.name, Want: r.want, Limits: limits, Build: func() ([]byte, archive.Commit) {
			b := base()
			r.edit(b)
			return b.archive()
		}})
	}
	return cases
}

// Honest is an archive with which nothing is wrong, made like those of the corpus: a reader
// that refuses it would refuse the others for a wrong reason.
func Honest() ([]byte, archive.Commit) { return base().archive() }
