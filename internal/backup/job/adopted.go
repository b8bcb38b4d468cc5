package job

import (
	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/archive"
)

// Adopted is what a record and its archive tell of a backup: of one that is written, the
// operator knows it already.
type Adopted struct {
	// Info is that of the record, without lists, and within the bounds of a status.
	Info archive.Info `json:"info"`
	// Contents name what is in the archive, as far as there is room.
	Contents v1alpha1.BackupContents `json:"contents"`
}

// Bounds of a status, in bytes and items.
const (
	wordLimit   = 60
	imageLimit  = 500
	reasonLimit = 1000
	nameLimit   = 253
	namesLimit  = 64
)

// NewAdopted makes a record fit for a status.
func NewAdopted(info archive.Info, contents v1alpha1.BackupContents) *Adopted {
	info.Secrets, info.Content, info.Recipients = nil, nil, nil
	for text, limit := range map[*string]int{
		&info.UID: wordLimit, &info.Application.UID: wordLimit, &info.Application.State: wordLimit,
		&info.ConfigRevision: wordLimit, &info.ServedRevision: wordLimit, &info.OperatorVersion: wordLimit, &info.NginxVersion: wordLimit,
		&info.Image: imageLimit, &info.ImageDigest: imageLimit, &info.Reason: reasonLimit,
	} {
		*text = clip(*text, limit)
	}
	a := &Adopted{Info: info, Contents: contents}
	for _, list := range a.lists() {
		*list = bounded(*list)
	}
	return a
}

// bounded are the names that can be in a status.
func bounded(names []string) []string {
	var kept []string
	for _, name := range names {
		if len(name) <= nameLimit && len(kept) < namesLimit {
			kept = append(kept, name)
		}
	}
	return kept
}

func (a *Adopted) lists() []*[]string {
	c := &a.Contents
	return []*[]string{&c.EncryptedSecrets, &c.Secrets, &c.ConfigMaps, &c.Claims}
}

// shorten leaves out half of the longest list, or else of the longest text. It tells whether
// there was anything left.
func (a *Adopted) shorten() bool {
	if a == nil {
		return false
	}
	longest := a.lists()[0]
	for _, list := range a.lists() {
		if len(*list) > len(*longest) {
			longest = list
		}
	}
	if n := len(*longest); n > 0 {
		*longest = (*longest)[:n/2]
		return true
	}
	text := &a.Info.Reason
	for _, other := range []*string{&a.Info.Image, &a.Info.ImageDigest} {
		if len(*other) > len(*text) {
			text = other
		}
	}
	if *text == "" {
		return false
	}
	*text = clip(*text, len(*text)/2-len("…"))
	return true
}
