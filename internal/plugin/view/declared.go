package view

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
)

// rolloutWaits reports whether the rollout of what the spec declares waits. Until it begins, the operator renders the running
// configuration as the requested one. What spec.rollout.toRevision pins is not what the rest of the spec declares.
func rolloutWaits(nginx *v1alpha2.NginxOperator) bool {
	if nginx.Spec.Rollout != nil && nginx.Spec.Rollout.ToRevision != nil {
		return false
	}
	c := meta.FindStatusCondition(nginx.Status.Conditions, v1alpha2.ConditionUpToDate)
	return c != nil && c.Status == metav1.ConditionFalse &&
		(c.Reason == v1alpha2.ReasonWaitingForGate || c.Reason == v1alpha2.ReasonRolloutPaused)
}

// readDeclared returns the configuration that the spec declares. It has no revision, because the operator has not rendered it.
func readDeclared(ctx context.Context, c client.Client, nginx *v1alpha2.NginxOperator) (Config, error) {
	declared := Config{Name: "requested", Files: map[string]string{}}
	switch config := nginx.Spec.Config; {
	case config == nil:
		return readBuiltIn(ctx, c, nginx)
	case config.ConfigMap != nil:
		found := &corev1.ConfigMap{}
		err := c.Get(ctx, client.ObjectKey{Namespace: nginx.Namespace, Name: config.ConfigMap.Name}, found)
		if err != nil {
			return declared, declaredError(err, nginx, config.ConfigMap.Name)
		}
		maps.Copy(declared.Files, found.Data)
	default:
		for name, text := range config.Files {
			declared.Files[name] = string(text)
		}
	}
	return declared, nil
}

// readBuiltIn returns the built-in configuration if it runs already. The plugin cannot render it, because it depends on the IP
// families of the cluster.
func readBuiltIn(ctx context.Context, c client.Client, nginx *v1alpha2.NginxOperator) (Config, error) {
	if valid := meta.FindStatusCondition(nginx.Status.Conditions, v1alpha2.ConditionConfigValid); valid != nil && valid.Reason == v1alpha2.ReasonConfigPending {
		return Config{}, fmt.Errorf("the rollout of %s waits before nginx has tested the built-in configuration that it requests, and only the operator can render that: kubectl nginx explain %s -n %s says what it waits for",
			nginx.Name, nginx.Name, nginx.Namespace)
	}
	return readConfigMap(ctx, c, nginx, "requested", naming.ConfigMapNext(nginx.Name))
}

// declaredError says why the ConfigMap that the spec names cannot be read, and what to do.
func declaredError(err error, nginx *v1alpha2.NginxOperator, name string) error {
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("ConfigMap %s, named by spec.config of %s, does not exist in namespace %s: create it, or change spec.config: %w", name, nginx.Name, nginx.Namespace, err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("the rollout of %s waits, so its requested configuration is in ConfigMap %s, which you may not read (get configmaps); ConfigMap %s has the running one: %w",
			nginx.Name, name, naming.ConfigMapNext(nginx.Name), err)
	}
	return err
}
