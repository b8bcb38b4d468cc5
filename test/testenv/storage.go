package testenv

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// crdName is the name of the CRD of NginxOperators.
const crdName = "nginxoperators.operator.example.com"

// StoredPrefix is the prefix of the keys of NginxOperators in etcd.
const StoredPrefix = "/registry/operator.example.com/nginxoperators/"

// noticed bounds the wait until the API server has observed a changed CRD.
const noticed = time.Minute

// StoreAs makes a version the storage version and keeps the other one served. It returns when the
// API server stores new objects as that version.
func (cp *ControlPlane) StoreAs(ctx context.Context, version string) error {
	err := cp.ChangeCRD(ctx, func(crd *apiextensionsv1.CustomResourceDefinition) {
		for i := range crd.Spec.Versions {
			crd.Spec.Versions[i].Storage = crd.Spec.Versions[i].Name == version
		}
	})
	if err != nil {
		return fmt.Errorf("store NginxOperators as %s: %w", version, err)
	}
	probe := 0
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, noticed, true, func(ctx context.Context) (bool, error) {
		probe++
		return cp.probeStorage(ctx, fmt.Sprintf("storage-probe-%d", probe), version), nil
	})
	if err != nil {
		return fmt.Errorf("the API server does not store NginxOperators as %s: %w", version, err)
	}
	return nil
}

// probeStorage reports whether the API server stores a new object as the version.
func (cp *ControlPlane) probeStorage(ctx context.Context, name, version string) bool {
	probe := Object(version, "default", name)
	if err := cp.Client.Create(ctx, probe); err != nil {
		return false
	}
	stored, err := cp.Stored(ctx)
	found := stored["default/"+name]
	return cp.Client.Delete(ctx, probe) == nil && err == nil && found == version
}

// ChangeCRD updates the CRD of NginxOperators with change.
func (cp *ControlPlane) ChangeCRD(ctx context.Context, change func(*apiextensionsv1.CustomResourceDefinition)) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		crd, err := cp.LiveCRD(ctx)
		if err != nil {
			return err
		}
		change(crd)
		return cp.Client.Update(ctx, crd)
	})
}

// LiveCRD reads the CRD of NginxOperators from the API server.
func (cp *ControlPlane) LiveCRD(ctx context.Context) (*apiextensionsv1.CustomResourceDefinition, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	return crd, cp.Client.Get(ctx, client.ObjectKey{Name: crdName}, crd)
}

// SetStoredVersions sets the stored versions in the CRD's status, for example to those before a
// version was stored.
func (cp *ControlPlane) SetStoredVersions(ctx context.Context, versions ...string) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		crd, err := cp.LiveCRD(ctx)
		if err != nil {
			return err
		}
		crd.Status.StoredVersions = versions
		return cp.Client.Status().Update(ctx, crd)
	})
}

// Stored returns the version as which each NginxOperator is stored, by namespace/name. It reads
// etcd directly, because no API returns it.
func (cp *ControlPlane) Stored(ctx context.Context) (map[string]string, error) {
	query, err := json.Marshal(map[string][]byte{"key": []byte(StoredPrefix), "range_end": []byte(prefixEnd(StoredPrefix))})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, cp.env.ControlPlane.Etcd.URL.JoinPath("v3", "kv", "range").String(), bytes.NewReader(query))
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("query etcd: %w", err)
	}
	body, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return nil, fmt.Errorf("query etcd: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("etcd answers %s: %s", response.Status, body)
	}
	return storedVersions(body)
}

// prefixEnd returns the first key after all keys with a prefix, as etcd's range requests need it.
func prefixEnd(prefix string) string {
	last := len(prefix) - 1
	return prefix[:last] + string(prefix[last]+1)
}

// storedVersions parses etcd's response.
func storedVersions(answer []byte) (map[string]string, error) {
	var found struct {
		KVs []struct{ Key, Value string }
	}
	if err := json.Unmarshal(answer, &found); err != nil {
		return nil, fmt.Errorf("read etcd's answer: %w", err)
	}
	versions := map[string]string{}
	for _, kv := range found.KVs {
		key, errKey := base64.StdEncoding.DecodeString(kv.Key)
		value, errValue := base64.StdEncoding.DecodeString(kv.Value)
		var object struct{ APIVersion string }
		if err := errors.Join(errKey, errValue, json.Unmarshal(value, &object)); err != nil {
			return nil, fmt.Errorf("read %s as etcd has it: %w", key, err)
		}
		_, version, _ := strings.Cut(object.APIVersion, "/")
		versions[strings.TrimPrefix(string(key), StoredPrefix)] = version
	}
	return versions, nil
}
