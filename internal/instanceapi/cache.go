package instanceapi

import "time"

// Cache is the state of the volume with the cache of a pod.
type Cache struct {
	// Since is when an instance found no object on the volume, and began to fill it; nil if that is not known.
	Since *time.Time `json:"since,omitempty"`
	// Objects is about how many objects are on the volume.
	Objects int64 `json:"objects"`
	// Size and Free are those of its file system, in bytes.
	Size int64 `json:"sizeBytes"`
	Free int64 `json:"freeBytes"`
	// Problem is why no objects are stored at the moment; empty if they are.
	Problem string `json:"problem,omitempty" max:"1024"`
}

// EndingAddress is where the nginx of a shard passes requests on to the other shards, so that they store what this one has
// before it ends. An edge does not listen there.
const EndingAddress = "127.0.0.1:8183"

// HeaderCacheEnding is the header of stored objects that another shard has handed over before it ended.
const HeaderCacheEnding = "X-Cache-Ending"

// FileCacheEnding is the name of a file in DirState. While it exists, the shard ends, and takes no objects from others that end.
const FileCacheEnding = "cache-ending"

// FileCacheClosed is the name of a file in DirState. While it exists, nginx stores no objects in the cache of a shard, and
// answers with those that it has.
const FileCacheClosed = "cache-closed"
