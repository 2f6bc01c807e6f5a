package door_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdmail/holdmail/appliance/door"
)

func TestObject(t *testing.T) {
	deep := strings.Repeat("[", 9000) + strings.Repeat("]", 9000)
	for _, tt := range []struct {
		name, body string
		want       []string // name=value ...; nil: it is refused
	}{
		{"empty", ` { } `, []string{}},
		{"members in order", `{"b":1,"a":[{"c":null}]}`, []string{"b=1", `a=[{"c":null}]`}},
		{"twice", `{"a":1,"a":2}`, []string{"a=1", "a=2"}},
		{"letter case counts", `{"A":1,"a":2}`, []string{"A=1", "a=2"}},
		{"escaped name", `{"\u0061":"\u0061"}`, []string{`a="\u0061"`}},
		{"deep", `{"a":` + deep + `}`, []string{"a=" + deep}},
		{"nothing", ``, nil},
		{"array", `[]`, nil},
		{"string", `"{}"`, nil},
		{"cut short", `{"a":1`, nil},
		{"two objects", `{}{}`, nil},
		{"comma at the end", `{"a":1,}`, nil},
		{"comment", `{} // `, nil},
		{"too deep", strings.Repeat(`{"a":`, 100_000), nil},
		{"name without a value", `{"a"}`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := []string{}
			err := door.Object([]byte(tt.body), func(name string, value jsontext.Value) { got = append(got, name+"="+string(value)) })
			if tt.want == nil {
				checkStatus(t, err, 400)
				return
			}
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("Object = %v, %v; want %v", got, err, tt.want)
			}
		})
	}
}

func TestString(t *testing.T) {
	for value, want := range map[string]string{`"a\"b"`: `a"b`, `""`: "", `"\ud800"`: "\uFFFD"} {
		if got, ok := door.String(jsontext.Value(value)); !ok || got != want {
			t.Errorf("String(%s) = %q, %v", value, got, ok)
		}
	}
	for _, value := range []string{``, `1`, `null`, `["a"]`, `{}`} {
		if got, ok := door.String(jsontext.Value(value)); ok {
			t.Errorf("String(%s) = %q", value, got)
		}
	}
}

func TestStrings(t *testing.T) {
	for value, want := range map[string]bool{
		`[]`: true, `["a", "b"]`: true,
		``: false, `"a"`: false, `{}`: false, `["a",1]`: false, `[["a"]]`: false, `[null]`: false,
	} {
		if got := door.Strings(jsontext.Value(value), func(string) {}); got != want {
			t.Errorf("Strings(%s) = %v, want %v", value, got, want)
		}
	}
}
