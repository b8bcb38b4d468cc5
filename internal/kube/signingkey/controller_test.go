package signingkey

import (
	"bytes"
	"crypto/ed25519"
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// replica is an operator's replica that keeps the keys of the Secret.
func replica(kube client.Client, clock *clocktesting.FakePassiveClock) *Controller {
	return New(types.NamespacedName{Namespace: "system", Name: "key"}, time.Hour, kube, kube, clock)
}

func pass(t *testing.T, c *Controller) ctrl.Result {
	t.Helper()
	result, err := c.Reconcile(t.Context(), ctrl.Request{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// TestReplicas: all replicas have the same keys, the newest first, and learn of a change once.
func TestReplicas(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(start)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "key"}}
	kube := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(secret).Build()
	a, b := replica(kube, clock), replica(kube, clock)
	changes := 0
	b.OnChange(func() { changes++ })
	for _, c := range []*Controller{a, b, a, b} {
		if result := pass(t, c); result.RequeueAfter != time.Hour {
			t.Errorf("the next check is after %s", result.RequeueAfter)
		}
	}
	if len(a.Keys()) != 1 || !a.Keys()[0].Equal(b.Keys()[0]) || changes != 1 {
		t.Fatalf("%d keys, %d changes", len(a.Keys()), changes)
	}
	before := a.Keys()[0]
	clock.SetTime(start.Add(time.Hour))
	pass(t, b)
	pass(t, a)
	if keys := a.Keys(); len(keys) != 2 || !keys[1].Equal(before) || !keys[0].Equal(b.Keys()[0]) || changes != 2 {
		t.Errorf("%d keys after the rotation, %d changes", len(keys), changes)
	}
}

// TestRace: of two replicas that create a key at the same time, one succeeds, and the other takes over its key.
func TestRace(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(start)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "key"}}
	kube := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(secret).Build()
	late := replica(kube, clock)
	// Its cache does not show what the other one has written.
	late.reader = fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(secret.DeepCopy()).Build()
	first := replica(kube, clock)
	pass(t, first)
	if _, err := late.Reconcile(t.Context(), ctrl.Request{}); err == nil || len(late.Keys()) > 0 {
		t.Fatalf("the late replica has %d keys of its own (%v)", len(late.Keys()), err)
	}
	late.reader = kube
	pass(t, late)
	if !late.Keys()[0].Equal(first.Keys()[0]) {
		t.Error("the replicas have different keys")
	}
}

// TestOldCache: a replica whose cache does not show its own key yet does not replace it.
func TestOldCache(t *testing.T) {
	kube := withSecret()
	c := replica(kube, clocktesting.NewFakePassiveClock(start))
	// The cache of before. The resourceVersion is the same.
	c.reader = withSecret()
	pass(t, c)
	before := c.Keys()
	if _, err := c.Reconcile(t.Context(), ctrl.Request{}); !apierrors.IsConflict(err) {
		t.Errorf("error %v, want a conflict", err)
	}
	if !c.Keys()[0].Equal(before[0]) || !bytes.Equal(dataOf(t, kube)[dataCurrent], formatted(t, before[0])) {
		t.Error("the key was replaced")
	}
}

// TestSameKeys: a Secret with another time or other entries has the same keys, and nothing is written.
func TestSameKeys(t *testing.T) {
	kube := withSecret()
	c := replica(kube, clocktesting.NewFakePassiveClock(start))
	changes := 0
	c.OnChange(func() { changes++ })
	pass(t, c)
	data := dataOf(t, kube)
	data[dataCreated], data["note"] = []byte(start.Add(-time.Minute).Format(time.RFC3339)), []byte("x")
	setData(t, kube, data)
	pass(t, c)
	if changes != 1 || !maps.EqualFunc(data, dataOf(t, kube), bytes.Equal) {
		t.Errorf("%d changes, or the Secret was written", changes)
	}
}

