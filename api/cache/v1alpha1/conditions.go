package v1alpha1

// Condition types of an NginxCache. True is good, except for Degraded. Their reasons are those of an
// NginxOperator (package v1alpha2), and the following. A message that is about one tier begins with its name.
const (
	// ConditionAccepted is True when the spec is valid and every reference resolves.
	ConditionAccepted = "Accepted"
	// ConditionConfigValid is True when nginx accepted the configuration of both tiers.
	ConditionConfigValid = "ConfigValid"
	// ConditionUpToDate is True when every pod of both tiers runs the template and serves the configuration that the
	// spec declares.
	ConditionUpToDate = "UpToDate"
	// ConditionAvailable is True when of each tier all pods but one serve, or the only one.
	ConditionAvailable = "Available"
	// ConditionCertificatesValid is True when every certificate of spec.tls loads, matches its key and is not about to
	// expire. It exists only if there are any.
	ConditionCertificatesValid = "CertificatesValid"
	// ConditionReady is True when all of the above are: wait for this one. Its reason and message are those of the first
	// condition that is not True.
	ConditionReady = "Ready"
	// ConditionDegraded is True while a part of what the cache has stored is lost or away. No request fails for that, but
	// more of them reach the origins. The message says which part, and what it costs.
	ConditionDegraded = "Degraded"
)

// Reasons of an NginxCache's own.
const (
	// ReasonInvalidSpec: sizes or rules cannot be carried out, so the pods keep the last configuration.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonVolumesNotChanged: the volumes of shards cannot be as declared. Everything else is.
	ReasonVolumesNotChanged = "VolumesNotChanged"
	// ReasonOriginNotFound: an NginxOperator that is an origin does not exist, or has no TCP port. Everything else is
	// carried out.
	ReasonOriginNotFound = "OriginNotFound"
	// ReasonVolumesGrowing: volumes of shards do not have the declared size yet.
	ReasonVolumesGrowing = "VolumesGrowing"
	// ReasonShardsAway: shards that the edges send requests to do not answer.
	ReasonShardsAway = "ShardsAway"
	// ReasonNotStoring: volumes of shards take no objects, because they are full or cannot be written.
	ReasonNotStoring = "NotStoring"
	// ReasonShardsRefilling: shards began with an empty volume, and store their objects again.
	ReasonShardsRefilling = "ShardsRefilling"
	// ReasonNothingLost: Degraded is False.
	ReasonNothingLost = "NothingLost"
	// ReasonHandingOver: the number of shards has changed, and shards still ask the previous owners of objects. UpToDate is
	// True.
	ReasonHandingOver = "HandingOver"
)

// The condition of an NginxCachePurge, and its reasons.
const (
	// ConditionComplete is True when no pod can answer with what was purged.
	ConditionComplete = "Complete"

	// ReasonPurged: every pod has purged.
	ReasonPurged = "Purged"
	// ReasonPurging: pods have still to purge. The message says how many, and what they wait for.
	ReasonPurging = "Purging"
	// ReasonCacheNotFound: there is no NginxCache of the name.
	ReasonCacheNotFound = "CacheNotFound"
	// ReasonTooManyPurges: so many purges wait for pods that there is no room for this one.
	ReasonTooManyPurges = "TooManyPurges"
	// ReasonRejected: what to purge cannot be read. Nothing was purged.
	ReasonRejected = "Rejected"
)
