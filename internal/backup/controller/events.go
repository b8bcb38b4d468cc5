package controller

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"example.com/nginx-operator/internal/backup/outcome"
)

// RecordEvents records events about an object.
func RecordEvents(recorder events.EventRecorder, object runtime.Object, news ...outcome.Event) {
	for _, e := range news {
		recorder.Eventf(object, nil, e.Type, e.Reason, e.Action, "%s", e.Note)
	}
}
