package location_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/backup/location"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]location.Location{
		"pvc://claim":                {Scheme: location.PVC, Bucket: "claim"},
		"pvc://claim/":               {Scheme: location.PVC, Bucket: "claim"},
		"pvc://claim/a/b/":           {Scheme: location.PVC, Bucket: "claim", Folder: "a/b"},
		"pvc://claim.v1/with%20room": {Scheme: location.PVC, Bucket: "claim.v1", Folder: "with room"},
		"s3://bucket/folder?region=eu-central-1": {Scheme: location.S3, Bucket: "bucket", Folder: "folder",
			Parameters: map[string]string{"region": "eu-central-1"}},
		"s3://old_Bucket?use_path_style=true&endpoint=http://minio.storage:9000": {Scheme: location.S3, Bucket: "old_Bucket",
			Parameters: map[string]string{"endpoint": "http://minio.storage:9000", "use_path_style": "true"}},
		"s3://bucket?endpoint=https%3A%2F%2F%5B::1%5D%3A9000": {Scheme: location.S3, Bucket: "bucket",
			Parameters: map[string]string{"endpoint": "https://[::1]:9000"}},
		"s3://bucket?kmskeyid=alias/backups&ssetype=aws:kms": {Scheme: location.S3, Bucket: "bucket",
			Parameters: map[string]string{"kmskeyid": "alias/backups", "ssetype": "aws:kms"}},
		"gs://my.bucket_1/folder": {Scheme: location.GCS, Bucket: "my.bucket_1", Folder: "folder"},
		"azblob://container/folder?domain=127.0.0.1:10000&localemu=true&protocol=http&storage_account=account": {
			Scheme: location.Azure, Bucket: "container", Folder: "folder",
			Parameters: map[string]string{"domain": "127.0.0.1:10000", "localemu": "true", "protocol": "http", "storage_account": "account"}},
		"azblob://$root": {Scheme: location.Azure, Bucket: "$root"},
	} {
		got, err := location.Parse(text)
		if err != nil {
			t.Errorf("Parse(%q): %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Parse(%q), -want +got:\n%s", text, diff)
		}
		again, err := location.Parse(got.String())
		if err != nil {
			t.Errorf("Parse(%q), the text of %q: %v", got, text, err)
		}
		if diff := cmp.Diff(got, again); diff != "" {
			t.Errorf("the text %q of %q is another location:\n%s", got, text, diff)
		}
	}
}

func TestString(t *testing.T) {
	t.Parallel()
	l, err := location.Parse("s3://bucket//a%20b//?use_path_style=true&region=x&endpoint=http://minio:9000")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := l.String(), "s3://bucket/a%20b?endpoint=http://minio:9000&region=x&use_path_style=true"; got != want {
		t.Errorf("String() is %q, want %q", got, want)
	}
	if got, want := l.Base(), "s3://bucket/a%20b"; got != want {
		t.Errorf("Base() is %q, want %q", got, want)
	}
	if !l.Is("use_path_style") || l.Is("fips") || l.Parameter("region") != "x" {
		t.Errorf("parameters %v", l.Parameters)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                                 "is empty: write pvc://",
		"backups":                                          "no scheme: write pvc://",
		"ftp://host/folder":                                `the scheme "ftp" is unknown: write pvc://`,
		"file:///backups":                                  "pvc://claim/folder",
		"https://minio:9000/bucket":                        "s3://bucket/folder?endpoint=https://host:port&use_path_style=true",
		"s3:bucket/folder":                                 "two slashes after the scheme",
		"s3://":                                            "names no bucket",
		"pvc:///folder":                                    "names no claim",
		"azblob:///folder":                                 "names no container",
		"s3://minio:9000/bucket":                           "endpoint=http://minio:9000",
		"s3://me:SECRET@bucket/folder":                     "belong in the Secret",
		"s3://SECRET@bucket/folder":                        "belong in the Secret",
		"s3://me:SECR%ET@bucket/folder":                    "is not a URL",
		"s3://bucket/%zz":                                  "is not a URL",
		"s3://bucket/folder#SECRET":                        `write it as "%23"`,
		"pvc://Claim/folder":                               "PersistentVolumeClaim",
		"gs://Bucket":                                      "lower case",
		"azblob://a_container":                             "lower case",
		"s3://ab":                                          "3 or more",
		"pvc://claim/../other":                             `a part ".."`,
		"pvc://claim/a/%2e%2e/%2e%2e/etc":                  `a part ".."`,
		"pvc://claim/a%2F..%2Fb":                           `a part ".."`,
		"pvc://claim/./a":                                  `a part "."`,
		"pvc://claim/a//b":                                 "two slashes in a row",
		"pvc://claim/a%00b":                                "unprintable character",
		`pvc://claim/a%5Cb`:                                "a backslash",
		"pvc://claim/a%FFb":                                "unprintable character",
		"pvc://claim/" + long:                              "at most 512 are allowed",
		"pvc://claim/a?region=x":                           "pvc://claim/folder takes no parameters",
		"s3://bucket?regoin=x":                             "use one of accelerate, dualstack, endpoint,",
		"s3://bucket?profile=x":                            "is unknown: use one of",
		"s3://bucket?aws_token=SECRET":                     "looks like a credential",
		"azblob://container?sig=SECRET":                    "looks like a credential",
		"s3://bucket?region=x&region=y":                    "2 times",
		"s3://bucket?region=":                              "is empty",
		"s3://bucket?region=x;y":                           "cannot be read",
		"s3://bucket?region=Frankfurt am M.":               "such as eu-central-1",
		"s3://bucket?use_path_style=yes":                   "is one of true, false",
		"s3://bucket?endpoint=minio:9000":                  "such as https://s3.example.com",
		"s3://bucket?endpoint=//minio":                     "such as https://s3.example.com",
		"s3://bucket?endpoint=http://m?x=y":                "such as https://s3.example.com",
		"s3://bucket?endpoint=http://me:SECRET@minio:9000": "belong in the Secret",
		"s3://bucket?role=backup":                          "such as arn:aws:iam",
		"s3://bucket?ssetype=rot13":                        "AES256",
		"s3://bucket?kmskeyid=abc":                         "needs the parameter ssetype=aws:kms",
		"s3://bucket?accelerate=true&endpoint=http://minio:900": "exclude each other",
		"gs://bucket?endpoint=x":                                "use one of universe_domain",
		"azblob://container?protocol=ftp":                       "one of http, https",
		"azblob://container?storage_account=Mine":               "lower case letters and digits",
		"azblob://container?domain=a/b":                         "is a host",
	} {
		_, err := location.Parse(text)
		switch {
		case err == nil:
			t.Errorf("Parse(%q) accepts it", text)
		case !strings.Contains(err.Error(), want):
			t.Errorf("Parse(%q): %v, want %q", text, err, want)
		case strings.Contains(err.Error(), "SECR"):
			t.Errorf("Parse(%q): %v, which repeats the secret", text, err)
		}
	}
}

var long = strings.Repeat("a", 513)

func FuzzParse(f *testing.F) {
	f.Add("s3://bucket/folder?region=x&endpoint=http://minio:9000")
	f.Add("pvc://claim/a%20b")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := location.Parse(text)
		if err != nil {
			return
		}
		again, err := location.Parse(l.String())
		if err != nil {
			t.Fatalf("Parse(%q) of %q: %v", l, text, err)
		}
		if diff := cmp.Diff(l, again); diff != "" {
			t.Errorf("%q becomes %q:\n%s", text, l, diff)
		}
		if strings.Contains("/"+l.Folder+"/", "/../") {
			t.Errorf("%q leaves the folder", text)
		}
	})
}
