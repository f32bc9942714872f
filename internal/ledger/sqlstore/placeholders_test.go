// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
)

var at = time.UnixMicro(1_794_998_791_371_793).UTC()

func TestEventIsStoredAsFact(t *testing.T) {
	for data, stored := range map[string]string{
		`{"v":1,"type":"Woke","time":1794998791371,"fact":{}}`:          `{}`,
		`{"v":1,"type":"Woke","time":1794998791371,"fact":{"a":"}}"}}`:  `{"a":"}}"}`,
		`{"v":2,"type":"Woke","time":1794998791371,"fact":{}}`:          ``,
		`{"v":1,"type":"Slept","time":1794998791371,"fact":{}}`:         ``,
		`{"v":1,"type":"Woke","time":1794998791372,"fact":{}}`:          ``,
		`{"v":1,"type":"Woke","time":1794998791371,"fact":1}`:           `1`,
		`{"v":1,"type":"Woke","time":1794998791371,"fact":{},"more":1}`: `refused`,
		`{"v":1,"type":"Woke","time":1794998791371,"fact":{},"a":{}}`:   `refused`,
		`{}`: ``,
	} {
		event := ledger.Event{Type: "Woke", At: at, Data: json.RawMessage(data)}
		batch, forms := stripEvents(ledger.Batch{Agent: "a", Events: []ledger.Event{event}})
		event, form := batch.Events[0], forms[0]
		if batch.Validate() != nil {
			continue // Append stores the whole event
		}
		if stripped := string(event.Data); form == formFact != (stored != "") || form == formFact && stripped != stored {
			t.Errorf("%s is stored as %s in form %d", data, stripped, form)
		}
		if restoreEvent(&event, form); string(event.Data) != data {
			t.Errorf("%s is restored as %s", data, event.Data)
		}
	}
}

func TestUsageIsStoredInColumns(t *testing.T) {
	n := func(n int64) *int64 { return &n }
	for response, stored := range map[string]string{
		`{"usage":{"promptTokens":7,"cachedTokens":3,"completionTokens":2,"totalTokens":9},"a":1}`:         `{"usage":0,"a":1}`,
		`{"usage":{"promptTokens":7,"cachedTokens":3,"completionTokens":2,"totalTokens":8}}`:               ``,
		`{"usage":{"promptTokens":7,"cachedTokens":3,"cacheWriteTokens":1,"completionTokens":2}}`:          ``,
		`[{"usage":{"promptTokens":7,"cachedTokens":3,"completionTokens":2,"totalTokens":9}},{"usage":0}]`: ``,
		`{"usage":0}`: ``,
		`null`:        ``,
	} {
		result := ledger.ModelResult{Response: json.RawMessage(response), PromptTokens: n(7), CachedTokens: n(3), CompletionTokens: n(2), ReasoningTokens: n(0)}
		if stripUsage(&result) != (stored != "") || stored != "" && string(result.Response) != stored {
			t.Errorf("%s is stored as %s", response, result.Response)
		}
		if stored == "" {
			continue
		}
		if restored := string(restoreUsage(&result)); restored != response {
			t.Errorf("%s is restored as %s", response, restored)
		}
	}
	unknown := ledger.ModelResult{Response: json.RawMessage(`{"usage":{"promptTokens":7,"completionTokens":0,"totalTokens":7}}`), PromptTokens: n(7)}
	if stripUsage(&unknown) {
		t.Error("a usage that the columns do not have was removed")
	}
}

func TestDigestIsStoredBinary(t *testing.T) {
	sum := strings.Repeat("0a", 32)
	for sent, bytes := range map[string]int{
		`{"bodyDigest":"` + sum + `","model":"m"}`:                  32,
		`{"bodyDigest":"` + sum + `","model":"m","textOnly":true}`:  32,
		`{"bodyDigest":"` + sum + `","model":"m"`:                   0,
		`{"bodyDigest":"` + sum + `","model":"mm"}`:                 0,
		`{"bodyDigest":"` + sum + `","model":"m" }`:                 0,
		`{"bodyDigest":"` + strings.ToUpper(sum) + `","model":"m"}`: 0,
		`{"bodyDigest":"` + sum + `00","model":"m"}`:                0,
		`{"bodyDigest":"` + sum + `"}`:                              0,
		`{"bodyDigest":"0a"}`:                                       0,
		`{"model":"m"}`:                                             0,
	} {
		digest, rest := splitSent(json.RawMessage(sent), "m")
		stored, _ := digest.([]byte)
		text := ""
		if stored != nil {
			text = sum
		}
		kept, _ := rest.(string)
		if restored := string(joinSent(text, "m", json.RawMessage(kept))); len(stored) != bytes || restored != sent {
			t.Errorf("%s has %d bytes of digest, and is restored as %s", sent, len(stored), restored)
		}
	}
	if digest, rest := splitSent(nil, "m"); digest != nil || rest != nil {
		t.Errorf("nothing is stored as %v and %v", digest, rest)
	}
}
