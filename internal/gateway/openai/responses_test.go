// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nestor-dev/nestor/internal/gateway/run"
)

func TestResponseID(t *testing.T) {
	for _, want := range []exchange{
		{namespace: "team-a", task: "reviewer-1"},
		{namespace: "team-a", task: "reviewer-1", from: run.Cursor{Seq: 12}, answered: "call-1@reviewer-1"},
		{namespace: "team-a", chat: "talk", message: "m-1", from: run.Cursor{Seq: 3}},
		{namespace: "team-a", task: "reviewer-1", shown: "call-1@reviewer-1#ab", notice: noticeStale},
	} {
		got, err := parseID("p", idPrefix, want.id())
		if err != nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%+v: %+v, %v", want, got, err)
		}
	}
}

func TestParseIDRefuses(t *testing.T) {
	encoded := func(text string) string { return idPrefix + base64.RawURLEncoding.EncodeToString([]byte(text)) }
	valid := exchange{namespace: "n", task: "t"}.id()
	for name, id := range map[string]string{
		"nothing": "", "only a prefix": idPrefix, "another prefix": "chatcmpl-" + strings.TrimPrefix(valid, idPrefix), "no prefix": strings.TrimPrefix(valid, idPrefix),
		"not base64": idPrefix + "!", "padding": valid + "=", "not JSON": encoded("x"), "an array": encoded("[]"), "no namespace": encoded(`{"t":"t"}`),
		"neither task nor chat": encoded(`{"n":"n"}`), "task and chat": encoded(`{"n":"n","t":"t","c":"c"}`), "a number as a name": encoded(`{"n":"n","t":1}`),
		"cut off": valid[:len(valid)-3],
	} {
		if got, err := parseID("p", idPrefix, id); paramOf(err) != "p" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestInputNamesTheLastReply(t *testing.T) {
	shown := exchange{namespace: "n", task: "t", shown: "call@t#ab"}
	id := itemPrefix + shown.encode()
	user, text := `{"role":"user","content":"a"}`, `{"role":"assistant","content":"b"}`
	reference := `{"type":"item_reference","id":"` + id + `"}`
	item := `{"type":"message","role":"assistant","id":"` + id + `","content":[{"type":"output_text","text":"b"}]}`
	for name, test := range map[string]struct {
		input []string
		want  *exchange
		param string
	}{
		"one message":             {[]string{user}, nil, "-"},
		"text":                    {[]string{user, text, user}, nil, "-"},
		"a reference":             {[]string{user, reference, user}, &shown, "-"},
		"an item":                 {[]string{user, item, user}, &shown, "-"},
		"reasoning before it":     {[]string{user, `{"type":"reasoning","id":"rs_1","summary":[]}`, reference, user}, &shown, "-"},
		"an item of another ID":   {[]string{user, strings.Replace(item, id, "msg_1", 1), user}, nil, "-"},
		"an unknown reference":    {[]string{user, strings.Replace(reference, id, "msg_1", 1), user}, nil, "input"},
		"the ID of a response":    {[]string{user, strings.Replace(reference, id, shown.id(), 1), user}, nil, "input"},
		"a reference before text": {[]string{user, reference, user, text, user}, nil, "input"},
		"a later one":             {[]string{user, text, user, reference, user}, &shown, "-"},
	} {
		var in input
		if err := json.Unmarshal([]byte("["+strings.Join(test.input, ",")+"]"), &in); err != nil {
			t.Fatal(err)
		}
		got, err := in.repliesTo()
		if !reflect.DeepEqual(got, test.want) || paramOf(err) != test.param {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if err := json.Unmarshal([]byte(`[{"type":"function_call_output","call_id":"1","output":"x"}]`), &input{}); err == nil {
		t.Error("an unsupported item was accepted")
	}
}

func cursors(t *rapid.T, label string) run.Cursor {
	return run.Cursor{Seq: rapid.Int64Range(0, 1<<32).Draw(t, label+" seq"), Offset: rapid.IntRange(0, afterText-beforeText-1).Draw(t, label+" offset")}
}

func TestSequenceNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := cursors(t, "a"), cursors(t, "b")
		if got := cursorOf(number(a), run.Cursor{}); got != a {
			t.Fatalf("%v has the number %d, which is %v", a, number(a), got)
		}
		before := a.Seq < b.Seq || a.Seq == b.Seq && a.Offset < b.Offset
		if before != (number(a) < number(b)) {
			t.Fatalf("%v has the number %d, and %v %d", a, number(a), b, number(b))
		}
		// The events after text come after all of it, and a stream that continues there has nothing of the text to repeat.
		end := number(run.Cursor{Seq: a.Seq, Offset: afterText})
		if end <= number(a) || cursorOf(end, run.Cursor{}) != (run.Cursor{Seq: a.Seq}) {
			t.Fatalf("the end after %v has the number %d, which is %v", a, end, cursorOf(end, run.Cursor{}))
		}
	})
}

func TestSequenceNumbersBeforeTheExchange(t *testing.T) {
	begin := run.Cursor{Seq: 7}
	for _, n := range []int64{0, 1, number(run.Cursor{Seq: 3, Offset: 5})} {
		if got := cursorOf(n, begin); got != begin {
			t.Errorf("%d: %v, want %v", n, got, begin)
		}
	}
}
