package location

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// check returns what is wrong with the value of a parameter, as text that follows the parameter's
// name.
type check func(value string) error

// s3Parameters are the URL parameters of the Go CDK's S3 client, except those that are useless in a
// container (profiles of a home directory), have a better form here (disable_https: an endpoint
// with http://), or prevent writing (anonymous).
var s3Parameters = map[string]check{
	"region":                       matching(`^[a-z0-9][-a-z0-9]*$`, "a region, such as eu-central-1"),
	"endpoint":                     endpoint,
	"use_path_style":               boolean,
	"accelerate":                   boolean,
	"dualstack":                    boolean,
	"fips":                         boolean,
	"role":                         matching(`^arn:[-:/+=,.@_A-Za-z0-9]+$`, "the ARN of a role, such as arn:aws:iam::123456789012:role/backup"),
	"ssetype":                      oneOf("AES256", "aws:kms", "aws:kms:dsse"),
	"kmskeyid":                     matching(`^[-:/_A-Za-z0-9]+$`, "the id, the ARN or the alias of a key"),
	"request_checksum_calculation": oneOf("when_supported", "when_required"),
	"response_checksum_validation": oneOf("when_supported", "when_required"),
}

var gcsParameters = map[string]check{
	"universe_domain": matching(`^[a-z0-9][-.a-z0-9]*$`, "a domain, such as googleapis.com"),
}

var azureParameters = map[string]check{
	"storage_account": matching(`^[a-z0-9]{3,24}$`, "the name of a storage account: 3 to 24 lower case letters and digits"),
	"domain":          matching(`^[a-z0-9][-.a-z0-9]*(:[0-9]+)?$`, "a host, such as blob.core.usgovcloudapi.net"),
	"protocol":        oneOf("http", "https"),
	"localemu":        boolean,
}

// credentialPattern matches parameters in which other programs take credentials.
var credentialPattern = regexp.MustCompile(`(?i)key|secret|token|passw|sig|credential`)

func parameters(query string, s scheme) (map[string]string, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, errors.New(`the location's parameters cannot be read: write name=value&name=value, and "%" as "%25"`)
	}
	found := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		wrong, ok := s.parameters[name]
		value := values[name]
		switch {
		case !ok:
			return nil, unknownParameter(name, s)
		case len(value) > 1:
			return nil, fmt.Errorf("the parameter %s occurs %d times: write it once", name, len(value))
		case value[0] == "":
			return nil, fmt.Errorf("the parameter %s is empty: give it a value or remove it", name)
		}
		if err := wrong(value[0]); err != nil {
			return nil, fmt.Errorf("the parameter %s %w", name, err)
		}
		found[name] = value[0]
	}
	if len(found) == 0 {
		return nil, nil
	}
	return found, nil
}

func unknownParameter(name string, s scheme) error {
	names := slices.Sorted(maps.Keys(s.parameters))
	switch {
	case credentialPattern.MatchString(name):
		return fmt.Errorf("the parameter %s looks like a credential: remove it, credentials belong in the Secret", name)
	case len(names) == 0:
		return fmt.Errorf("the parameter %s is unknown: %s takes no parameters", name, s.example)
	default:
		return fmt.Errorf("the parameter %s is unknown: use one of %s", name, strings.Join(names, ", "))
	}
}

// validateCombination checks combinations of parameters.
func validateCombination(l Location) error {
	switch {
	case l.Parameter("kmskeyid") != "" && !strings.HasPrefix(l.Parameter("ssetype"), "aws:kms"):
		return errors.New("the parameter kmskeyid needs the parameter ssetype=aws:kms")
	case l.Is("accelerate") && l.Parameter("endpoint") != "":
		return errors.New("the parameters accelerate and endpoint exclude each other: only Amazon S3 offers acceleration")
	default:
		return nil
	}
}

func boolean(value string) error { return oneOf("true", "false")(value) }

func oneOf(values ...string) check {
	return func(value string) error {
		if slices.Contains(values, value) {
			return nil
		}
		return errors.New("is one of " + strings.Join(values, ", "))
	}
}

func matching(form, words string) check {
	re := regexp.MustCompile(form)
	return func(value string) error {
		if re.MatchString(value) {
			return nil
		}
		return errors.New("is " + words)
	}
}

func endpoint(value string) error {
	u, err := url.Parse(value)
	switch {
	case err == nil && u.User != nil:
		return errors.New("has a user or a password: remove them, credentials belong in the Secret")
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "":
		return errors.New("is the URL of a server, such as https://s3.example.com or http://minio.storage:9000")
	default:
		return nil
	}
}
