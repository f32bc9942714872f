// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package fold

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nestor-dev/nestor/internal/plainjson"
)

// log is a list of events.
type log [][]byte

func (l log) event(seq int64) ([]byte, error) {
	if seq < 1 || seq > int64(len(l)) {
		return nil, ErrDamaged
	}
	return l[seq-1], nil
}

func (l log) texts() *Draft {
	var t Texts
	draft := t.Draft()
	for i, data := range l {
		draft.Index(int64(i+1), data)
	}
	t.Commit(draft)
	return t.Draft()
}

// someText draws texts with everything that JSON escapes, often long ones.
func someText() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		part := rapid.StringOfN(rapid.SampledFrom([]rune(`ab"\<&>{}[]$:,`+"\n\u2028\x01é")), 1, 30, -1).Draw(t, "part")
		return strings.Repeat(part, rapid.IntRange(0, 20).Draw(t, "times"))
	})
}

func someValue(texts []string) *rapid.Generator[any] {
	quoting := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(texts), rapid.SampledFrom([]string{"", " ", "\\", "\n", "u2028", "\u2028"})), 1, 6).Draw(t, "quoted"), "")
	})
	leaf := rapid.OneOf(rapid.SampledFrom(texts).AsAny(), quoting.AsAny(), quoting.AsAny(), someText().AsAny(), rapid.Int().AsAny(), rapid.Just[any](nil))
	return rapid.OneOf(leaf, rapid.MapOfN(someText(), leaf, 0, 4).AsAny(), rapid.SliceOfN(leaf, 0, 6).AsAny(),
		rapid.Just[any](map[string]any{"$text": []int{1, 2, 3}}))
}

func TestUnfoldRestoresTheSameBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(someText(), 1, 6).Draw(t, "texts")
		var events log
		for range rapid.IntRange(0, 5).Draw(t, "events") {
			data, err := plainjson.Marshal(map[string]any{"fact": someValue(texts).Draw(t, "event")})
			if err != nil {
				t.Fatal(err)
			}
			events = append(events, data)
		}
		document, err := plainjson.Marshal(someValue(texts).Draw(t, "document"))
		if err != nil {
			t.Fatal(err)
		}
		folded, changed := events.texts().Fold(document)
		if !changed {
			if !bytes.Equal(folded, document) {
				t.Fatalf("the document changed: %s", folded)
			}
			return
		}
		if !json.Valid(folded) {
			t.Fatalf("a folded document is not JSON: %s", folded)
		}
		if len(folded) >= len(document) {
			t.Fatalf("folding made %d bytes of %d", len(folded), len(document))
		}
		whole, err := Unfold(folded, events.event)
		if err != nil || !bytes.Equal(whole, document) {
			t.Fatalf("unfolded to %s (%v), want %s", whole, err, document)
		}
	})
}

func TestKnownTextBecomesAReference(t *testing.T) {
	text := strings.Repeat(`a "quoted" <word> `, 40)
	event, _ := plainjson.Marshal(map[string]string{"output": text, "tool": "read"})
	events := log{[]byte(`{"short":"x"}`), event}
	document, _ := plainjson.Marshal([]string{"before", text, "after"})
	folded, changed := events.texts().Fold(document)
	if !changed || len(folded) > 60 {
		t.Fatalf("folded to %s", folded)
	}
	if got := Refs(folded); len(got) != 1 || got[0] != 2 {
		t.Errorf("refers to the events %v, want [2]", got)
	}
	ref, found := events.texts().Find([]byte(text))
	if !found {
		t.Fatal("the plain text was not found")
	}
	parsed, err := ParseRef(ref.String())
	if err != nil || parsed != ref {
		t.Errorf("%s reads as %v (%v)", ref, parsed, err)
	}
	token, err := ref.Token(events.event)
	var back string
	if err == nil {
		err = json.Unmarshal(token, &back)
	}
	if err != nil || back != text {
		t.Errorf("the reference resolves to %q (%v)", back, err)
	}
}

func TestTextsInsideStringsBecomeReferences(t *testing.T) {
	one, two := strings.Repeat("first <text>\n", 100), strings.Repeat("a \"second\" one\n", 200)
	var events log
	for _, text := range []string{one, two, one + two} {
		event, _ := plainjson.Marshal(map[string]string{"text": text})
		events = append(events, event)
	}
	document, _ := plainjson.Marshal([]string{"user: " + one + "\n\nassistant: " + two + two + "\\" + one + "the end", one + two + one})
	folded, changed := events.texts().Fold(document)
	if !changed || len(folded) > 250 {
		t.Fatalf("%d bytes were folded to %d: %s", len(document), len(folded), folded)
	}
	if whole, err := Unfold(folded, events.event); err != nil || !bytes.Equal(whole, document) {
		t.Errorf("unfolded to %s (%v), want %s", whole, err, document)
	}
}

