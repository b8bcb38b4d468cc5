package plugin

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// fromCache asks for a list that the API server has in memory.
func fromCache() *metav1.ListOptions { return &metav1.ListOptions{ResourceVersion: "0"} }
