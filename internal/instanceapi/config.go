package instanceapi

import (
	"encoding/json"
	"io"
	"time"

	"example.com/nginx-operator/internal/boundedjson"
)

// These are the paths for users, who reach them with a forwarded port: only the loopback interface of the pod has them,
// and nginx itself cannot use them.
const (
	// PathConfig answers with a ServedConfig as JSON.
	PathConfig = "/v1/config"
	// PathConfigTest is requested with POST and a ConfigFiles as JSON. It answers with a ConfigTest as JSON.
	PathConfigTest = "/v1/config/test"
)

const (
	// MaxConfigFiles is the maximum size of the JSON of a ConfigFiles, in bytes: base64 adds a third.
	MaxConfigFiles = 2 << 20
	// ConfigTestWait is how long a test takes at most. It includes the time until the instance has nothing else to do.
	ConfigTestWait = 60 * time.Second
)

// ConfigFiles are the user's files of a configuration, by their names. JSON has them in base64: they can have any bytes.
type ConfigFiles map[string][]byte

// configFilesLimits bounds the JSON of a ConfigFiles. Configurations of too many files are refused with a message of their own.
var configFilesLimits = boundedjson.Limits{Bytes: MaxConfigFiles, Depth: 1, Items: 2048, Values: 2048, String: MaxConfigFiles}

// ReadConfigFiles reads the JSON of a ConfigFiles. The error is a boundedjson.LimitError if it exceeds the limits.
func ReadConfigFiles(from io.Reader) (files ConfigFiles, err error) {
	text, err := configFilesLimits.Read(from)
	if err != nil {
		return nil, err
	}
	return files, json.Unmarshal(text, &files)
}

// MaxConfigAnswer is the maximum length of the JSON of a ServedConfig or a ConfigTest, in bytes.
const MaxConfigAnswer = 4 << 20

// ConfigAnswerLimits bounds that JSON: a configuration has at most 256 files.
var ConfigAnswerLimits = boundedjson.Limits{Bytes: MaxConfigAnswer, Depth: 8, Items: 1024, Values: 4096, String: MaxConfigAnswer}

// ServedConfig is the configuration that nginx's workers have answered with.
type ServedConfig struct {
	// Revision is empty if nginx serves none.
	Revision string `json:"revision,omitempty" max:"128"`
	// Files refer to variables as the user does: they have no value of a Secret.
	Files ConfigFiles `json:"files,omitempty" max:"256,253,1048576"`
}

// ConfigTest is the outcome of a test of a configuration that nobody has requested to load.
type ConfigTest struct {
	// Revision is what the configuration would have as its revision.
	Revision string  `json:"revision" max:"128"`
	Test     Verdict `json:"test" max:"128"`
	// Unread are the .conf files that nginx did not read. Their number is bounded.
	Unread []string `json:"unread,omitempty" max:"32,1024"`
	// Problems are why the test failed, the first one first. Their number is bounded.
	Problems []Problem `json:"problems,omitempty" max:"16"`
}