func TestMatchStartsOutsideEscape(t *testing.T) {
	for _, test := range []struct {
		content string
		at      int
		inside  bool
	}{{`\nabc`, 1, true}, {`\nabc`, 2, false}, {`\\nabc`, 2, false}, {`\\nabc`, 1, true}, {`\u2028abc`, 5, true}, {`\u2028abc`, 6, false}, {`\\u2028`, 3, false}, {`abc`, 0, false}} {
		if got := insideEscape([]byte(test.content), test.at); got != test.inside {
			t.Errorf("insideEscape at %d of %s = %v", test.at, test.content, got)
		}
	}
}

func TestFieldNamesAreNotFolded(t *testing.T) {
	name := strings.Repeat("name", 50)
	event := []byte(`{"` + name + `" : {"text":"` + name + `"}}`)
	folded, changed := (log{event}).texts().Fold(event)
	if !changed || !json.Valid(folded) || !bytes.HasPrefix(folded, []byte(`{"`+name)) {
		t.Errorf("folded to %s", folded)
	}
}

// Outputs of an agent may start with the same bytes, and repeat them.
func TestSamePrefixesStayFast(t *testing.T) {
	var events log
	ruler := strings.Repeat("=", 80_000)
	event, _ := plainjson.Marshal(ruler + "x")
	events = append(events, event)
	document, _ := plainjson.Marshal(ruler + ruler + "y")
	draft := events.texts()
	hashed := draft.hashed
	draft.Fold(document)
	if most := 10 * len(document); draft.hashed-hashed > most {
		t.Errorf("%d bytes were hashed for a document of %d", draft.hashed-hashed, len(document))
	}
}

func TestFoldLookalikeIsUnchanged(t *testing.T) {
	text := strings.Repeat("x", 500)
	event, _ := plainjson.Marshal(text)
	document := []byte(`{"a":{"$text":[1,0,502]},"b":"` + text + `"}`)
	if folded, changed := (log{event}).texts().Fold(document); changed {
		t.Errorf("folded to %s: it would be mistaken for a reference", folded)
	}
}

func TestUncommittedDraftIsDropped(t *testing.T) {
	text, _ := plainjson.Marshal(strings.Repeat("y", 500))
	var texts Texts
	draft := texts.Draft()
	draft.Index(1, text)
	if _, changed := draft.Fold(text); !changed {
		t.Error("a text that was just added was not found")
	}
	if _, changed := texts.Draft().Fold(text); changed {
		t.Error("a text of an event that was never appended is referred to")
	}
}

func TestDamagedReferencesAreErrors(t *testing.T) {
	events := log{[]byte(`{"a":"text"}`)}
	for _, document := range []string{
		`{"$texts":[`, `{"$texts":[1]}`, `{"$texts":["a"`, `{"$texts":["a`, `{"$texts":[[1,5,600]]}`, `{"$texts":[[1,5]]}`, `{"$texts":[[1`, `{"$textual":[1]}`,
		`{"$text":[`, `{"$text":[1,2]}`, `{"$text":[a,b,c]}`, `{"$text":[9,5,6]}`, `{"$text":[1,5,600]}`, `{"$text":[1,-5,6]}`, `{"$text":[1,4,6]}`,
		`{"$text":[1,5,9223372036854775807]}`, `{"$text":[1,9223372036854775807,6]}`, `{"$text":[1,0,0]}`,
	} {
		if whole, err := Unfold([]byte(document), events.event); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s unfolds to %s (%v), want ErrDamaged", document, whole, err)
		}
	}
	if whole, err := Unfold([]byte(`[{"$text":[1,5,6]},1]`), events.event); err != nil || string(whole) != `["text",1]` {
		t.Errorf("a good reference unfolds to %s (%v)", whole, err)
	}
}

func TestBrokenJSONIsUnchanged(t *testing.T) {
	for _, document := range []string{`"`, `"\`, `\"`, `{"a`, `"\\"`, strings.Repeat(`\`, 200) + `"`, `"` + strings.Repeat(`\`, 201)} {
		draft := new(Texts).Draft()
		draft.Index(1, []byte(document+strings.Repeat(" ", 100)))
		draft.Fold([]byte(document + strings.Repeat(" ", 100)))
	}
}
