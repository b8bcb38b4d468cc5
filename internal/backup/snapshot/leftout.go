package snapshot

import (
	"slices"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/location"
)

// Kinds of what a backup leaves out, if it may hold data that exists nowhere else.
const (
	Claim = "PersistentVolumeClaim"
	CSI   = "CSI"
)

// included returns the volumes whose files a backup has, and everything that the application uses and the backup does
// not have, apart from Secrets.
func included(backup *v1alpha1.NginxBackup, spec *v1alpha2.NginxOperatorSpec) (volumes []Volume, leftOut []archive.LeftOut) {
	for _, v := range Volumes(spec) {
		if reason := excluded(backup, v.Claim); reason != "" {
			leftOut = append(leftOut, archive.LeftOut{Kind: Claim, Name: v.Claim, Reason: string(reason)})
		} else {
			volumes = append(volumes, v)
		}
	}
	return volumes, append(leftOut, withoutClaim(spec)...)
}

// excluded returns why a backup leaves out the files of a claim, or "". A backup never contains its own destination: it
// would contain all earlier backups, and its own unfinished archive.
func excluded(backup *v1alpha1.NginxBackup, claim string) v1alpha1.LeftOutReason {
	if slices.Contains(backup.Spec.ExcludeClaims, claim) {
		return v1alpha1.LeftOutExcluded
	}
	destination, err := location.Parse(backup.Spec.Destination.URL)
	if err == nil && destination.Scheme == location.PVC && destination.Bucket == claim {
		return v1alpha1.LeftOutDestination
	}
	return ""
}

// withoutClaim returns what an application uses that has no claim, ConfigMap or Secret.
func withoutClaim(spec *v1alpha2.NginxOperatorSpec) []archive.LeftOut {
	var all []archive.LeftOut
	add := func(kind, name string, reason v1alpha1.LeftOutReason) {
		all = append(all, archive.LeftOut{Kind: kind, Name: name, Reason: string(reason)})
	}
	for _, c := range spec.Content {
		if c.Image != nil {
			add("Image", c.Image.Reference, v1alpha1.LeftOutExternal)
		}
	}
	if t := spec.PodTemplate; t != nil {
		for _, v := range t.Volumes {
			switch {
			case v.EmptyDir != nil:
				add("EmptyDir", v.Name, v1alpha1.LeftOutEphemeral)
			case v.CSI != nil:
				add(CSI, v.Name, v1alpha1.LeftOutExternal)
			case v.Image != nil:
				add("Image", v.Image.Reference, v1alpha1.LeftOutExternal)
			}
		}
	}
	if a := spec.ServiceAccount; a != nil && a.Name != nil {
		add("ServiceAccount", *a.Name, v1alpha1.LeftOutExternal)
	}
	return all
}
