package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"example.com/nginx-operator/api/v1alpha2"
)

// Fingerprint is what is compared to detect a change.
type Fingerprint struct {
	// Change is a hash of what is declared, apart from replicas, and of the configuration revisions
	// that are requested and served.
	Change string `json:"change"`
	// Replicas is the declared number of replicas.
	Replicas int32 `json:"replicas"`
}

// mostFingerprints bounds the remembered ones.
const mostFingerprints = 1 << 14

// Fingerprints remembers fingerprints by the versions of applications: each policy of a namespace needs those of all of its
// applications, and to compute one takes as long as to encode a spec. It is safe for concurrent use.
type Fingerprints struct {
	mu        sync.Mutex
	byVersion map[version]Fingerprint
}

type version struct {
	uid     types.UID
	version string
}

// Of is FingerprintOf for an object of the API server.
func (f *Fingerprints) Of(nginx *v1alpha2.NginxOperator) (Fingerprint, error) {
	key := version{nginx.UID, nginx.ResourceVersion}
	f.mu.Lock()
	defer f.mu.Unlock()
	if state, ok := f.byVersion[key]; ok {
		return state, nil
	}
	state, err := FingerprintOf(nginx)
	if err != nil {
		return state, err
	}
	if len(f.byVersion) >= mostFingerprints || f.byVersion == nil {
		f.byVersion = map[version]Fingerprint{}
	}
	f.byVersion[key] = state
	return state, nil
}

// FingerprintOf returns the fingerprint of an application.
func FingerprintOf(nginx *v1alpha2.NginxOperator) (Fingerprint, error) {
	spec := nginx.Spec
	spec.Replicas = nil
	// Suspending the operator does not change the application.
	spec.Suspend = nil
	requested, served := configRevisions(nginx)
	text, err := json.Marshal(struct {
		Spec v1alpha2.NginxOperatorSpec
		// The name in JSON is a part of the hash that existing backups have.
		Requested string `json:"Asked"`
		Served    string
		// Claims distinguishes the state from the same one in a backup of an earlier release, which does
		// not have the files of these claims.
		Claims []string `json:",omitempty"`
	}{spec, requested, served, podClaims(&spec)})
	if err != nil {
		return Fingerprint{}, fmt.Errorf("hash the spec: %w", err)
	}
	sum := sha256.Sum256(text)
	state := Fingerprint{Change: hex.EncodeToString(sum[:8]), Replicas: 1}
	if nginx.Spec.Replicas != nil {
		state.Replicas = *nginx.Spec.Replicas
	}
	return state, nil
}

// configRevisions returns the requested and the served configuration revision.
func configRevisions(nginx *v1alpha2.NginxOperator) (requested, served string) {
	if c := nginx.Status.Config; c != nil {
		return c.Revision, c.StableRevision
	}
	return "", ""
}

// podClaims returns the claims of the volumes of the pod template.
func podClaims(spec *v1alpha2.NginxOperatorSpec) []string {
	var claims []string
	if spec.PodTemplate != nil {
		for _, v := range Volumes(&v1alpha2.NginxOperatorSpec{PodTemplate: spec.PodTemplate}) {
			claims = append(claims, v.Claim)
		}
	}
	return claims
}
