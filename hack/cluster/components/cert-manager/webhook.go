package main

import (
	"context"

	"github.com/cert-manager/cert-manager/internal/webhook"
	logf "github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/pkg/webhook/options"
)

// webhookName is the name of the webhook's Service. Its certificate is signed by a CA that it keeps
// in a Secret, from which the CA injector takes it.
const webhookName = "cert-manager-webhook"

func runWebhook(ctx context.Context) error {
	config, err := options.NewWebhookConfiguration()
	if err != nil {
		return err
	}
	config.SecurePort = 10250
	config.TLSConfig.Dynamic.SecretNamespace = namespace
	config.TLSConfig.Dynamic.SecretName = webhookName + "-ca"
	config.TLSConfig.Dynamic.DNSNames = []string{webhookName + "." + namespace + ".svc"}
	server, err := webhook.NewCertManagerWebhookServer(logf.FromContext(ctx), *config)
	if err != nil {
		return err
	}
	return server.Run(ctx)
}
