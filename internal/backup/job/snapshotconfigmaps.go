package job

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/snapshot"
)

// The keys of the ConfigMaps with a snapshot.
const (
	// PieceKey is the key of a piece of the packed snapshot.
	PieceKey = "piece"
	headKey  = "snapshot.json"
)

// head is the part of a snapshot that the operator needs to try again.
type head struct {
	Snapshot snapshot.Snapshot `json:"snapshot"`
	// Pieces holds the names of the ConfigMaps, in order.
	Pieces []string `json:"pieces"`
}

// SnapshotName returns the name of the ConfigMap that completes a snapshot.
func SnapshotName(backup *v1alpha1.NginxBackup) string { return backup.Name + "-snapshot" }

// SnapshotConfigMaps returns the ConfigMaps of a snapshot in the order in which they have to be created: the
// one with the head comes last. The names of the others contain a hash of their contents, so that
// the pieces of an unfinished snapshot are never mixed with those of another one.
func SnapshotConfigMaps(backup *v1alpha1.NginxBackup, s snapshot.Snapshot) ([]*corev1.ConfigMap, error) {
	chunks, err := s.Pack()
	if err != nil {
		return nil, err
	}
	pieces := make([]*corev1.ConfigMap, 0, len(chunks))
	h := head{Snapshot: s, Pieces: []string{SnapshotName(backup)}}
	for _, chunk := range chunks[1:] {
		sum := sha256.Sum256(chunk)
		name := fmt.Sprintf("%s-%s", SnapshotName(backup), hex.EncodeToString(sum[:5]))
		h.Pieces = append(h.Pieces, name)
		pieces = append(pieces, newPiece(backup, name, chunk))
	}
	text, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	first := newPiece(backup, SnapshotName(backup), chunks[0])
	first.Data = map[string]string{headKey: string(text)}
	return append(pieces, first), nil
}

func newPiece(backup *v1alpha1.NginxBackup, name string, chunk []byte) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       backup.Namespace,
			Name:            name,
			Labels:          map[string]string{v1alpha1.LabelBackup: backup.Name},
			OwnerReferences: []metav1.OwnerReference{Owner(backup)},
		},
		Immutable:  new(true),
		BinaryData: map[string][]byte{PieceKey: chunk},
	}
}

// DecodeSnapshotHeader reads the head from the last ConfigMap of a snapshot. It returns the snapshot without
// its documents and the names of the ConfigMaps with its pieces.
func DecodeSnapshotHeader(cm *corev1.ConfigMap) (snapshot.Snapshot, []string, error) {
	var h head
	if err := snapshot.HeadLimits.Check([]byte(cm.Data[headKey])); err != nil {
		return h.Snapshot, nil, fmt.Errorf("ConfigMap %s holds no snapshot: %w", cm.Name, err)
	}
	if err := json.Unmarshal([]byte(cm.Data[headKey]), &h); err != nil {
		return h.Snapshot, nil, fmt.Errorf("ConfigMap %s holds no snapshot: %w", cm.Name, err)
	}
	return h.Snapshot, h.Pieces, nil
}
