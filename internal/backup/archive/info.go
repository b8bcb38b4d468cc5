package archive

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"example.com/nginx-operator/internal/boundedjson"
)

// Info describes a backup. It is the file backup.json, which is the first in an archive, and part
// of the commit record.
type Info struct {
	// Format is the version of the archive.
	Format int `json:"format"`
	// Name and UID identify the backup's object. Namespace is also that of the application.
	Name      string `json:"name"`
	UID       string `json:"uid"`
	Namespace string `json:"namespace"`
	// Application is the NginxOperator that was backed up.
	Application Application `json:"application"`
	// TakenAt is when the backup began, in UTC and whole seconds.
	TakenAt time.Time `json:"takenAt"`
	// Trigger is what caused the backup, such as a schedule or a user.
	Trigger string `json:"trigger"`
	// Reason is the reason that was given. It can have several lines.
	Reason string `json:"reason,omitempty"`
	// Policy is the NginxBackupPolicy that created the backup. It is empty if none did, or in
	// backups of an early version.
	Policy string `json:"policy,omitempty"`
	// ScheduledAt is the time of the schedule for which the backup was created, or nil.
	ScheduledAt *time.Time `json:"scheduledAt,omitempty"`
	// OperatorVersion is the version of the operator that wrote the backup.
	OperatorVersion string `json:"operatorVersion"`
	// Image is the declared image, ImageDigest the digest that the pods reported, and NginxVersion
	// the version of nginx in it.
	Image        string `json:"image"`
	ImageDigest  string `json:"imageDigest,omitempty"`
	NginxVersion string `json:"nginxVersion,omitempty"`
	// ConfigRevision is the requested configuration. ServedRevision is the one that pods served.
	ConfigRevision string `json:"configRevision"`
	ServedRevision string `json:"servedRevision,omitempty"`
	// Secrets are the Secrets that the application uses. The archive need not hold them.
	Secrets []Secret `json:"secrets,omitempty"`
	// Recipients are the age keys that the secrets are encrypted for. If there are none, the
	// archive holds no secrets.
	Recipients []string `json:"recipients,omitempty"`
	// Content lists all volumes whose trees are in the archive.
	Content []Volume `json:"content,omitempty"`
	// ExcludeClaims are the claims that the backup was told to leave out.
	ExcludeClaims []string `json:"excludeClaims,omitempty"`
	// LeftOut lists what the application uses and the archive does not have, apart from Secrets. It
	// is empty in backups of an early version.
	LeftOut []LeftOut `json:"leftOut,omitempty"`
}

// Application identifies an NginxOperator.
type Application struct {
	Name       string `json:"name"`
	UID        string `json:"uid"`
	Generation int64  `json:"generation"`
	// State is a hash of its declarations, and Replicas the declared number of pods, as policies
	// compare them. They are empty and nil in backups of an early version.
	State    string `json:"state,omitempty"`
	Replicas *int32 `json:"replicas,omitempty"`
}

// Secret is a Secret that an application uses.
type Secret struct {
	Name string `json:"name"`
	// UsedFor is the use of the Secret, such as a host's certificate.
	UsedFor string `json:"usedFor"`
	// Fingerprint shows whether the Secret has changed, and nothing else about it.
	Fingerprint string `json:"fingerprint"`
}

// Volume is a volume with content.
type Volume struct {
	// Index is the number of its folder in the archive, content/<index>.
	Index int `json:"index"`
	// Claim is the name of the PersistentVolumeClaim.
	Claim string `json:"claim"`
	// MountPath is where nginx mounted it. It is empty if only other containers did.
	MountPath string `json:"mountPath"`
}

// LeftOut is something that an application uses and the archive does not have.
type LeftOut struct {
	// Kind and Name identify it, such as a PersistentVolumeClaim and its name.
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Reason is why the archive does not have it, as in the API.
	Reason string `json:"reason"`
}

// normal returns the info in the form in which it is written.
func (i Info) normal() Info {
	i.Format = Format
	i.TakenAt = i.TakenAt.UTC().Truncate(time.Second)
	return i
}

// names reports whether the info lists a volume with this index.
func (i Info) names(index int) bool {
	return slices.ContainsFunc(i.Content, func(v Volume) bool { return v.Index == index })
}

// encode returns a value as JSON. It does not escape < and the like, so that people can search for
// names.
func encode(value any, indent string) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	err := encoder.Encode(value)
	return text.Bytes(), err
}

