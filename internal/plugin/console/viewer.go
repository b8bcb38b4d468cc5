package console

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"sync/atomic"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"example.com/nginx-operator/internal/plugin/pods"
)

// Viewers identifies viewers.
type Viewers interface {
	// Of returns the viewer of a request. It sends no request to the API server.
	Of(r *http.Request) (*Viewer, error)
}

// viewerID distinguishes viewers: the hash of the token or of the user's name, or zero where there is one viewer only.
type viewerID [sha256.Size]byte

// Viewer is whose rights requests to the API server use.
type Viewer struct {
	id   viewerID
	raw  rest.Interface
	pods *pods.Client
	// account is what owner found out.
	account atomic.Pointer[viewerID]
}

// ownerTimeout bounds the time for which a stream waits for the name of its viewer.
const ownerTimeout = 5 * time.Second

// owner identifies the user of a viewer, who may have any number of tokens. Where the API server does not say the name, it
// identifies the token.
func (v *Viewer) owner(ctx context.Context) viewerID {
	if v.id == (viewerID{}) {
		return v.id
	}
	if known := v.account.Load(); known != nil {
		return *known
	}
	bounded, cancel := context.WithTimeout(ctx, ownerTimeout)
	defer cancel()
	name, err := v.user(bounded)
	if err != nil || name == "" {
		return v.id
	}
	id := viewerID(sha256.Sum256([]byte("user " + name)))
	v.account.Store(&id)
	return id
}

// NewViewer returns the viewer of a configuration of a client.
func NewViewer(config *rest.Config) (*Viewer, error) {
	config = rest.CopyConfig(config)
	// Streams have no end, and a page sends few requests.
	config.Timeout, config.QPS, config.Burst = 0, -1, 0
	config.NegotiatedSerializer = serializer.WithoutConversionCodecFactory{CodecFactory: scheme.Codecs}
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	raw, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, err
	}
	instances, err := pods.New(config)
	return &Viewer{raw: raw, pods: instances}, err
}

// user returns the name of the viewer; empty: the API server does not say it.
func (v *Viewer) user(ctx context.Context) (string, error) {
	review := &authenticationv1.SelfSubjectReview{TypeMeta: metav1.TypeMeta{APIVersion: "authentication.k8s.io/v1", Kind: "SelfSubjectReview"}}
	err := v.raw.Post().AbsPath("/apis/authentication.k8s.io/v1/selfsubjectreviews").Body(review).Do(ctx).Into(review)
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return "", nil
	}
	return review.Status.UserInfo.Username, err
}

// local is the viewer of a console that one user runs.
type local struct {
	token  string
	viewer *Viewer
}

// NewLocal returns the one viewer of a console, and the token that its requests carry.
func NewLocal(config *rest.Config) (Viewers, string, error) {
	v, err := NewViewer(config)
	if err != nil {
		return nil, "", err
	}
	l := &local{token: rand.Text(), viewer: v}
	return l, l.token, nil
}

// Of returns the viewer if the request has the token.
func (l *local) Of(r *http.Request) (*Viewer, error) {
	if subtle.ConstantTimeCompare([]byte(bearer(r)), []byte(l.token)) != 1 {
		return nil, errUnknownViewer
	}
	return l.viewer, nil
}
