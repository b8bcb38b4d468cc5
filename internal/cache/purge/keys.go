package purge

import (
	"encoding/json"
	"slices"

	"example.com/nginx-operator/api/cache/v1alpha1"
)

// AnnotationKeys of the ConfigMap has the Keys of the cache, as JSON.
const AnnotationKeys = "cache.operator.example.com/keys"

// TooManyKeys stands for an annotation that is too long to be kept. It cannot be read.
const TooManyKeys = "too many"

// MaxKeysText bounds the text of an annotation with keys, in bytes. A longer one counts as too many keys.
const MaxKeysText = 16 << 10

// maxKeys bounds the keys that are remembered. With more, a purge of a URL purges everything.
const maxKeys = 32

// Keys are the query parameters of each key that rules of a cache have ever had. What was stored with a rule is found
// again when the rule is put back, so a purge has to remove it as well.
type Keys [][]string

// ParseKeys returns the keys in an annotation. What cannot be read counts as more keys than can be remembered.
func ParseKeys(text string) Keys {
	var keys Keys
	if text == "" {
		return nil
	}
	if len(text) > MaxKeysText || json.Unmarshal([]byte(text), &keys) != nil {
		return make(Keys, maxKeys+1)
	}
	return keys
}

// With returns the keys and those of rules.
func (k Keys) With(rules []v1alpha1.Rule) Keys {
	all := slices.Clip(k)
	for _, rule := range rules {
		if rule.Key == nil || len(all) > maxKeys {
			continue
		}
		parameters := rule.Key.QueryParameters.Include
		if !slices.ContainsFunc(all, func(known []string) bool { return slices.Equal(known, parameters) }) {
			all = append(all, append([]string{}, parameters...))
		}
	}
	return all
}

// Text returns the annotation.
func (k Keys) Text() (string, error) {
	if len(k) == 0 {
		return "[]", nil
	}
	text, err := json.Marshal(k)
	return string(text), err
}
