package view

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/internal/plugin/encode"
)

// specFile is the name under which a diff has the spec of a revision.
const specFile = "spec.yaml"

// ReadRevision returns the spec and the configuration of a revision as files. The number 0 stands for the newest one.
func ReadRevision(ctx context.Context, c client.Client, nginx *v1alpha2.NginxOperator, number int64) (Config, error) {
	found := &appsv1.ControllerRevisionList{}
	if err := c.List(ctx, found, client.InNamespace(nginx.Namespace), client.MatchingLabels(naming.SelectorLabels(nginx.Name))); err != nil {
		return Config{}, err
	}
	if number == 0 {
		for _, r := range found.Items {
			number = max(number, r.Revision)
		}
	}
	at := slices.IndexFunc(found.Items, func(r appsv1.ControllerRevision) bool { return r.Revision == number })
	if at < 0 {
		return Config{}, fmt.Errorf("%s has no revision %d: kubectl nginx history %s -n %s lists them", nginx.Name, number, nginx.Name, nginx.Namespace)
	}
	return contentOf(&found.Items[at])
}

// contentOf returns what a user has declared for a revision.
func contentOf(object *appsv1.ControllerRevision) (Config, error) {
	revision := history.Revision{Name: object.Name, Raw: object.Data.Raw}
	data, err := revision.Data()
	if err != nil {
		return Config{}, err
	}
	spec, err := encode.YAML(data.Spec)
	if err != nil {
		return Config{}, fmt.Errorf("read revision %d: %w", object.Revision, err)
	}
	files := data.Config.Files.User()
	if files == nil {
		files = nginxconf.Files{}
	}
	files[specFile] = string(spec)
	return Config{Name: fmt.Sprintf("revision %d", object.Revision), Files: files}, nil
}
