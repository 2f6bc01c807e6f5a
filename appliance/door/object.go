package door

import (
	"bytes"
	"io"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// errNotObject answers a body that ought to be a JSON object and is not.
var errNotObject = &Error{Status: http.StatusBadRequest, Message: "body is not a JSON object"}

// Object reads a body that is one JSON object, whatever type it was sent as, and
// calls member for each of its members in order. Names are unescaped; letter
// case counts. A value is as it is written, a part of body, and of the members
// that are there twice each is given. It returns an *Error with status 400 for
// any other body, possibly after some calls of member, and keeps no value.
func Object(body []byte, member func(name string, value jsontext.Value)) error {
	in := jsontext.NewDecoder(bytes.NewBuffer(body),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if in.PeekKind() != jsontext.KindBeginObject {
		return errNotObject
	}
	if _, err := in.ReadToken(); err != nil {
		return errNotObject
	}
	for in.PeekKind() != jsontext.KindEndObject {
		name, err := in.ReadToken()
		if err != nil {
			return errNotObject
		}
		text := name.String()
		value, err := in.ReadValue()
		if err != nil {
			return errNotObject
		}
		member(text, value)
	}
	if _, err := in.ReadToken(); err != nil {
		return errNotObject
	}
	if _, err := in.ReadToken(); err != io.EOF {
		return errNotObject
	}
	return nil
}

// String returns what a JSON string says, and false for any other value. A lone
// surrogate becomes U+FFFD.
func String(value jsontext.Value) (string, bool) {
	if value.Kind() != jsontext.KindString {
		return "", false
	}
	text, _ := jsontext.AppendUnquote(nil, value) // its one error is a lone surrogate
	return string(text), true
}

// Whole returns what a JSON number says that is written as a whole one, without
// fraction or exponent, and false for any other value.
func Whole(value jsontext.Value) (int, bool) {
	if value.Kind() != jsontext.KindNumber {
		return 0, false
	}
	n, err := strconv.Atoi(string(value))
	return n, err == nil
}

// Bool returns what true or false says, and false for any other value.
func Bool(value jsontext.Value) (is, ok bool) {
	is = value.Kind() == jsontext.KindTrue
	return is, is || value.Kind() == jsontext.KindFalse
}

// Strings calls each for what every item of an array of JSON strings says, and
// returns false for any other value, possibly after some calls.
func Strings(value jsontext.Value, each func(string)) bool {
	if value.Kind() != jsontext.KindBeginArray {
		return false
	}
	in := jsontext.NewDecoder(bytes.NewBuffer(value), jsontext.AllowInvalidUTF8(true))
	_, _ = in.ReadToken() // the bracket
	for in.PeekKind() == jsontext.KindString {
		item, err := in.ReadToken()
		if err != nil {
			return false
		}
		each(item.String())
	}
	return in.PeekKind() == jsontext.KindEndArray
}
