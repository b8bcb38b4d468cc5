package instance

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/instanceapi"
)

// Volume is the volume of a cache. It outlives the pods that mount it.
type Volume struct {
	mu sync.Mutex
	// number is that of the last purge that was carried out.
	number int64
}

// Number returns the number of the last purge that was carried out on the volume.
func (v *Volume) Number() int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.number
}

// apply carries out purges.
func (v *Volume) apply(p instanceapi.Purges) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.number = max(v.number, p.Last())
}

// Caches gives the instance a cache on a volume.
func Caches(volume *Volume) Option {
	return func(i *Instance) { i.volumeOfCache = volume }
}

// mountedPurges carries out the purges that the pod mounts.
func (i *Instance) mountedPurges(ctx context.Context, pod *corev1.Pod) {
	if i.volumeOfCache == nil {
		return
	}
	for _, v := range pod.Spec.Volumes {
		if v.ConfigMap == nil || len(v.ConfigMap.Items) != 1 || v.ConfigMap.Items[0].Path != instanceapi.FilePurges {
			continue
		}
		cm := &corev1.ConfigMap{}
		if i.mounts.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: v.ConfigMap.Name}, cm) != nil {
			// The kubelet has not delivered it.
			return
		}
		if purges, err := instanceapi.ParsePurges([]byte(cm.Data[v.ConfigMap.Items[0].Key])); err == nil {
			i.purge(purges)
		}
	}
}

// purge carries out purges.
func (i *Instance) purge(p instanceapi.Purges) {
	if p.Last() > i.volumeOfCache.Number() {
		i.watch.Purges(i.pod, p)
		i.volumeOfCache.apply(p)
	}
}

// answerPurges carries out the purges of a request.
func (i *Instance) answerPurges(w http.ResponseWriter, r *http.Request) {
	purges, refusal := i.orders.ReceivePurges(r)
	if refusal != "" {
		http.Error(w, string(refusal), refusal.Code())
		return
	}
	i.watch.Sent(i.pod, purges)
	i.purge(purges)
	// The client may be gone.
	_ = json.NewEncoder(w).Encode(instanceapi.Status{Protocol: instanceapi.Protocol, Purged: i.purged(), Orders: i.orders.Describe()})
}

// purged returns what was carried out; nil if the instance has no cache.
func (i *Instance) purged() *instanceapi.Purged {
	if i.volumeOfCache == nil {
		return nil
	}
	return &instanceapi.Purged{Number: i.volumeOfCache.Number()}
}
