package instanceapi

import (
	"path"
	"strings"
)

// FileVariables is the file of a configuration that holds Variables as JSON. It is part of the revision. Instances of
// releases before 0.5 ignore it, and nginx then refuses the variables. A configuration without variables does not have
// the file.
const FileVariables = "nginx-operator-variables.json"

// DirVariables holds a folder for each Secret and ConfigMap with values of variables.
const DirVariables = "/etc/nginx-operator/env"

// Variables declares the variables of a configuration's files.
type Variables struct {
	Variables []Variable      `json:"variables,omitempty"`
	From      []VariablesFrom `json:"from,omitempty"`
}

// Variable is a variable with a value, or with a key of an object that holds it.
type Variable struct {
	Name  string  `json:"name"`
	Value *string `json:"value,omitempty"`
	VariableObject
	Key string `json:"key,omitempty"`
}

// VariablesFrom are variables from all keys of an object.
type VariablesFrom struct {
	Prefix string `json:"prefix,omitempty"`
	VariableObject
}

// VariableObject is a mounted Secret or ConfigMap.
type VariableObject struct {
	// Kind is Secret or ConfigMap.
	Kind   string `json:"kind,omitempty"`
	Object string `json:"object,omitempty"`
}

// Dir returns the folder with the object's keys, below DirVariables.
func (o VariableObject) Dir() string { return path.Join(strings.ToLower(o.Kind), o.Object) }

// String returns the object as messages name it.
func (o VariableObject) String() string { return o.Kind + " " + o.Object }
