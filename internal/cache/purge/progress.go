package purge

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/internal/nginx/naming"
)

// Pod is a pod of a cache, and how far it is.
type Pod struct {
	Name, Tier string
	// Number is that of the last purge that it has carried out.
	Number int64
	// Empty reports whether it has stored nothing yet, so that there is nothing to purge.
	Empty bool
	// Waits is why it has not carried out more; empty if it can.
	Waits string
}

// purged reports whether a pod cannot answer with what a purge removes.
func (p *Pod) purged(number int64) bool { return p.Empty || p.Number >= number }

// WithMissing adds the shards that should exist and do not: their volumes may have what is to be purged.
func WithMissing(pods []Pod, cache string, shards int) []Pod {
	for n := range shards {
		name := naming.Pod(v1alpha1.ShardsName(cache), n)
		if !slices.ContainsFunc(pods, func(p Pod) bool { return p.Name == name }) {
			pods = append(pods, Pod{Name: name, Tier: v1alpha1.TierShards, Waits: "the pod does not exist"})
		}
	}
	return pods
}

// Proven returns the number up to which all pods of a tier have purged; of both tiers, if tier is empty.
func Proven(pods []Pod, tier string) int64 {
	proven := int64(math.MaxInt64)
	for i := range pods {
		if p := &pods[i]; !p.Empty && (tier == "" || p.Tier == tier) {
			proven = min(proven, p.Number)
		}
	}
	return proven
}

// maxRows bounds the rows of a status.
const maxRows = 256

// Progress is how far a purge is in all pods.
type Progress struct {
	Rows        []v1alpha1.PurgePodStatus
	Purged, All int
	// Waits says which pods it waits for, and why; empty if it is complete.
	Waits string
}

// ProgressOf returns how far a purge is.
func ProgressOf(number int64, pods []Pod) Progress {
	progress := Progress{All: len(pods)}
	var waiting []string
	for _, p := range slices.SortedFunc(slices.Values(pods), func(a, b Pod) int { return naming.ComparePods(a.Name, b.Name) }) {
		row := v1alpha1.PurgePodStatus{Name: p.Name, State: v1alpha1.PurgePurged}
		if p.purged(number) {
			progress.Purged++
		} else {
			row.State, row.Reason = v1alpha1.PurgePending, p.Waits
			if row.Reason == "" {
				row.Reason = "waits for all shards"
			}
			waiting = append(waiting, fmt.Sprintf("%s: %s", p.Name, row.Reason))
		}
		if len(progress.Rows) < maxRows {
			progress.Rows = append(progress.Rows, row)
		}
	}
	const named = 3
	if n := len(waiting); n > named {
		waiting = append(waiting[:named], fmt.Sprintf("and %d more", n-named))
	}
	progress.Waits = strings.Join(waiting, "; ")
	return progress
}
