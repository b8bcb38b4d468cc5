package apply

import (
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
)

// settings are the settings of the nginx operator.
var settings = Settings{
	FieldManager: naming.FieldManager, OwnerKind: v1alpha2.Kind, OwnerName: "web", OwnerLabel: naming.LabelApplication, Labels: naming.Labels,
	HashAnnotation: naming.AnnotationIntent, GenerationAnnotation: naming.AnnotationGeneration, DroppedAnnotation: naming.AnnotationDroppedFields,
	Written: func(string, Action) {},
}
