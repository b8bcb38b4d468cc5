package listing

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/location"
)

// uidDigits is the number of digits of a backup's UID in its path.
const uidDigits = 8

// Bounds of names, in bytes, as in the API.
const (
	mostTarget = 45
	mostBackup = 56
	mostPolicy = 63
	mostState  = 64
)

var (
	targetForm = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
	backupForm = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	uidForm    = regexp.MustCompile(`^[0-9a-f]{8}$`)
	stateForm  = regexp.MustCompile(`^[0-9a-f]*$`)
)

// Path is the location of a backup below a destination.
type Path struct {
	Namespace, Target string
	// Backup is the name of the backup's object, and UID the first digits of the object's UID.
	Backup, UID string
}

// ParsePath parses a path of the form <namespace>/<application>/<backup>-<uid>.
func ParsePath(text string) (Path, error) {
	parts := strings.Split(text, "/")
	if len(parts) != 3 {
		return Path{}, errors.New("it is not <namespace>/<application>/<backup>-<uid>")
	}
	p := Path{Namespace: parts[0], Target: parts[1]}
	cut := strings.LastIndex(parts[2], "-")
	if cut < 0 {
		return Path{}, errors.New("its name does not end with the UID of a backup")
	}
	p.Backup, p.UID = parts[2][:cut], parts[2][cut+1:]
	switch {
	case len(p.Target) > mostTarget || !targetForm.MatchString(p.Target):
		return Path{}, errors.New("its folder is not named after an NginxOperator")
	case !uidForm.MatchString(p.UID):
		return Path{}, errors.New("its name does not end with the UID of a backup")
	case len(p.Backup) > mostBackup || !backupForm.MatchString(p.Backup):
		return Path{}, errors.New("it is not named after an NginxBackup")
	}
	return p, nil
}

// Holds returns an error if a record does not belong to the path at which it was found.
func (p Path) Holds(info archive.Info) error {
	for _, field := range []struct{ name, path, record string }{
		{"namespace", p.Namespace, info.Namespace},
		{"application", p.Target, info.Application.Name},
		{"backup", p.Backup, info.Name},
		{"UID", p.UID, info.UID[:min(len(info.UID), uidDigits)]},
	} {
		if field.path != field.record {
			return fmt.Errorf("the record is for the %s %q, but is stored under %q", field.name, field.record, field.path)
		}
	}
	return nil
}

// storeParameters are the parameters of a location that identify its store.
var storeParameters = []string{"endpoint", "storage_account", "domain", "universe_domain"}

// SameDestination reports whether two destinations are the same folder, even if they are accessed in different
// ways.
func SameDestination(a, b v1alpha1.Destination) bool {
	first, err1 := location.Parse(a.URL)
	second, err2 := location.Parse(b.URL)
	return err1 == nil && err2 == nil && first.Base() == second.Base() &&
		!slices.ContainsFunc(storeParameters, func(name string) bool { return first.Parameter(name) != second.Parameter(name) })
}
