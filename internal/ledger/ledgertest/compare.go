// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"bytes"
	"encoding/json"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// Compare returns the edit that makes request from before, if request continues it: its messages start with those of before.
func Compare(before, request json.RawMessage) (ledger.Edit, bool) {
	old, ok := endOfMessages(before)
	if !ok || old == 0 {
		return nil, false
	}
	end, ok := endOfMessages(request)
	if !ok || end < old || !bytes.Equal(before[:old], request[:old]) {
		return nil, false
	}
	edit := ledger.Edit{{From: 0, To: int64(old)}}
	switch more := request[old:end]; {
	case len(more) == 0:
	case more[0] == ',' && before[old-1] != '[':
		edit = append(edit, ledger.Piece{Values: []json.RawMessage{more[1:]}})
	default:
		return nil, false
	}
	rest := request[end:]
	same := ledger.CommonPrefix(before[old:], rest)
	if same > 0 {
		edit = append(edit, ledger.Piece{From: int64(old), To: int64(old + same)})
	}
	if same < len(rest) {
		edit = append(edit, ledger.Piece{Text: string(rest[same:])})
	}
	return edit, true
}

// endOfMessages returns the offset of the bracket that ends the messages of a request.
func endOfMessages(request json.RawMessage) (int, bool) {
	decoder := json.NewDecoder(bytes.NewReader(request))
	if t, err := decoder.Token(); err != nil || t != json.Delim('{') {
		return 0, false
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return 0, false
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return 0, false
		}
		if key == "messages" && bytes.HasSuffix(value, []byte("]")) {
			return int(decoder.InputOffset()) - 1, true
		}
	}
	return 0, false
}
