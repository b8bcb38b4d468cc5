package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"cloud.google.com/go/storage"
	"gocloud.dev/blob"
	"gocloud.dev/blob/gcsblob"
	"gocloud.dev/gcp"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"google.golang.org/api/option"

	"example.com/nginx-operator/internal/backup/location"
)

const (
	googleScope = "https://www.googleapis.com/auth/devstorage.read_write"
	// googleAttempts bounds the attempts of Google's client, which would retry forever.
	googleAttempts = 4
)

func openGCS(ctx context.Context, l location.Location, t *transport, file string) (*blob.Bucket, error) {
	var options []option.ClientOption
	if domain := l.Parameter("universe_domain"); domain != "" {
		options = append(options, option.WithUniverseDomain(domain))
	}
	client := &gcp.HTTPClient{Client: *t.client(true)}
	// Google's client reads the same variable. It is for emulators, which do not support tokens.
	if os.Getenv("STORAGE_EMULATOR_HOST") != "" {
		options = append(options, option.WithHTTPClient(&client.Client))
	} else {
		tokens, err := googleTokens(context.WithValue(ctx, oauth2.HTTPClient, t.client(true)), file)
		if err != nil {
			return nil, err
		}
		client.Transport = &oauth2.Transport{Base: t, Source: tokens}
	}
	bucket, err := gcsblob.OpenBucket(ctx, client, l.Bucket, &gcsblob.Options{ClientOptions: options})
	if err != nil {
		return nil, err
	}
	var api *storage.Client
	if bucket.As(&api) {
		api.SetRetry(storage.WithMaxAttempts(googleAttempts), storage.WithPolicy(storage.RetryAlways), storage.WithErrorFunc(worthRetrying))
	}
	return bucket, nil
}

func worthRetrying(err error) bool {
	_, stalled := errors.AsType[*stalledError](err)
	return !stalled && storage.ShouldRetry(err)
}

// googleTokens returns tokens for the credentials in the file or, if it does not exist, for
// Google's default credentials.
func googleTokens(ctx context.Context, file string) (oauth2.TokenSource, error) {
	data, err := optional(file)
	if err != nil {
		return nil, err
	}
	if data == nil {
		found, err := google.FindDefaultCredentials(ctx, googleScope)
		if err != nil {
			return nil, fmt.Errorf("%w for Google: put google.json into the Secret (%w)", errNoCredentials, err)
		}
		return found.TokenSource, nil
	}
	var is struct {
		Type google.CredentialsType `json:"type"`
	}
	// Do not wrap the errors: they may repeat the contents of the file.
	if err := json.Unmarshal(data, &is); err != nil || is.Type == "" {
		return nil, fmt.Errorf("%w for Google: google.json is not a file of credentials in JSON", errNoCredentials)
	}
	found, err := google.CredentialsFromJSONWithType(ctx, data, is.Type, googleScope)
	if err != nil {
		return nil, fmt.Errorf("%w for Google: credentials of the type %q in google.json cannot be used", errNoCredentials, is.Type)
	}
	return found.TokenSource, nil
}
