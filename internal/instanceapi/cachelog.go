package instanceapi

// VariableCacheLog is the variable of nginx with what a cache logs of a request, besides what every nginx logs. The
// configuration of a cache defines it at the http level. It has one of three forms, with words that a space separates:
//
//	request RESULT SOURCE RULE   a request of a client, or to a shard
//	origin NAME STATUS…          a request to an origin, with the status of each attempt as in $upstream_status
//	internal                     a request of nginx to itself, which is part of one that is logged
//
// RESULT is $upstream_cache_status, "bypass" for what goes around the cache, "handover" for a request of another shard,
// which gets only what is stored, or "none" if nginx answered by itself. SOURCE is where the answer is from: a tier, "origin" or "none". RULE is the index of the rule in spec.rules, or empty.
const VariableCacheLog = "$nginx_cache_log"
