package console

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// invalid is an error of the viewer's input.
type invalid struct{ error }

// refuse answers with an error. Those of the API server keep their code and their words.
func refuse(w http.ResponseWriter, err error) {
	code, f := explain(err)
	answer(w, code, f)
}

// explain returns the code and the text of an error.
func explain(err error) (int, failure) {
	var status apierrors.APIStatus
	var input invalid
	switch {
	case errors.Is(err, errUnknownViewer):
		return http.StatusUnauthorized, failure{Message: err.Error(), Reason: "Unauthorized"}
	case errors.As(err, &input):
		return http.StatusUnprocessableEntity, failure{Message: err.Error(), Reason: "Invalid"}
	case errors.As(err, &status) && status.Status().Code >= http.StatusBadRequest:
		s := status.Status()
		return int(s.Code), failure{Message: s.Message, Reason: string(s.Reason)}
	}
	return http.StatusBadGateway, failure{Message: err.Error()}
}
