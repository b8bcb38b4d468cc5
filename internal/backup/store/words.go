package store

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"regexp"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	"google.golang.org/api/googleapi"
)

// answered is what a cloud answered: its code for the error, and the status of the response,
// if the error is an answer.
func answered(err error) (code string, status int, ok bool) {
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

// words are what a cloud said, without the requests' names, ids and headers that its client
// puts around it.
func words(err error) string {
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
		return p.Op + ": " + p.Err.Error()
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		return unreachable(u)
	}
	return wrapping.ReplaceAllString(err.Error(), "")
}

// wrapping is what the Go CDK puts before each error.
var wrapping = regexp.MustCompile(`^blob (\(key "[^"]*"\) )?\(code=\w+\): `)

// unreachable names the server, unless the error does.
func unreachable(e *url.Error) string {
	u, err := url.Parse(e.URL)
	if err != nil || strings.Contains(e.Err.Error(), u.Hostname()) {
		return e.Err.Error()
	}
	return u.Host + ": " + e.Err.Error()
}

// secrets are values that no text may have.
type secrets []string

// secretVariables are those of the clouds' variables that are credentials. The id of a key is
// none, but says which key to look for.
var secretVariables = []string{
	"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN",
	"AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_CONNECTION_STRING", "AZURE_STORAGEBLOB_CONNECTIONSTRING",
	"AZURE_CLIENT_SECRET", "AZURE_CLIENT_CERTIFICATE_PASSWORD", "AZURE_PASSWORD",
}

// shortestSecret keeps short values, which are in many words, from being hidden.
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

// query is that of a URL in a text: a shared access signature is one.
var query = regexp.MustCompile(`(://[^\s"'?]*)\?[^\s"']*`)

// longest is how much of a store's words is kept, in bytes: they go into a condition.
const longest = 400

// hide makes a line of a text that can be shown to anyone.
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
