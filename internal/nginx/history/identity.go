package history

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/configenv"
)

// Inputs returns the part of a spec that the pod template is built from, in a normal form: equal
// meanings give equal inputs.
func Inputs(spec *v1alpha2.NginxOperatorSpec) v1alpha2.NginxOperatorSpec {
	return v1alpha2.NginxOperatorSpec{
		Image:  spec.Image,
		Config: podConfig(spec.Config),
		ImagePullSecrets: slices.SortedFunc(slices.Values(spec.ImagePullSecrets), func(a, b v1alpha2.SecretReference) int {
			return cmp.Compare(a.Name, b.Name)
		}),
		ServiceAccount: podServiceAccount(spec.ServiceAccount),
		Ports:          podPorts(spec.Ports),
		ForceRedeploy:  spec.ForceRedeploy,
		Content: slices.SortedFunc(slices.Values(spec.Content), func(a, b v1alpha2.Content) int {
			return cmp.Compare(a.MountPath, b.MountPath)
		}),
		TLS: slices.SortedFunc(slices.Values(podCertificates(spec.TLS)), func(a, b v1alpha2.Certificate) int {
			return cmp.Compare(a.Name, b.Name)
		}),
		Resources:   spec.Resources,
		PodTemplate: spec.PodTemplate,
		Drain:       spec.Drain,
		Metrics:     spec.Metrics,
	}
}

// podConfig returns the part of a configuration that pods mount: the objects with the values of its variables. Pods do not
// depend on the names of the variables, or on their order.
func podConfig(config *v1alpha2.Config) *v1alpha2.Config {
	objects := configenv.Objects(config)
	if len(objects) == 0 {
		return nil
	}
	mounted := &v1alpha2.Config{}
	for _, o := range objects {
		if len(o.Keys) == 0 {
			mounted.EnvFrom = append(mounted.EnvFrom, wholeObject(o))
		}
		for _, key := range o.Keys {
			mounted.Env = append(mounted.Env, v1alpha2.ConfigEnvVar{ValueFrom: keyOf(o, key)})
		}
	}
	return mounted
}

func wholeObject(o configenv.Object) v1alpha2.ConfigEnvFromSource {
	if o.Kind == configenv.Secret {
		return v1alpha2.ConfigEnvFromSource{SecretRef: &v1alpha2.SecretReference{Name: o.Object}}
	}
	return v1alpha2.ConfigEnvFromSource{ConfigMapRef: &v1alpha2.ConfigMapReference{Name: o.Object}}
}

func keyOf(o configenv.Object, key string) *v1alpha2.ConfigEnvVarSource {
	reference := &v1alpha2.KeyReference{Name: o.Object, Key: key}
	if o.Kind == configenv.Secret {
		return &v1alpha2.ConfigEnvVarSource{SecretKeyRef: reference}
	}
	return &v1alpha2.ConfigEnvVarSource{ConfigMapKeyRef: reference}
}

// podServiceAccount returns the part of a ServiceAccount that pods refer to.
func podServiceAccount(account *v1alpha2.ServiceAccount) *v1alpha2.ServiceAccount {
	if account == nil || account.Name == nil {
		return nil
	}
	return &v1alpha2.ServiceAccount{Name: account.Name}
}

// podPorts returns the ports without the fields that only affect the Service.
func podPorts(ports []v1alpha2.Port) []v1alpha2.Port {
	ports = slices.Clone(ports)
	for i := range ports {
		ports[i].NodePort = nil
	}
	return ports
}

// podCertificates returns the certificates without the part that only affects how their Secrets are
// filled.
func podCertificates(all []v1alpha2.Certificate) []v1alpha2.Certificate {
	all = slices.Clone(all)
	for i := range all {
		all[i].Certificate = nil
	}
	return all
}

// Hash returns a hash of a value that is the same in every release. JSON leaves out unset fields,
// so fields that are added later do not change it.
func Hash(value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	return sum(string(text)), nil
}

func sum(parts ...string) string {
	s := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(s[:8])
}

// NameHash returns the part of a ControllerRevision's name that identifies the revision.
func NameHash(template, config string) string { return sum(template, config)[:10] }

// Attempt returns a hash of what is requested: the pods, the configuration, and how to roll them
// out. It does not include the number of replicas, since an autoscaler that changes it must not
// repeat a bad rollout. Nor does it include onFailure, which can be decided afterwards, or the
// gates that the rollout waits for before it begins.
func Attempt(pods, config string, rollout *v1alpha2.Rollout) (string, error) {
	if rollout != nil {
		how := *rollout
		how.OnFailure, how.Gates, how.Paused = "", nil, nil
		rollout = &how
		if apiequality.Semantic.DeepEqual(how, v1alpha2.Rollout{}) {
			rollout = nil
		}
	}
	policy, err := json.Marshal(rollout)
	if err != nil {
		return "", err
	}
	return sum(pods, config, string(policy)), nil
}
