package location

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode"
)

// scheme is what a URL of it may say.
type scheme struct {
	// bucket is what the scheme calls its bucket, form is how its name looks, and rule says
	// that in words.
	bucket string
	form   *regexp.Regexp
	rule   string
	// parameters are the known ones, with the check of each.
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
		// Amazon wants lower case and 63 characters; others and old buckets know more.
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

// Parse reads a URL. Its errors say what to change, and repeat nothing that could be a
// credential.
func Parse(text string) (Location, error) {
	if text == "" {
		return Location{}, errors.New("the location is empty: write " + known)
	}
	u, err := url.Parse(text)
	if err != nil {
		// The error repeats the URL, which may have a password.
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
	return l, together(l)
}

func unknownScheme(name string) error {
	switch name {
	case "":
		return errors.New("the location has no scheme: write " + known)
	case "file":
		return errors.New("file:// is not a location: what a Job's pod writes into its own file system ends with the pod; name a PersistentVolumeClaim, pvc://claim/folder")
	case "http", "https":
		return fmt.Errorf("%s:// is not a location: a private S3 is named by its bucket, s3://bucket/folder?endpoint=%s://host:port&use_path_style=true", name, name)
	default:
		return fmt.Errorf("the scheme %q is unknown: write %s", name, known)
	}
}

// wellFormed looks at the parts that no location has, and at those that each has.
func wellFormed(u *url.URL, s scheme) error {
	switch {
	case u.User != nil:
		return errors.New("the location has a user or a password: take them out, credentials belong into the Secret")
	case u.Opaque != "":
		return errors.New("the location needs two slashes after the scheme: " + s.example)
	case u.Host == "":
		return fmt.Errorf("the location names no %s: %s", s.bucket, s.example)
	case u.Port() != "" && u.Scheme == string(S3):
		return fmt.Errorf("the location begins with the %s and not with a host: s3://bucket/folder?endpoint=http://%s&use_path_style=true", s.bucket, u.Host)
	case u.Fragment != "":
		return errors.New(`the location has a "#": write it as "%23"`)
	default:
		return nil
	}
}

// longestFolder leaves room for the names of the backups in a key, which has 1,024 bytes in
// every cloud.
const longestFolder = 512

func folder(path string) (string, error) {
	path = strings.Trim(path, "/")
	if len(path) > longestFolder {
		return "", fmt.Errorf("the folder has %d bytes, more than %d", len(path), longestFolder)
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
			return "", fmt.Errorf("the folder %q has a character that cannot be shown, or a backslash", path)
		}
	}
	return path, nil
}

func unprintable(r rune) bool {
	return r == '\\' || r == unicode.ReplacementChar || !unicode.IsPrint(r)
}