// TestNextCheck: a key is checked when it is due, and at least every few hours.
func TestNextCheck(t *testing.T) {
	const lifetime = 24 * time.Hour
	for age, want := range map[time.Duration]time.Duration{
		0: checkEvery, lifetime - time.Hour: time.Hour, lifetime - time.Millisecond: time.Second, lifetime: checkEvery,
	} {
		clock := clocktesting.NewFakePassiveClock(start)
		c := replica(withSecret(), clock)
		c.lifetime = lifetime
		pass(t, c)
		clock.SetTime(start.Add(age))
		if got := pass(t, c).RequeueAfter; got != want {
			t.Errorf("a key of age %s is checked after %s, want %s", age, got, want)
		}
	}
}

// TestKeysAreCopied: a caller that changes the list changes nothing else.
func TestKeysAreCopied(t *testing.T) {
	c := replica(withSecret(), clocktesting.NewFakePassiveClock(start))
	pass(t, c)
	c.Keys()[0] = nil
	if c.Keys()[0] == nil {
		t.Error("the list is shared")
	}
}

// TestMissingSecret: the error says what to do.
func TestMissingSecret(t *testing.T) {
	kube := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).Build()
	_, err := replica(kube, clocktesting.NewFakePassiveClock(start)).Reconcile(t.Context(), ctrl.Request{})
	if want := "secret system/key does not exist: apply the operator's manifests again, which contain it"; err == nil || err.Error() != want {
		t.Errorf("error %v", err)
	}
}

// TestRevocation: emptying the Secret revokes the keys, although every replica still has them in memory. Deleting it does
// so only when it is created again.
func TestRevocation(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(start)
	empty := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "key"}}
	kube := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(empty.DeepCopy()).Build()
	a, b := replica(kube, clock), replica(kube, clock)
	pass(t, a)
	pass(t, b)
	stolen := a.Keys()[0]

	secret := &corev1.Secret{}
	if err := kube.Get(t.Context(), a.secret, secret); err != nil {
		t.Fatal(err)
	}
	secret.Data = nil
	if err := kube.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	pass(t, b)
	pass(t, a)
	second := a.Keys()
	if len(second) != 1 || second[0].Equal(stolen) || !second[0].Equal(b.Keys()[0]) {
		t.Errorf("%d keys after the Secret was emptied", len(second))
	}

	if err := kube.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Reconcile(t.Context(), ctrl.Request{}); err == nil || !a.Keys()[0].Equal(second[0]) {
		t.Errorf("without the Secret: error %v, %d keys", err, len(a.Keys()))
	}
	if err := kube.Create(t.Context(), empty.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	pass(t, a)
	if keys := a.Keys(); len(keys) != 1 || keys[0].Equal(second[0]) {
		t.Errorf("%d keys after the Secret was created again", len(keys))
	}
}

// withSecret returns a client of an API server with the Secret.
func withSecret() client.Client {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "key"}}
	return fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(secret).Build()
}

func dataOf(t *testing.T, kube client.Client) map[string][]byte {
	t.Helper()
	secret := &corev1.Secret{}
	if err := kube.Get(t.Context(), types.NamespacedName{Namespace: "system", Name: "key"}, secret); err != nil {
		t.Fatal(err)
	}
	return secret.Data
}

// setData replaces what the Secret contains, as another client does.
func setData(t *testing.T, kube client.Client, data map[string][]byte) {
	t.Helper()
	secret := &corev1.Secret{}
	if err := kube.Get(t.Context(), types.NamespacedName{Namespace: "system", Name: "key"}, secret); err != nil {
		t.Fatal(err)
	}
	secret.Data = data
	if err := kube.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
}

func formatted(t *testing.T, key ed25519.PrivateKey) []byte {
	t.Helper()
	text, err := format(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestAttempted: who waits for the keys goes on after the first attempt, also after one that failed.
func TestAttempted(t *testing.T) {
	c := replica(fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).Build(), clocktesting.NewFakePassiveClock(start))
	select {
	case <-c.Attempted():
		t.Error("nothing has been read yet")
	default:
	}
	for range 2 {
		if _, err := c.Reconcile(t.Context(), ctrl.Request{}); err == nil {
			t.Error("a missing Secret is no error")
		}
		<-c.Attempted()
	}
}