// same reports whether two infos are equal in all fields that this version knows.
func (i Info) same(other Info) bool {
	a, errA := encode(i.normal(), "")
	b, errB := encode(other.normal(), "")
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

const (
	nameLimit = 253 // the limit of Kubernetes
	wordLimit = 256
	textLimit = 4096
	listLimit = 1000
)

// validate bounds what is shown to people and stored in objects.
func (i Info) validate() error {
	if !isTime(&i.TakenAt) {
		return fmt.Errorf("takenAt is not a valid time")
	}
	if i.ScheduledAt != nil && !isTime(i.ScheduledAt) {
		return fmt.Errorf("scheduledAt is not a valid time")
	}
	for _, list := range []struct {
		of     string
		length int
	}{{"secrets", len(i.Secrets)}, {"recipients", len(i.Recipients)}, {"volumes", len(i.Content)}, {"excluded claims", len(i.ExcludeClaims)}, {"things left out", len(i.LeftOut)}} {
		if list.length > listLimit {
			return fmt.Errorf("it lists %d %s: at most %d are allowed", list.length, list.of, listLimit)
		}
	}
	for _, s := range i.strings() {
		if err := s.validate(); err != nil {
			return err
		}
	}
	return i.checkIndexOrder()
}

// isTime reports whether every reader can also write the time.
func isTime(t *time.Time) bool { return !t.IsZero() && t.Year() <= 9999 }

func (i Info) checkIndexOrder() error {
	for n, volume := range i.Content {
		if volume.Index < 0 || n > 0 && volume.Index <= i.Content[n-1].Index {
			return fmt.Errorf("the indexes of content are not in ascending order")
		}
	}
	return nil
}

type boundedString struct {
	field, value string
	most         int
}

func (i Info) strings() []boundedString {
	all := []boundedString{
		{"name", i.Name, nameLimit},
		{"uid", i.UID, wordLimit},
		{"namespace", i.Namespace, nameLimit},
		{"application.name", i.Application.Name, nameLimit},
		{"application.uid", i.Application.UID, wordLimit},
		{"application.state", i.Application.State, wordLimit},
		{"policy", i.Policy, nameLimit},
		{"trigger", i.Trigger, wordLimit},
		{"reason", strings.NewReplacer("\n", " ", "\t", " ").Replace(i.Reason), textLimit},
		{"operatorVersion", i.OperatorVersion, wordLimit},
		{"image", i.Image, textLimit},
		{"imageDigest", i.ImageDigest, textLimit},
		{"nginxVersion", i.NginxVersion, wordLimit},
		{"configRevision", i.ConfigRevision, wordLimit},
		{"servedRevision", i.ServedRevision, wordLimit},
	}
	for _, s := range i.Secrets {
		all = append(all, boundedString{"secrets.name", s.Name, nameLimit},
			boundedString{"secrets.usedFor", s.UsedFor, textLimit}, boundedString{"secrets.fingerprint", s.Fingerprint, wordLimit})
	}
	for _, r := range i.Recipients {
		all = append(all, boundedString{"recipients", r, wordLimit})
	}
	for _, v := range i.Content {
		all = append(all, boundedString{"content.claim", v.Claim, nameLimit}, boundedString{"content.mountPath", v.MountPath, textLimit})
	}
	for _, claim := range i.ExcludeClaims {
		all = append(all, boundedString{"excludeClaims", claim, nameLimit})
	}
	for _, l := range i.LeftOut {
		all = append(all, boundedString{"leftOut.kind", l.Kind, wordLimit}, boundedString{"leftOut.name", l.Name, textLimit}, boundedString{"leftOut.reason", l.Reason, wordLimit})
	}
	return all
}

func (s boundedString) validate() error {
	switch {
	case len(s.value) > s.most:
		return fmt.Errorf("%s is %d bytes long: at most %d are allowed", s.field, len(s.value), s.most)
	case !utf8.ValidString(s.value):
		return fmt.Errorf("%s is not UTF-8: %s", s.field, clip(s.value))
	case strings.ContainsFunc(s.value, unicode.IsControl):
		return fmt.Errorf("%s has control characters: %s", s.field, clip(s.value))
	}
	return nil
}

// jsonLimits bounds the JSON of backup.json, of a commit record and of a line of the manifest before it is decoded. An Info has
// five lists of at most listLimit items.
var jsonLimits = boundedjson.Limits{Bytes: commitLength, Depth: 16, Items: 4096, Values: 32 << 10, String: lineLength}

// CheckInfo returns an error if a JSON has more values than an Info or a commit record can have.
func CheckInfo(data []byte) error { return jsonLimits.Check(data) }

// checkFormat checks the limits and the version, since a later version may have changed everything else.
func checkFormat(name string, data []byte) error {
	if err := CheckInfo(data); err != nil {
		return refuse(name, "%v", err)
	}
	var head struct {
		Format *int `json:"format"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return notJSON(name, err)
	}
	switch {
	case head.Format == nil || *head.Format < 1:
		return refuse(name, "it does not name its format")
	case *head.Format > Format:
		return laterVersion(*head.Format)
	}
	return nil
}

func notJSON(name string, err error) error {
	return refuse(name, "it is not valid JSON of this format: %s", clip(err.Error()))
}

func parseInfo(data []byte) (Info, error) {
	var i Info
	if err := checkFormat(infoName, data); err != nil {
		return i, err
	}
	if err := json.Unmarshal(data, &i); err != nil {
		return i, notJSON(infoName, err)
	}
	if err := i.validate(); err != nil {
		return i, refuse(infoName, "%v", err)
	}
	return i, nil
}
