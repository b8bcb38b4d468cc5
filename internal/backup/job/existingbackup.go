package job

import (
	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/archive"
)

// Existing describes a backup that was already in the store, from its record and its archive. For a
// backup that the operator writes, it already has this information.
type Existing struct {
	// Info is the info of the record, without lists, and within the bounds of a status.
	Info archive.Info `json:"info"`
	// Contents names what is in the archive, as far as there is room.
	Contents v1alpha1.BackupContents `json:"contents"`
}

// Bounds of a status, in bytes and items.
const (
	wordLimit   = 60
	imageLimit  = 500
	reasonLimit = 1000
	nameLimit   = 253
	namesLimit  = 64
	kindLimit   = 32
	thingLimit  = 512
)

// LeftOut returns what an archive says that it does not have, within the bounds of a status.
func LeftOut(info archive.Info) []v1alpha1.LeftOut {
	var all []v1alpha1.LeftOut
	for _, l := range info.LeftOut {
		if l.Kind == "" || l.Name == "" || l.Reason == "" || len(l.Kind) > kindLimit || len(l.Name) > thingLimit || len(l.Reason) > kindLimit {
			continue
		}
		if len(all) < namesLimit {
			all = append(all, v1alpha1.LeftOut{Kind: l.Kind, Name: l.Name, Reason: v1alpha1.LeftOutReason(l.Reason)})
		}
	}
	return all
}

// NewExisting shortens a record so that it fits into a status.
func NewExisting(info archive.Info, contents v1alpha1.BackupContents) *Existing {
	info.Secrets, info.Content, info.Recipients, info.ExcludeClaims, info.LeftOut = nil, nil, nil, nil, nil
	for text, limit := range map[*string]int{
		&info.UID: wordLimit, &info.Application.UID: wordLimit, &info.Application.State: wordLimit,
		&info.ConfigRevision: wordLimit, &info.ServedRevision: wordLimit, &info.OperatorVersion: wordLimit, &info.NginxVersion: wordLimit,
		&info.Policy: nameLimit, &info.Trigger: wordLimit, &info.Image: imageLimit, &info.ImageDigest: imageLimit, &info.Reason: reasonLimit,
	} {
		*text = clip(*text, limit)
	}
	a := &Existing{Info: info, Contents: contents}
	for _, list := range a.lists() {
		*list = bounded(*list)
	}
	return a
}

// bounded returns the names that fit into a status.
func bounded(names []string) []string {
	var kept []string
	for _, name := range names {
		if len(name) <= nameLimit && len(kept) < namesLimit {
			kept = append(kept, name)
		}
	}
	return kept
}

func (a *Existing) lists() []*[]string {
	c := &a.Contents
	return []*[]string{&c.EncryptedSecrets, &c.Secrets, &c.ConfigMaps, &c.Claims}
}

// shorten drops half of the longest list or, if all lists are empty, half of the longest text. It
// reports whether there was anything to drop. What was left out is dropped last.
func (a *Existing) shorten() bool {
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
	if n := len(a.Contents.LeftOut); n > 0 {
		a.Contents.LeftOut = a.Contents.LeftOut[:n/2]
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
	*text = clip(*text, max(0, len(*text)/2-len("…")))
	if *text == "…" {
		*text = ""
	}
	return true
}
