package controller

import apierrors "k8s.io/apimachinery/pkg/api/errors"

// Refused reports whether the API server rejected a write for a reason that a user can remove: a
// quota, validation, admission or a webhook. A webhook that is down is an internal error.
func Refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsRequestEntityTooLargeError(err) || apierrors.IsInternalError(err)
}
