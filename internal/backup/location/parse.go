package location

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode"
)

// scheme describes the URLs of a scheme.
type scheme struct {
	// bucket is the word for the scheme's buckets. form matches valid names of buckets, and rule
	// describes them.
	bucket string
	form   *regexp.Regexp
	rule   string
	// parameters maps the known parameters to their checks.
	parameters map[string]check
	example    string
}

var schemes = map[Scheme]scheme{
	PVC: {
		bucket:  "claim",
		form:    regexp.MustCompile(`^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$`),
		rule:    "lower case letters, digits, '-' and '.', as the name of a PersistentVolumeClaim has",
		example: "pvc://claim/folder",
	},
	S3: {
		bucket: "bucket",
		// Amazon requires lower case and at most 63 characters. Other stores and old buckets allow
		// more.
		form:       regexp.MustCompile(`^[A-Za-z0-9][-._A-Za-z0-9]{1,253}[A-Za-z0-9]$`),
		rule:       "3 or more letters, digits, '-', '.' and '_'",
		parameters: s3Parameters,
		example:    "s3://bucket/folder?region=eu-central-1",
	},
	GCS: {
		bucket:     "bucket",
		form:       regexp.MustCompile(`^[a-z0-9][-._a-z0-9]{1,220}[a-z0-9]$`),
		rule:       "3 or more lower case letters, digits, '-', '.' and '_'",
		parameters: gcsParameters,
		example:    "gs://bucket/folder",
	},
	Azure: {
		bucket:     "container",
		form:       regexp.MustCompile(`^([a-z0-9][-a-z0-9]{1,61}[a-z0-9]|\$root|\$web)$`),
		rule:       "3 to 63 lower case letters, digits and '-'",
		parameters: azureParameters,
		example:    "azblob://container/folder?storage_account=account",
	},
}

const known = "pvc://claim/folder, s3://bucket/folder, gs://bucket/folder or azblob://container/folder"

// Parse parses a URL. Its errors say what to change, and never repeat a possible credential.
func Parse(text string) (Location, error) {
	if text == "" {
		return Location{}, errors.New("the location is empty: write " + known)
	}
	u, err := url.Parse(text)
	if err != nil {
		// The error of url.Parse repeats the URL, which may contain a password.
		return Location{}, errors.New("the location is not a URL: write " + known + `, and "%" as "%25"`)
	}
	l := Location{Scheme: Scheme(u.Scheme)}
	s, ok := schemes[l.Scheme]
	if !ok {
		return Location{}, unknownScheme(u.Scheme)
	}
	if err := wellFormed(u, s); err != nil {
		return Location{}, err
	}
	if l.Bucket = u.Host; !s.form.MatchString(l.Bucket) {
		return Location{}, fmt.Errorf("%q cannot be the name of a %s: it has %s", l.Bucket, s.bucket, s.rule)
	}
	if l.Folder, err = folder(u.Path); err != nil {
		return Location{}, err
	}
	l.Parameters, err = parameters(u.RawQuery, s)
	if err != nil {
		return Location{}, err
	}
	return l, validateCombination(l)
}

func unknownScheme(name string) error {
	switch name {
	case "":
		return errors.New("the location has no scheme: write " + known)
	case "file":
		return errors.New("file:// is not a location: files in the file system of a Job's pod are lost with the pod; use a PersistentVolumeClaim, pvc://claim/folder")
	case "http", "https":
		return fmt.Errorf("%s:// is not a location: for a private S3 server, write s3://bucket/folder?endpoint=%s://host:port&use_path_style=true", name, name)
	default:
		return fmt.Errorf("the scheme %q is unknown: write %s", name, known)
	}
}

// wellFormed checks for missing parts, and for parts that no location may have.
func wellFormed(u *url.URL, s scheme) error {
	switch {
	case u.User != nil:
		return errors.New("the location has a user or a password: remove them, credentials belong in the Secret")
	case u.Opaque != "":
		return errors.New("the location needs two slashes after the scheme: write " + s.example)
	case u.Host == "":
		return fmt.Errorf("the location names no %s: write %s", s.bucket, s.example)
	case u.Port() != "" && u.Scheme == string(S3):
		return fmt.Errorf("the location must begin with the %s, not with a host: write s3://bucket/folder?endpoint=http://%s&use_path_style=true", s.bucket, u.Host)
	case u.Fragment != "":
		return errors.New(`the location has a "#": write it as "%23"`)
	default:
		return nil
	}
}

// longestFolder leaves room for the names of backups in a key, which is limited to 1,024 bytes in
// every cloud.
const longestFolder = 512

func folder(path string) (string, error) {
	path = strings.Trim(path, "/")
	if len(path) > longestFolder {
		return "", fmt.Errorf("the folder has %d bytes: at most %d are allowed", len(path), longestFolder)
	}
	if path == "" {
		return "", nil
	}
	for part := range strings.SplitSeq(path, "/") {
		switch {
		case part == "":
			return "", fmt.Errorf("the folder %q has two slashes in a row: write one", path)
		case part == "." || part == "..":
			return "", fmt.Errorf("the folder %q has a part %q: write the folder's full path", path, part)
		case strings.ContainsFunc(part, unprintable):
			return "", fmt.Errorf("the folder %q has an unprintable character or a backslash", path)
		}
	}
	return path, nil
}

func unprintable(r rune) bool {
	return r == '\\' || r == unicode.ReplacementChar || !unicode.IsPrint(r)
}
