package store

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"gocloud.dev/blob"
	"gocloud.dev/blob/azureblob"

	"example.com/nginx-operator/internal/backup/location"
)

func openAzure(ctx context.Context, l location.Location, t *transport) (*blob.Bucket, error) {
	// With redirects, a token would be sent to any host that a response names.
	options := azcore.ClientOptions{Transport: t.client(false)}
	client, err := azureClient(l, &container.ClientOptions{ClientOptions: options})
	if err != nil {
		return nil, err
	}
	return azureblob.OpenBucket(ctx, client, nil)
}

// azureClient uses the same credentials as Azure's tools, in the same order of preference.
func azureClient(l location.Location, o *container.ClientOptions) (*container.Client, error) {
	account, key := os.Getenv("AZURE_STORAGE_ACCOUNT"), os.Getenv("AZURE_STORAGE_KEY")
	signature, connection := os.Getenv("AZURE_STORAGE_SAS_TOKEN"), os.Getenv("AZURE_STORAGE_CONNECTION_STRING")
	hasKey := account != "" && key != ""
	if connection != "" && !hasKey && signature == "" {
		client, err := container.NewClientFromConnectionString(connection, l.Bucket, o)
		if err != nil {
			return nil, fmt.Errorf("%w for Azure: AZURE_STORAGE_CONNECTION_STRING cannot be read", errNoCredentials)
		}
		return client, nil
	}
	service, err := azureURL(l)
	if err != nil {
		return nil, err
	}
	switch {
	case hasKey:
		shared, err := azblob.NewSharedKeyCredential(account, key)
		if err != nil {
			return nil, fmt.Errorf("%w for Azure: AZURE_STORAGE_KEY is not the key of an account, which is in base64", errNoCredentials)
		}
		return container.NewClientWithSharedKeyCredential(service, shared, o)
	case signature != "":
		return container.NewClientWithNoCredential(service, o)
	default:
		tokens, err := azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{ClientOptions: o.ClientOptions})
		if err != nil {
			return nil, fmt.Errorf("%w for Azure: put AZURE_STORAGE_ACCOUNT and AZURE_STORAGE_KEY into the Secret (%w)", errNoCredentials, err)
		}
		return container.NewClient(service, tokens, o)
	}
}

// azureURL returns the URL of the container. It may include a shared access signature, which the
// author of a location must not be able to send to a host of their choice. So with a signature,
// only the environment names the host.
func azureURL(l location.Location) (string, error) {
	options := azureblob.NewDefaultServiceURLOptions()
	own, _ := azureblob.NewServiceURL(options)
	if account := l.Parameter("storage_account"); account != "" {
		options.AccountName = account
	}
	if domain := l.Parameter("domain"); domain != "" {
		options.StorageDomain = domain
	}
	if protocol := l.Parameter("protocol"); protocol != "" {
		options.Protocol = protocol
	}
	options.IsLocalEmulator = options.IsLocalEmulator || l.Is("localemu")
	if options.AccountName == "" {
		return "", errors.New("the storage account is unknown: name it in the location, ?storage_account=…, or in AZURE_STORAGE_ACCOUNT of the Secret")
	}
	service, err := azureblob.NewServiceURL(options)
	if err != nil {
		return "", err
	}
	if options.SASToken != "" && service != own {
		return "", errors.New("with AZURE_STORAGE_SAS_TOKEN, the location must name the same account, domain and protocol as the Secret: " +
			"put AZURE_STORAGE_ACCOUNT, AZURE_STORAGE_DOMAIN and AZURE_STORAGE_PROTOCOL into it")
	}
	return url.JoinPath(string(service), l.Bucket)
}
