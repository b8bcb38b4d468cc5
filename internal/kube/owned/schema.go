package owned

// Schema is what a comparison has to know about the fields of a kind, where the defaults do not fit: a map is merged
// by its keys, and the field "name" identifies an item of a list. A nil Schema has the defaults only.
type Schema struct {
	atomic bool
	key    []string
	fields map[string]*Schema
	each   *Schema
}

// SchemaRule adds a rule to a Schema.
type SchemaRule func(*Schema)

// NewSchema returns a schema with the rules.
func NewSchema(rules ...SchemaRule) *Schema {
	s := &Schema{}
	for _, rule := range rules {
		rule(s)
	}
	return s
}

// Atomic declares a map or list that has one owner and is compared as a whole. These are the maps and lists that
// Kubernetes does not merge (x-kubernetes-map-type and x-kubernetes-list-type: atomic), and those whose fields depend
// on one of them. EachItem in the path stands for each item of a list.
func Atomic(path ...string) SchemaRule {
	return func(s *Schema) { s.make(path).atomic = true }
}

// Keyed declares the field that identifies the items of a list, if it is not "name".
func Keyed(list []string, key ...string) SchemaRule {
	return func(s *Schema) { s.make(list).key = key }
}

// PodTemplate declares the atomic fields of a pod template.
func PodTemplate(path ...string) SchemaRule {
	return func(s *Schema) {
		pod := s.make(path).make([]string{"spec"})
		Atomic("nodeSelector")(pod)
		securityContext(pod)
		for _, list := range []string{"initContainers", "containers"} {
			securityContext(pod.make([]string{list, EachItem}))
		}
		for _, affinity := range []string{"podAffinity", "podAntiAffinity"} {
			of := pod.make([]string{"affinity", affinity})
			podAffinityTerm(of.make([]string{"requiredDuringSchedulingIgnoredDuringExecution", EachItem}))
			podAffinityTerm(of.make([]string{"preferredDuringSchedulingIgnoredDuringExecution", EachItem, "podAffinityTerm"}))
		}
		Atomic("topologySpreadConstraints", EachItem, "labelSelector")(pod)
		Atomic("volumes", EachItem, "ephemeral", "volumeClaimTemplate", "spec", "selector")(pod)
		Atomic("volumes", EachItem, "projected", "sources", EachItem, "clusterTrustBundle", "labelSelector")(pod)
	}
}

func securityContext(s *Schema) {
	Atomic("securityContext", "seccompProfile")(s)
	Atomic("securityContext", "appArmorProfile")(s)
}

func podAffinityTerm(s *Schema) {
	Atomic("labelSelector")(s)
	Atomic("namespaceSelector")(s)
}

// make returns the schema at a path, and creates what is missing of it.
func (s *Schema) make(path []string) *Schema {
	for _, step := range path {
		if step == EachItem {
			if s.each == nil {
				s.each = &Schema{}
			}
			s = s.each
			continue
		}
		if s.fields == nil {
			s.fields = map[string]*Schema{}
		}
		if s.fields[step] == nil {
			s.fields[step] = &Schema{}
		}
		s = s.fields[step]
	}
	return s
}

// Field returns the schema of a field.
func (s *Schema) Field(name string) *Schema {
	if s == nil {
		return nil
	}
	return s.fields[name]
}

// Each returns the schema of the items of a list.
func (s *Schema) Each() *Schema {
	if s == nil {
		return nil
	}
	return s.each
}

// IsAtomic reports whether a field has one owner.
func (s *Schema) IsAtomic() bool { return s != nil && s.atomic }

// KeyOf returns the text or number that identifies an item of a list; nil if nothing does.
func (s *Schema) KeyOf(item map[string]any) any {
	name := "name"
	if s != nil && len(s.key) > 0 {
		var path []string
		path, name = s.key[:len(s.key)-1], s.key[len(s.key)-1]
		for _, field := range path {
			item, _ = item[field].(map[string]any)
		}
	}
	switch key := item[name].(type) {
	case string, int64, float64:
		return key
	default:
		return nil
	}
}

// ItemOf returns the item of a list that has a key; nil unless exactly one item has it.
func (s *Schema) ItemOf(items []any, key any) map[string]any {
	var found map[string]any
	for _, item := range items {
		fields, ok := item.(map[string]any)
		if !ok || key == nil || s.KeyOf(fields) != key {
			continue
		}
		if found != nil {
			return nil
		}
		found = fields
	}
	return found
}
