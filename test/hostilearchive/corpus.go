// Package hostilearchive is a corpus of archives that a reader of backups must reject: damaged
// archives, and archives made to escape from a volume, to fill it, or to exhaust the reader. Use it
// to test any code that reads archives.
//
// The archives are made of raw blocks, because a library that writes tars would refuse to write most of
// them. Unless a case is about digests, its manifest and its commit record match the hostile content, so
// that only the rule under test can reject it.
package hostilearchive

import (
	"slices"

	"example.com/nginx-operator/internal/backup/archive"
)

// Case is an archive that must be rejected.
type Case struct {
	Name string
	// Build returns the archive and its commit record, the same ones every time.
	Build func() (text []byte, commit archive.Commit)
	// Want is part of the error message.
	Want string
	// Limits are the limits to read the archive with.
	Limits archive.Limits
}

// rule is a case in the tables.
type rule struct {
	name, want string
	edit       func(*build)
}

// Namespace is the namespace that tests of readers use. A restore reads only archives of its own namespace.
const Namespace = "shop"

// Corpus returns all cases, as archives of application web of a namespace.
func Corpus(namespace string) []Case {
	var cases []Case
	for _, r := range slices.Concat(pathRules, longRules, linkRules, typeRules, headerRules, orderRules, bombRules, streamRules, flipRules(), cutRules(), manifestRules, commitRules) {
		limits := archive.DefaultLimits()
		limits.Slack, limits.Ratio = 1<<20, 100
		cases = append(cases, Case{Name: r.name, Want: r.want, Limits: limits, Build: func() ([]byte, archive.Commit) {
			b := base(namespace)
			r.edit(b)
			return b.archive()
		}})
	}
	return cases
}

// Honest returns a valid archive of a namespace that is made like those of the corpus. A reader that rejects it
// would reject the others for the wrong reason.
func Honest(namespace string) ([]byte, archive.Commit) { return base(namespace).archive() }
