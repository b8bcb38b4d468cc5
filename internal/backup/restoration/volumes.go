package restoration

import (
	"fmt"
	"slices"

	"example.com/nginx-operator/api/backup/v1alpha1"
)

// VolumeComparison is the comparison of a volume with the archive, before or after a restore. It counts
// files.
type VolumeComparison struct {
	// Index is the volume's index in the archive.
	Index int `json:"index"`
	// Same counts files that are equal, Missing those that do not exist, Differs those with other
	// content, and Blocked those with a directory in their place.
	Same    int64 `json:"same,omitempty"`
	Missing int64 `json:"missing,omitempty"`
	Differs int64 `json:"differs,omitempty"`
	Blocked int64 `json:"blocked,omitempty"`
	// Examples names files that differ or are blocked, as far as there is room.
	Examples string `json:"examples,omitempty"`
}

// Missing reports whether there are any files to restore.
func Missing(found []VolumeComparison) bool {
	return slices.ContainsFunc(found, func(c VolumeComparison) bool { return c.Missing+c.Differs+c.Blocked > 0 })
}

// WithVolumes returns the plan with the changes to the volumes added.
func (p Plan) WithVolumes(found []VolumeComparison) Plan {
	claims := map[int]string{}
	for _, v := range p.Volumes {
		claims[v.Index] = v.Claim
	}
	m := builder{plan: p}
	for _, c := range found {
		kind, name := "PersistentVolumeClaim", claims[c.Index]
		if c.Blocked > 0 {
			m.plan.Blocked = append(m.plan.Blocked, kind+" "+name)
		}
		switch {
		case c.Differs+c.Blocked > 0:
			m.plan.Changes = append(m.plan.Changes, v1alpha1.RestoreChange{Kind: kind, Name: name, Action: replaced, Difference: fmt.Sprintf(
				"%d files are missing, %d differ: %s", c.Missing, c.Differs+c.Blocked, c.Examples)})
			m.plan.Conflicts = append(m.plan.Conflicts, fmt.Sprintf("%s %s (%s)", kind, name, c.Examples))
		case c.Missing > 0:
			m.change(kind, name, created, fmt.Sprintf("%d files are missing", c.Missing))
		default:
			m.change(kind, name, unchanged, "")
		}
	}
	return m.plan
}
