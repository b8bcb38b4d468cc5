package store

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"

	"example.com/nginx-operator/internal/backup/location"
)

// errNoCredentials leads to an error of the kind Denied.
var errNoCredentials = errors.New("there are no credentials")

// privateRegion is the region that servers without regions expect in a signature.
const privateRegion = "us-east-1"

// openS3 creates the client itself, because the Go CDK's URL opener does not accept a transport.
func openS3(ctx context.Context, l location.Location, t *transport) (*blob.Bucket, error) {
	cfg, err := config.LoadDefaultConfig(ctx, loadOptions(l, t)...)
	if err != nil {
		return nil, err
	}
	if cfg.Region == "" {
		if l.Parameter("endpoint") == "" {
			return nil, errors.New("the region is unknown: name it in the location, ?region=…, or in the variable AWS_REGION")
		}
		cfg.Region = privateRegion
	}
	if role := l.Parameter("role"); role != "" {
		cfg.Credentials = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(cfg), role))
	}
	if err := checkS3Credentials(ctx, cfg); err != nil {
		return nil, err
	}
	client := s3.NewFromConfig(cfg, func(o *s3.Options) {
		o.HTTPClient = s3Client{cfg.HTTPClient}
		// It would log a line for every object with more than one part.
		o.DisableLogOutputChecksumValidationSkipped = true
		o.UsePathStyle = l.Is("use_path_style")
		o.UseAccelerate = l.Is("accelerate")
		if endpoint := l.Parameter("endpoint"); endpoint != "" {
			o.BaseEndpoint = aws.String(endpoint)
		}
	})
	return s3blob.OpenBucket(ctx, client, l.Bucket, &s3blob.Options{
		EncryptionType:             types.ServerSideEncryption(l.Parameter("ssetype")),
		KMSEncryptionID:            l.Parameter("kmskeyid"),
		RequestChecksumCalculation: cfg.RequestChecksumCalculation,
	})
}

// smallUploads returns a function for blob.WriterOptions.BeforeWrite. The transfer manager reads
// the first 16 MiB of every object into memory, in order to send smaller objects in one request,
// and the Go CDK has no option for that. The function lowers this threshold to the size of a part.
func smallUploads(bucket *blob.Bucket, partSize int) func(as func(any) bool) error {
	return func(as func(any) bool) error {
		var manager *transfermanager.Client
		var client *s3.Client
		if !as(&manager) || !bucket.As(&client) {
			return errors.New("the Go CDK no longer exposes its S3 client")
		}
		*manager = *transfermanager.New(client, func(o *transfermanager.Options) {
			o.RequestChecksumCalculation = client.Options().RequestChecksumCalculation
			o.PartSizeBytes, o.MultipartUploadThreshold, o.Concurrency = int64(partSize), int64(partSize), 1
		})
		return nil
	}
}

func loadOptions(l location.Location, t *transport) []func(*config.LoadOptions) error {
	// The variable AWS_CA_BUNDLE requires a client of this type.
	client := awshttp.NewBuildableClient().WithTransportOptions(t.configure)
	options := []func(*config.LoadOptions) error{config.WithHTTPClient(client)}
	if region := l.Parameter("region"); region != "" {
		options = append(options, config.WithRegion(region))
	}
	if l.Is("dualstack") {
		options = append(options, config.WithUseDualStackEndpoint(aws.DualStackEndpointStateEnabled))
	}
	if l.Is("fips") {
		options = append(options, config.WithUseFIPSEndpoint(aws.FIPSEndpointStateEnabled))
	}
	// Some servers do not support checksums in trailers.
	switch l.Parameter("request_checksum_calculation") {
	case "when_required":
		options = append(options, config.WithRequestChecksumCalculation(aws.RequestChecksumCalculationWhenRequired))
	case "when_supported":
		options = append(options, config.WithRequestChecksumCalculation(aws.RequestChecksumCalculationWhenSupported))
	}
	switch l.Parameter("response_checksum_validation") {
	case "when_required":
		options = append(options, config.WithResponseChecksumValidation(aws.ResponseChecksumValidationWhenRequired))
	case "when_supported":
		options = append(options, config.WithResponseChecksumValidation(aws.ResponseChecksumValidationWhenSupported))
	}
	return options
}

// s3Client records the requests for objects.
type s3Client struct{ next aws.HTTPClient }

// Do sends a request.
func (c s3Client) Do(r *http.Request) (*http.Response, error) { return send(r, c.next.Do) }

// checkS3Credentials returns an error at once if there are no credentials. Otherwise the client
// would ask the identity service of the node before every request, and report that as the failure.
func checkS3Credentials(ctx context.Context, cfg aws.Config) error {
	_, err := cfg.Credentials.Retrieve(ctx)
	if err == nil || ctx.Err() != nil {
		return err
	}
	if _, _, ok := responseCode(err); ok {
		return fmt.Errorf("get credentials: %w", err)
	}
	return fmt.Errorf("%w for S3: put AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY into the Secret (%w)", errNoCredentials, err)
}
