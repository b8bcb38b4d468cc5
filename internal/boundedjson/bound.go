package boundedjson

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Tag is the tag of fields with a bound: the maximum length of a string in bytes, or the maximum number of items of a list or
// a map, a comma, and the bound of its items if they are strings or lists. The names in a map have the bound before that of
// its values: `max:"64,253,4096"`.
const Tag = "max"

// Bound cuts the strings, the lists and the maps in a value to the bounds of their fields. value is a pointer. The error names
// a field without a bound, which is a mistake of the program.
func Bound(value any) error {
	return boundValue(reflect.ValueOf(value).Elem(), nil)
}

// boundValue cuts a value. bounds are those of its field that have not been applied yet.
func boundValue(v reflect.Value, bounds []int) error {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return boundValue(v.Elem(), bounds)
	case reflect.Struct:
		return boundFields(v)
	case reflect.Array:
		return boundItems(v, bounds)
	case reflect.String, reflect.Slice, reflect.Map:
		if len(bounds) == 0 {
			return fmt.Errorf("a %s has no bound", v.Type())
		}
		return boundLength(v, bounds)
	default:
		return nil
	}
}

// boundLength cuts a string, a list or a map to the first bound, and what is in it to the others.
func boundLength(v reflect.Value, bounds []int) error {
	switch v.Kind() {
	case reflect.String:
		v.SetString(cut(v.String(), bounds[0]))
		return nil
	case reflect.Map:
		return boundMap(v, bounds)
	default:
		return boundSlice(v, bounds)
	}
}

// boundSlice removes the items beyond the first bound, and cuts the others.
func boundSlice(v reflect.Value, bounds []int) error {
	if v.Len() > bounds[0] {
		// The rest is not kept in memory.
		kept := reflect.MakeSlice(v.Type(), bounds[0], bounds[0])
		reflect.Copy(kept, v)
		v.Set(kept)
	}
	return boundItems(v, bounds[1:])
}

func boundItems(v reflect.Value, bounds []int) error {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return nil
	}
	for i := range v.Len() {
		if err := boundValue(v.Index(i), bounds); err != nil {
			return err
		}
	}
	return nil
}

// boundMap removes the entries beyond the bound, and those of names that are too long.
func boundMap(v reflect.Value, bounds []int) error {
	if len(bounds) < 2 || v.Type().Key().Kind() != reflect.String {
		return fmt.Errorf("the names in a %s have no bound", v.Type())
	}
	for entries, kept := v.MapRange(), 0; entries.Next(); {
		if entries.Key().Len() > bounds[1] || kept == bounds[0] {
			v.SetMapIndex(entries.Key(), reflect.Value{})
			continue
		}
		kept++
		value := reflect.New(v.Type().Elem()).Elem()
		value.Set(entries.Value())
		if err := boundValue(value, bounds[2:]); err != nil {
			return err
		}
		v.SetMapIndex(entries.Key(), value)
	}
	return nil
}

func boundFields(v reflect.Value) error {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		bounds, err := boundsOf(field)
		if err == nil {
			err = boundValue(v.Field(i), bounds)
		}
		if err != nil {
			return fmt.Errorf("%s.%s: %w", v.Type(), field.Name, err)
		}
	}
	return nil
}

func boundsOf(field reflect.StructField) (bounds []int, err error) {
	tag, ok := field.Tag.Lookup(Tag)
	if !ok {
		return nil, nil
	}
	for text := range strings.SplitSeq(tag, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("the tag %s:%q is not a bound", Tag, tag)
		}
		bounds = append(bounds, n)
	}
	return bounds, nil
}

// cut returns at most so many bytes of a text, without half a character. What is cut off is not kept in memory.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return strings.Clone(text[:most])
}

// Size returns about how much memory a value takes, in bytes. Values that are shared count each time.
func Size(value any) int {
	v := reflect.ValueOf(value)
	return int(v.Type().Size()) + pointed(v)
}

