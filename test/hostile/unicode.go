package hostile

// unicode tries invalid characters, invisible ones, and ones that look like others.
func unicode() []Case {
	wire := func(short, what, spec string, want Want) Case {
		return Case{Name: "unicode: " + what, Sort: "unicode", Kind: Nginx, Object: short, Body: raw(short, spec), Want: want}
	}
	return []Case{
		wire("utf8-value", "bytes that are no UTF-8 in a value", "{\"forceRedeploy\":\"a\xff\xfeb\"}", Want{}),
		wire("utf8-long", "an overlong slash in a path", "{\"content\":[{\"mountPath\":\"/srv/..\xc0\xaf..\",\"configMap\":{\"name\":\"a\"}}]}", refused("mountPath")),
		wire("utf8-surrogate", "half of a character", `{"forceRedeploy":"\ud800"}`, Want{}),
		wire("utf8-key", "bytes that are no UTF-8 in a key", "{\"config\":{\"files\":{\"a\xff.conf\":\"\"}}}", Want{Reason: "ConfigInvalid", Message: "not a file name"}),
		wire("bom", "a byte order mark in front of a value", `{"forceRedeploy":"\ufeffa"}`, Want{}),
		wire("nul", "NUL in a value that becomes an annotation", `{"forceRedeploy":"a\u0000b"}`, Want{}),
		wire("del", "DEL and C1 in a value that becomes an annotation", `{"forceRedeploy":"a\u007f\u0080\u009fb"}`, Want{}),
		wire("next-line", "the end of a line that only Unicode knows", `{"forceRedeploy":"a\u0085b\u2028c\u2029d"}`, Want{}),
		wire("not-a-character", "what Unicode says will never be a character", `{"forceRedeploy":"\uffff\ufffe"}`, Want{}),
		wire("carriage", "a carriage return in a value", `{"forceRedeploy":"a\rb\r\nc"}`, Want{}),
		wire("direction", "turned direction in a value", `{"forceRedeploy":"\u202e\u2066abc"}`, Want{}),
		wire("nul-env", "NUL in a variable", `{"podTemplate":{"env":[{"name":"A","value":"a\u0000b"}]}}`, Want{}),
		wire("del-env", "DEL in a variable", `{"podTemplate":{"env":[{"name":"A","value":"a\u007fb"}]}}`, Want{}),
		wire("next-line-env", "the end of a line in a variable that only Unicode knows", `{"podTemplate":{"env":[{"name":"A","value":"a\u0085b"}]}}`, Want{}),
		wire("del-service", "DEL in an annotation of the Service", `{"service":{"annotations":{"example.com/a":"\u007f\u0085"}}}`, Want{}),
		wire("del-file", "DEL in a file", `{"config":{"files":{"a.conf":"server {}\n\u007f"}}}`, Want{Reason: "ConfigInvalid", Message: "a.conf:2: there is a control character (U+007F)"}),
		wire("nul-file", "NUL in a file", `{"config":{"files":{"a.conf":"server {}\u0000"}}}`, Want{}),
		wire("direction-file", "turned direction in the name of a file", `{"config":{"files":{"\u202efnoc.a":""}}}`, Want{Reason: "ConfigInvalid", Message: "not a file name"}),
		wire("same-files", "two names of files that look the same", `{"config":{"files":{"\u00e9.conf":"","e\u0301.conf":""}}}`, Want{Reason: "ConfigInvalid", Message: "not a file name"}),
		wire("look-alike", "a port's name that looks like metrics", `{"ports":[{"name":"m\u0435trics","port":80}]}`, refused("spec.ports[0].name")),
		wire("digits", "a number of Arabic digits", `{"rollout":{"maxSurge":"\u0661%"}}`, refused("percentage from 0% to 100%")),
		wire("ratio", "a ratio of full width digits", `{"rollout":{"canary":{"maxLatencyRatio":"\uff11"}}}`, refused("maxLatencyRatio must be a number")),
		wire("duplicate", "a field twice", `{"replicas":1,"replicas":2}`, refused("duplicate field")),
		wire("case", "a field in another case", `{"Replicas":1}`, refused("unknown field")),
		wire("number", "a number beyond numbers", `{"replicas":1e999}`, refused("cannot unmarshal number 1e999")),
		wire("fraction", "a fraction of a pod", `{"replicas":1.5}`, refused("spec.replicas")),
		wire("large-number", "more pods than 32 bits hold", `{"replicas":4294967297}`, refused("spec.replicas")),
		wire("not-a-number", "a text for a number", `{"replicas":"1"}`, refused("spec.replicas")),
		wire("null", "nothing at all", `null`, Want{}),
		wire("list", "a list for a spec", `[]`, refused("spec")),
		wire("nulls", "nothing in each field", `{"image":null,"ports":null,"config":null,"podTemplate":{"containers":null,"labels":{"a":null}}}`, Want{}),
	}
}
