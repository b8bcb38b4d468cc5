package bundle

import (
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/hack/release/internal/project"
)

//go:embed icon.svg
var icon []byte

//go:embed description.md
var description string

// certificates is the folder in which OLM mounts the webhook's certificate, as tls.crt and tls.key.
const certificates = "/tmp/k8s-webhook-server/serving-certs"

// samples are shown as examples of the API.
var samples = []string{
	"config/samples/v1alpha1_instance.yaml", "config/samples/v1alpha2_static_site.yaml",
	"config/samples/v1alpha2_reverse_proxy.yaml", "config/samples/v1alpha2_tls.yaml",
	"config/samples/backup_v1alpha1_policy.yaml", "config/samples/backup_v1alpha1_backup.yaml", "config/samples/backup_v1alpha1_existing.yaml",
	"config/samples/backup_v1alpha1_restore.yaml",
}

type jsonObject = map[string]any

func clusterServiceVersion(p *project.Project, manifests []project.Object) (jsonObject, error) {
	deployment, err := project.Find(manifests, "Deployment", project.Name)
	if err != nil {
		return nil, err
	}
	nginx, err := deployment.Get("spec.template.spec.containers." + project.Name + ".env.RELATED_IMAGE_NGINX.value")
	if err != nil {
		return nil, err
	}
	metadata, err := csvMetadata(p)
	if err != nil {
		return nil, err
	}
	install, err := strategy(manifests, deployment)
	if err != nil {
		return nil, err
	}
	spec := about(p)
	spec["install"] = jsonObject{"strategy": "deployment", "spec": install}
	spec["relatedImages"] = []jsonObject{{"name": project.Name, "image": p.Image()}, {"name": "nginx", "image": nginx}}
	spec["customresourcedefinitions"] = jsonObject{"owned": ownedCRDs(manifests)}
	spec["webhookdefinitions"] = webhooks(manifests)
	return jsonObject{
		"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
		"metadata": metadata, "spec": spec,
	}, nil
}

func csvName(version string) string { return project.Name + ".v" + version }

func csvMetadata(p *project.Project) (jsonObject, error) {
	examples, err := examples(p)
	if err != nil {
		return nil, err
	}
	labels := jsonObject{}
	for _, platform := range p.Release.Platforms {
		system, architecture, _ := strings.Cut(platform, "/")
		labels["operatorframework.io/os."+system] = "supported"
		labels["operatorframework.io/arch."+architecture] = "supported"
	}
	return jsonObject{
		"name": csvName(p.Version),
		// OLM replaces this by the namespace that it installs the operator in.
		"namespace": "placeholder",
		"labels":    labels,
		"annotations": jsonObject{
			"alm-examples":   examples,
			"capabilities":   "Seamless Upgrades",
			"categories":     "Networking",
			"containerImage": p.Image(),
			"createdAt":      p.Release.CreatedAt,
			"description":    "Runs nginx applications, and reloads them without a failed request",
			"olm.skipRange":  fmt.Sprintf(">=%s <%s", p.Release.SkipFrom, p.Version),
			"operatorframework.io/suggested-namespace": project.Namespace,
			"operatorframework.io/cluster-monitoring":  "false",
		},
	}, nil
}

// examples returns the samples that are objects of the operator's own kinds, as a JSON list.
func examples(p *project.Project) (string, error) {
	var all []project.Object
	for _, file := range samples {
		text, err := os.ReadFile(p.Path(file))
		if err != nil {
			return "", err
		}
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			var example project.Object
			if err := yaml.Unmarshal([]byte(document), &example); err != nil {
				return "", fmt.Errorf("%s: %w", file, err)
			}
			if apiVersion, _ := example["apiVersion"].(string); strings.Contains(apiVersion, project.Domain) {
				all = append(all, example)
			}
		}
	}
	text, err := json.MarshalIndent(all, "", "  ")
	return string(text), err
}

func about(p *project.Project) jsonObject {
	return jsonObject{
		"displayName": "nginx operator", "description": description,
		"version": p.Version, "replaces": csvName(p.Release.Replaces), "maturity": "alpha",
		"minKubeVersion": p.Release.MinKubeVersion,
		"keywords":       []string{"nginx", "web server", "reverse proxy", "static site"},
		"provider":       jsonObject{"name": "nginx-operator"},
		"maintainers":    []jsonObject{{"name": "nginx-operator", "email": "maintainers@example.com"}},
		"links":          []jsonObject{{"name": "Documentation", "url": "https://example.com/nginx-operator"}},
		"icon":           []jsonObject{{"base64data": base64.StdEncoding.EncodeToString(icon), "mediatype": "image/svg+xml"}},
		// Only this mode allows a conversion webhook.
		"installModes": []jsonObject{
			{"type": "OwnNamespace", "supported": false}, {"type": "SingleNamespace", "supported": false},
			{"type": "MultiNamespace", "supported": false}, {"type": "AllNamespaces", "supported": true},
		},
	}
}

// webhooks returns the webhook definition, which names the CRDs that are converted.
func webhooks(manifests []project.Object) []jsonObject {
	var converted []string
	var path any
	for _, crd := range crds(manifests) {
		if p, err := crd.Get("spec.conversion.webhook.clientConfig.service.path"); err == nil {
			converted, path = append(converted, crd.Name()), p
		}
	}
	return []jsonObject{{
		"type": "ConversionWebhook", "generateName": "convert." + project.Name + ".example.com",
		"deploymentName": project.Name, "containerPort": 443, "targetPort": "webhook", "webhookPath": path,
		"conversionCRDs": converted, "admissionReviewVersions": []string{"v1"}, "sideEffects": "None",
	}}
}
