package attack

import "testing"

// TestRun: no attack succeeds.
func TestRun(t *testing.T) {
	if accepted, err := Run(t.Context()); len(accepted) > 0 || err != nil {
		t.Errorf("accepted: %v, error: %v", accepted, err)
	}
}
