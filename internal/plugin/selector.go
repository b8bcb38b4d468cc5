package plugin

import (
	"fmt"

	"k8s.io/apimachinery/pkg/labels"
)

// parseSelector parses the flag --selector; nil: all objects.
func parseSelector(text string) (labels.Selector, error) {
	if text == "" {
		return nil, nil
	}
	selector, err := labels.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("--selector: %w", err)
	}
	return selector, nil
}