// pointed returns the size of what a value points to.
func pointed(v reflect.Value) (size int) {
	switch v.Kind() {
	case reflect.String:
		return v.Len()
	case reflect.Pointer:
		if !v.IsNil() {
			return int(v.Type().Elem().Size()) + pointed(v.Elem())
		}
	case reflect.Interface:
		return boxed(v.Elem())
	case reflect.Slice:
		size = v.Cap() * int(v.Type().Elem().Size())
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			size += pointed(v.Index(i))
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			size += pointed(field)
		}
	case reflect.Map:
		size = mapSize(v)
		for entries := v.MapRange(); entries.Next(); {
			size += pointed(entries.Key()) + pointed(entries.Value())
		}
	default:
		// It points to nothing, or to what is not counted.
	}
	return size
}

// boxed returns the size of the value in an interface. Maps and pointers are in the interface itself.
func boxed(v reflect.Value) int {
	switch v.Kind() {
	case reflect.Invalid:
		return 0
	case reflect.Map, reflect.Pointer:
		return pointed(v)
	default:
		return int(v.Type().Size()) + pointed(v)
	}
}

// What Go's maps take: a header, and groups of 8 entries, each with a byte to find it by. Each larger map has twice as many
// groups, and is at most 7/8 full.
const (
	mapHeader = 48
	mapGroup  = 8
)

// mapSize returns the size of a map without what its entries point to. Decoded, many small maps take 45 times the length of their JSON.
func mapSize(v reflect.Value) int {
	if v.IsNil() {
		return 0
	}
	slots := 0
	if v.Len() > 0 {
		slots = mapGroup
	}
	for v.Len() > mapGroup && v.Len() > slots*7/8 {
		slots *= 2
	}
	return mapHeader + slots*(1+int(v.Type().Key().Size()+v.Type().Elem().Size()))
}

// Unbounded returns the strings, the lists and the maps in a type that have no bound. The test of each type that is decoded
// requires that there are none.
func Unbounded[T any]() (missing []string) {
	return unbounded(reflect.TypeFor[T](), reflect.TypeFor[T]().Name(), nil)
}

// unbounded returns what has no bound in a type. path is where the type is, and bounds are those of its field that have not been
// used yet.
func unbounded(t reflect.Type, path string, bounds []int) []string {
	switch t.Kind() {
	case reflect.Pointer, reflect.Array:
		return unbounded(t.Elem(), path, bounds)
	case reflect.String:
		if len(bounds) == 0 {
			return []string{path}
		}
		return nil
	case reflect.Slice:
		return unboundedSlice(t, path, bounds)
	case reflect.Map:
		if len(bounds) < 2 || t.Key().Kind() != reflect.String {
			return []string{path}
		}
		return unbounded(t.Elem(), path+"{}", bounds[2:])
	case reflect.Interface:
		return []string{path}
	case reflect.Struct:
		return unboundedFields(t, path)
	default:
		return nil
	}
}

// unboundedSlice returns what has no bound in the type of a list: the list itself, or its items. Bytes need no bound of their own.
func unboundedSlice(t reflect.Type, path string, bounds []int) []string {
	switch {
	case len(bounds) == 0:
		return []string{path}
	case t.Elem().Kind() == reflect.Uint8:
		return nil
	}
	return unbounded(t.Elem(), path+"[]", bounds[1:])
}

// unboundedFields returns what has no bound in the exported fields of a struct, up to the first tag that is not a bound.
func unboundedFields(t reflect.Type, path string) (missing []string) {
	for field := range t.Fields() {
		if !field.IsExported() {
			continue
		}
		bounds, err := boundsOf(field)
		if err != nil {
			return append(missing, path+"."+field.Name+": "+err.Error())
		}
		missing = append(missing, unbounded(field.Type, path+"."+field.Name, bounds)...)
	}
	return missing
}
