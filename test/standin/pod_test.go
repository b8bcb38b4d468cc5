package standin

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// TestReportIsRepeated: a report whose answer was lost is sent again with the same text, however late.
func TestReportIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &batchv1.Job{}
		j.Namespace, j.Name = "shop", "web-1"
		j.Spec.Template.Labels = map[string]string{}
		var reports []string
		kube := interceptor.NewClient(fake.NewClientBuilder().WithObjects(j.DeepCopy()).WithStatusSubresource(j).Build(), interceptor.Funcs{
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
				err := c.SubResource(sub).Patch(ctx, object, patch, options...)
				if _, ok := object.(*batchv1.Job); !ok || err != nil {
					return err
				}
				text, err := patch.Data(object)
				if err != nil {
					return err
				}
				if reports = append(reports, string(text)); len(reports) == 1 {
					time.Sleep(2 * time.Second)
					return errors.New("http2: client connection lost")
				}
				return nil
			},
		})
		p := &pod{kube: kube, place: &NodeStorage{fate: func(*batchv1.Job) Fate { return Fate{Killed: true} }}, job: j, ended: make(chan struct{})}
		if err := p.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(reports) != 2 || reports[0] != reports[1] {
			t.Errorf("the reports are %v", reports)
		}
	})
}
