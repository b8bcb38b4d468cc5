package importer

import "strconv"

// upgradeIngress turns an Ingress of an API version that Kubernetes has removed into one of networking.k8s.io/v1.
func upgradeIngress(content map[string]any) {
	version, _ := content["apiVersion"].(string)
	if content["kind"] != "Ingress" || version != "extensions/v1beta1" && version != "networking.k8s.io/v1beta1" {
		return
	}
	content["apiVersion"] = "networking.k8s.io/v1"
	spec, _ := content["spec"].(map[string]any)
	if backend, ok := spec["backend"].(map[string]any); ok {
		spec["defaultBackend"] = upgradeBackend(backend)
		delete(spec, "backend")
	}
	rules, _ := spec["rules"].([]any)
	for _, rule := range rules {
		r, _ := rule.(map[string]any)
		http, _ := r["http"].(map[string]any)
		paths, _ := http["paths"].([]any)
		for _, path := range paths {
			upgradePath(path)
		}
	}
}

func upgradePath(path any) {
	p, ok := path.(map[string]any)
	if !ok {
		return
	}
	if p["pathType"] == nil {
		p["pathType"] = "ImplementationSpecific"
	}
	if backend, ok := p["backend"].(map[string]any); ok {
		p["backend"] = upgradeBackend(backend)
	}
}

// upgradeBackend turns serviceName and servicePort into a service.
func upgradeBackend(backend map[string]any) map[string]any {
	if backend["serviceName"] == nil {
		return backend
	}
	port := map[string]any{"number": backend["servicePort"]}
	if name, ok := backend["servicePort"].(string); ok {
		port = map[string]any{"name": name}
		if number, err := strconv.Atoi(name); err == nil {
			port = map[string]any{"number": number}
		}
	}
	return map[string]any{"service": map[string]any{"name": backend["serviceName"], "port": port}}
}
