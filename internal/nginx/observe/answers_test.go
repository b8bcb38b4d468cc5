package observe

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/types"

	"example.com/nginx-operator/internal/boundedjson"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/kube/budget"
)

// TestAnswersAreBounded: answers that take too much memory are not kept, the pass says why, and the pods of other namespaces are
// not concerned.
func TestAnswersAreBounded(t *testing.T) {
	honest := instanceapi.Status{Serving: "r1", Ready: true}
	large := honest
	large.NotReady = strings.Repeat("x", 4<<10)
	huge := honest
	for range 32 {
		huge.Revisions = append(huge.Revisions, instanceapi.Revision{Revision: strings.Repeat("r", 8<<10)})
	}
	synctest.Test(t, func(t *testing.T) {
		answers := map[string]func() (instanceapi.Status, error){
			"10.0.0.1": func() (instanceapi.Status, error) { return honest, nil },
			"10.0.0.2": func() (instanceapi.Status, error) { return huge, nil },
			"10.0.0.3": func() (instanceapi.Status, error) {
				return instanceapi.Status{}, fmt.Errorf("read the status: %w", &boundedjson.LimitError{What: "values", Limit: 1})
			},
			"10.0.0.4": func() (instanceapi.Status, error) { return large, nil },
			"10.0.0.5": func() (instanceapi.Status, error) { return large, nil },
		}
		observer := New(nil, nil, nil, func(_ context.Context, podIP string) (instanceapi.Status, error) { return answers[podIP]() }, nil)
		observer.answers.budget = budget.New(8<<10, 1<<20)
		for _, tt := range []struct {
			namespace, ip string
			want          OrderFailure
			kept          bool
		}{
			{"shop", "10.0.0.1", "", true},
			{"shop", "10.0.0.2", AnswerTooLarge, false},
			{"shop", "10.0.0.3", AnswerTooLarge, false},
			{"shop", "10.0.0.4", "", true},
			{"shop", "10.0.0.5", AnswersTooLarge, false},
			{"other", "10.0.0.5", "", true},
		} {
			state := readyPod("pod", tt.ip)
			state.Pods[0].UID = types.UID(tt.ip)
			key := types.NamespacedName{Namespace: tt.namespace, Name: tt.ip}
			observer.answers.await(t.Context(), observer.answers.begin(t.Context(), key, state.Pods))
			synctest.Wait()
			found, unreachable, ok := observer.answers.read(key, state.Pods)
			if !ok || (found["pod"] != nil) != tt.kept || unreachable["pod"].Order != tt.want {
				t.Errorf("%s in %s: complete %t, kept %t, unreachable %+v", tt.ip, tt.namespace, ok, found["pod"] != nil, unreachable["pod"])
			}
		}
		if n := observer.answers.budget.Refused("shop"); n != 1 {
			t.Errorf("%d answers are refused", n)
		}
		for ip := range answers {
			for _, namespace := range []string{"shop", "other"} {
				observer.answers.forget(types.NamespacedName{Namespace: namespace, Name: ip})
			}
		}
		if used := observer.answers.budget.Used(); used != 0 {
			t.Errorf("%d bytes are kept of applications that are gone", used)
		}
	})
}
