package status

import (
	"fmt"
	"strings"

	"example.com/nginx-operator/api/v1alpha2"
)

var acceptedChecks = []check{specBlocked, specAccepted}

// specBlocked reports what the user has to fix.
func specBlocked(v *view) *verdict {
	if b := v.in.Blocked; b.Reason != "" {
		return falseVerdict(b.Reason, b.Message)
	}
	return nil
}

func specAccepted(v *view) *verdict {
	message := "The spec is valid and every reference resolves"
	if dropped := v.in.DroppedFields; len(dropped) > 0 {
		message += ", but the cluster does not keep " + some(dropped) + ": the feature is off, or an admission webhook changes it"
	}
	return trueVerdict(v1alpha2.ReasonAccepted, message)
}

// maxListed is how many things a message names.
const maxListed = 5

// some joins names, and counts those beyond maxListed.
func some(all []string) string {
	if rest := len(all) - maxListed; rest > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:maxListed], ", "), rest)
	}
	return strings.Join(all, ", ")
}
