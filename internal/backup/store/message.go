package store

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	"google.golang.org/api/googleapi"
)

// responseCode returns the error code and the HTTP status of a cloud's response, and reports whether
// the error is a response.
func responseCode(err error) (code string, status int, ok bool) {
	if r, is := errors.AsType[*awshttp.ResponseError](err); is {
		status, ok = r.HTTPStatusCode(), true
	}
	if a, is := errors.AsType[smithy.APIError](err); is {
		return a.ErrorCode(), status, true
	}
	if r, is := errors.AsType[*azcore.ResponseError](err); is {
		return r.ErrorCode, r.StatusCode, true
	}
	if g, is := errors.AsType[*googleapi.Error](err); is {
		if len(g.Errors) > 0 {
			code = g.Errors[0].Reason
		}
		return code, g.Code, true
	}
	return "", status, ok
}

// providerMessage returns the message of a cloud, without the names, ids and headers of requests that its
// client adds.
func providerMessage(err error) string {
	if a, ok := errors.AsType[smithy.APIError](err); ok && a.ErrorCode() != "" {
		return strings.TrimSuffix(a.ErrorCode()+": "+a.ErrorMessage(), ": ")
	}
	if r, ok := errors.AsType[*azcore.ResponseError](err); ok {
		if r.RawResponse != nil {
			return fmt.Sprintf("%s: %s", r.ErrorCode, r.RawResponse.Status)
		}
		return fmt.Sprintf("%s: %d", r.ErrorCode, r.StatusCode)
	}
	if g, ok := errors.AsType[*googleapi.Error](err); ok && g.Message != "" {
		return fmt.Sprintf("%s (%d)", g.Message, g.Code)
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return fileMessage(p)
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		return urlErrorMessage(u)
	}
	return wrapping.ReplaceAllString(err.Error(), "")
}

// fileMessage returns the message of an operation on a file. A denial names the user and the groups, because an administrator has to give one of them access.
func fileMessage(e *fs.PathError) string {
	message := e.Op + ": " + e.Err.Error()
	if !errors.Is(e.Err, fs.ErrPermission) {
		return message
	}
	groups, err := os.Getgroups()
	if err != nil {
		groups = nil
	}
	if group := os.Getgid(); !slices.Contains(groups, group) {
		groups = append(groups, group)
	}
	return fmt.Sprintf("%s: the job runs as user %d with the groups %s: let one of them write to the volume", message, os.Getuid(), strings.Trim(fmt.Sprint(groups), "[]"))
}

// wrapping matches the prefix that the Go CDK adds to each error.
var wrapping = regexp.MustCompile(`^blob (\(key "[^"]*"\) )?\(code=\w+\): `)

// urlErrorMessage returns the error with the name of the server, unless the error already contains it.
func urlErrorMessage(e *url.Error) string {
	u, err := url.Parse(e.URL)
	if err != nil || strings.Contains(e.Err.Error(), u.Hostname()) {
		return e.Err.Error()
	}
	return u.Host + ": " + e.Err.Error()
}

// secrets holds values that no message may contain.
type secrets []string

// secretVariables are the environment variables of the clouds that hold credentials. The id of a
// key is not secret by itself, but identifies the key.
var secretVariables = []string{
	"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN",
	"AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_CONNECTION_STRING", "AZURE_STORAGEBLOB_CONNECTIONSTRING",
	"AZURE_CLIENT_SECRET", "AZURE_CLIENT_CERTIFICATE_PASSWORD", "AZURE_PASSWORD",
}

// shortestSecret is the length from which values are hidden, in bytes. Shorter ones occur in
// ordinary words.
const shortestSecret = 6

func environment() secrets {
	var s secrets
	for _, name := range secretVariables {
		if value := os.Getenv(name); len(value) >= shortestSecret {
			s = append(s, value)
		}
	}
	return s
}

// query matches the query of a URL in a text, which may be a shared access signature.
var query = regexp.MustCompile(`(://[^\s"'?]*)\?[^\s"']*`)

// longest bounds the message of a store, in bytes, since it becomes part of a condition.
const longest = 400

// hide returns the text on one line, shortened and without secrets.
func (s secrets) hide(text string) string {
	for _, secret := range s {
		text = strings.ReplaceAll(text, secret, "…")
	}
	text = query.ReplaceAllString(text, "$1")
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return text
}
