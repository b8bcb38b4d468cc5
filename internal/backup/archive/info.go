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
)

// Info tells what a backup is of. It is the file backup.json, the first of an archive, and
// part of the commit record.
type Info struct {
	// Format is the version of the archive.
	Format int `json:"format"`
	// Name and UID of the backup's object; Namespace is that of the application, too.
	Name      string `json:"name"`
	UID       string `json:"uid"`
	Namespace string `json:"namespace"`
	// Application is the NginxOperator that was saved.
	Application Application `json:"application"`
	// TakenAt is when the backup was begun, in UTC, in whole seconds.
	TakenAt time.Time `json:"takenAt"`
	// Trigger is what asked for the backup, such as a schedule or a user.
	Trigger string `json:"trigger"`
	// Reason is in the words of who asked, and can have several lines.
	Reason string `json:"reason,omitempty"`
	// Policy is the NginxBackupPolicy that made the backup; empty: none did, or an early version
	// wrote this.
	Policy string `json:"policy,omitempty"`
	// ScheduledAt is the time of the schedule that the backup was made for; nil: none.
	ScheduledAt *time.Time `json:"scheduledAt,omitempty"`
	// OperatorVersion is that of the operator that made the backup.
	OperatorVersion string `json:"operatorVersion"`
	// Image as declared, ImageDigest as the pods told it, and the version of nginx in it.
	Image        string `json:"image"`
	ImageDigest  string `json:"imageDigest,omitempty"`
	NginxVersion string `json:"nginxVersion,omitempty"`
	// ConfigRevision is the configuration that was asked for, ServedRevision what pods served.
	ConfigRevision string `json:"configRevision"`
	ServedRevision string `json:"servedRevision,omitempty"`
	// Secrets that the application uses. The archive does not have to hold them.
	Secrets []Secret `json:"secrets,omitempty"`
	// Recipients are the age keys that secrets are encrypted for; none: they are not in the
	// archive.
	Recipients []string `json:"recipients,omitempty"`
	// Content are the volumes whose trees are in the archive, all of them.
	Content []Volume `json:"content,omitempty"`
}

// Application is an object of kind NginxOperator.
type Application struct {
	Name       string `json:"name"`
	UID        string `json:"uid"`
	Generation int64  `json:"generation"`
	// State is a hash of what it declared, and Replicas how many pods it did, as policies compare
	// them; empty, nil: an early version wrote this.
	State    string `json:"state,omitempty"`
	Replicas *int32 `json:"replicas,omitempty"`
}

// Secret is one that an application uses.
type Secret struct {
	Name string `json:"name"`
	// UsedFor is what for, such as a host's certificate.
	UsedFor string `json:"usedFor"`
	// Fingerprint tells whether a secret is still the same, and nothing else about it.
	Fingerprint string `json:"fingerprint"`
}

// Volume is one with content.
type Volume struct {
	// Index is its place in the archive, content/<index>.
	Index int `json:"index"`
	// Claim is the PersistentVolumeClaim.
	Claim string `json:"claim"`
	// MountPath is where nginx had it.
	MountPath string `json:"mountPath"`
}

// normal is the info as it is written.
func (i Info) normal() Info {
	i.Format = Format
	i.TakenAt = i.TakenAt.UTC().Truncate(time.Second)
	return i
}

// names tells whether a tree is in the archive.
func (i Info) names(index int) bool {
	return slices.ContainsFunc(i.Content, func(v Volume) bool { return v.Index == index })
}

// encode is a value as JSON for people, who look for a name as it is, not with < escaped.
func encode(value any, indent string) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	err := encoder.Encode(value)
	return text.Bytes(), err
}

// same tells whether two mean the same, as far as this version knows their fields.
func (i Info) same(other Info) bool {
	a, errA := encode(i.normal(), "")
	b, errB := encode(other.normal(), "")
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

const (
	nameLimit = 253 // of Kubernetes
	wordLimit = 256
	textLimit = 4096
	listLimit = 1000
)

// validate bounds what is shown to people and kept in objects.
func (i Info) validate() error {
	if !isTime(&i.TakenAt) {
		return fmt.Errorf("takenAt is no time of a backup")
	}
	if i.ScheduledAt != nil && !isTime(i.ScheduledAt) {
		return fmt.Errorf("scheduledAt is no time of a schedule")
	}
	if len(i.Secrets) > listLimit || len(i.Content) > listLimit || len(i.Recipients) > listLimit {
		return fmt.Errorf("it lists %d secrets, %d recipients and %d volumes, %d are possible", len(i.Secrets), len(i.Recipients), len(i.Content), listLimit)
	}
	for _, s := range i.strings() {
		if err := s.validate(); err != nil {
			return err
		}
	}
	return i.ascends()
}

// isTime is true of times that every reader can write, too.
func isTime(t *time.Time) bool { return !t.IsZero() && t.Year() <= 9999 }

func (i Info) ascends() error {
	for n, volume := range i.Content {
		if volume.Index < 0 || n > 0 && volume.Index <= i.Content[n-1].Index {
			return fmt.Errorf("the indexes of content do not ascend")
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
	return all
}

func (s boundedString) validate() error {
	switch {
	case len(s.value) > s.most:
		return fmt.Errorf("%s is %d bytes long, %d are possible", s.field, len(s.value), s.most)
	case !utf8.ValidString(s.value):
		return fmt.Errorf("%s is not UTF-8: %s", s.field, clip(s.value))
	case strings.ContainsFunc(s.value, unicode.IsControl):
		return fmt.Errorf("%s has control characters: %s", s.field, clip(s.value))
	}
	return nil
}

// checkFormat looks at nothing but the version: a later one may have changed everything else.
func checkFormat(name string, data []byte) error {
	var head struct {
		Format *int `json:"format"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return notJSON(name, err)
	}
	switch {
	case head.Format == nil || *head.Format < 1:
		return refuse(name, "it names no format")
	case *head.Format > Format:
		return laterVersion(*head.Format)
	}
	return nil
}

func notJSON(name string, err error) error {
	return refuse(name, "it is not the JSON of this format: %s", clip(err.Error()))
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
