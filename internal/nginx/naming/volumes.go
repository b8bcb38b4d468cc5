package naming

import (
	"slices"
	"strings"
)

// Names of volumes of the operator in pods. ReservedVolumes lists all of them.
const (
	VolumeInstance     = "instance"
	VolumeScratch      = "scratch"
	VolumeConfig       = "config"
	VolumeConfigNext   = "config-next"
	VolumeRequests     = "requests"
	VolumeCertificates = "certificates"
	// VolumeState has the configurations with values of Secrets.
	VolumeState = contentPrefix + "env"
	// VolumeRequestLog has the log of requests. The name was not always reserved, so a spec can declare a volume with it.
	VolumeRequestLog = "request-log"
	// VolumeHot, VolumeObjects and VolumePurges belong to the pods of a cache.
	VolumeHot     = "cache-hot"
	VolumeObjects = "cache-objects"
	VolumePurges  = "cache-purges"

	contentPrefix     = "content-"
	certificatePrefix = "certificate-"
)

// ReservedVolumes are the names of the operator's volumes in the pods of an application that no spec can declare. Those
// that end in '-' are prefixes. CacheVolumes are those in the pods of a cache. The rules of v1alpha2.Volume and of
// NginxCache have the same names.
var (
	ReservedVolumes = []string{
		VolumeConfig, VolumeConfigNext, VolumeRequests, VolumeInstance, VolumeCertificates, VolumeScratch,
		contentPrefix, certificatePrefix,
	}
	CacheVolumes = []string{VolumeHot, VolumeObjects, VolumePurges}
)

// ReservedVolume reports whether no spec can declare a volume of this name.
func ReservedVolume(name string) bool {
	return slices.ContainsFunc(ReservedVolumes, func(reserved string) bool {
		return name == reserved || strings.HasSuffix(reserved, "-") && strings.HasPrefix(name, reserved)
	})
}
