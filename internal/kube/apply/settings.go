package apply

// Settings are what distinguishes one operator that applies objects from another.
type Settings struct {
	// FieldManager owns the fields that are applied.
	FieldManager string
	// OwnerKind is the kind of the owners, for messages and owner references, OwnerName the name of the owner.
	OwnerKind, OwnerName string
	// OwnerLabel holds the application's name on every owned object. The operator's caches are filtered by it.
	OwnerLabel string
	// Labels returns all labels of an owner's objects.
	Labels func(owner string) map[string]string
	// HashAnnotation holds the hash of the intent that was applied last, GenerationAnnotation the owner's
	// generation at that time, and DroppedAnnotation the fields that the cluster did not keep.
	HashAnnotation, GenerationAnnotation, DroppedAnnotation string
	// Written is called after each write.
	Written func(kind string, action Action)
}
