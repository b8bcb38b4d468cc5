package console

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// invalid is an error of the viewer's input.
type invalid struct{ error }

// unauthenticated is why the viewer of a request is not known.
type unauthenticated struct{ error }

// reasonNoToken distinguishes such a request from one whose token the API server refuses.
const reasonNoToken = "NoToken"

// refuse answers with an error. Those of the API server keep their code and their words.
func refuse(w http.ResponseWriter, err error) {
	code, f := explain(err)
	answer(w, code, f)
}

// explain returns the code and the text of an error.
func explain(err error) (int, failure) {
	var status apierrors.APIStatus
	var input invalid
	var unknown unauthenticated
	switch {
	case errors.As(err, &unknown):
		return http.StatusUnauthorized, failure{Message: err.Error(), Reason: reasonNoToken}
	case errors.As(err, &input):
		return http.StatusUnprocessableEntity, failure{Message: err.Error(), Reason: "Invalid"}
	case errors.As(err, &status) && status.Status().Code >= http.StatusBadRequest:
		s := status.Status()
		return int(s.Code), failure{Message: s.Message, Reason: string(s.Reason)}
	}
	return http.StatusBadGateway, failure{Message: err.Error()}
}
