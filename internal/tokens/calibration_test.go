// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tokens

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer"
)

// The bounds of the estimate against a real tokenizer. An estimate below the first lets a budget be exceeded; one above the
// second wastes it.
const (
	lowest  = 0.9
	highest = 1.8
)

func TestEstimateIsCloseToRealTokenizers(t *testing.T) {
	vocabularies := []tokenizer.Encoding{tokenizer.O200kBase, tokenizer.Cl100kBase}
	for name, c := range corpora(t) {
		t.Run(name, func(t *testing.T) {
			estimate, most := Of(c.text), 0
			if estimate != Of([]byte(c.text)) {
				t.Error("the estimates for bytes and string differ")
			}
			for _, v := range vocabularies {
				codec, err := tokenizer.Get(v)
				if err != nil {
					t.Fatal(err)
				}
				count, err := codec.Count(c.text)
				if err != nil {
					t.Fatal(err)
				}
				if ratio := float64(estimate) / float64(count); ratio < lowest {
					t.Errorf("%s counts %d tokens in %d bytes, estimated %d: %.2f times, want at least %.2f", v, count, len(c.text), estimate, ratio, lowest)
				}
				most = max(most, count)
			}
			if ratio := float64(estimate) / float64(most); c.ordinary && ratio > highest {
				t.Errorf("estimated %d of %d tokens: %.2f times, want at most %.2f", estimate, most, ratio, highest)
			}
		})
	}
}

type corpus struct {
	text string
	// ordinary texts are code or prose, which must not be overestimated. Noise may be.
	ordinary bool
}

// corpora returns the texts in testdata, and noise of the kinds that tools return.
func corpora(t *testing.T) map[string]corpus {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("found no corpora: %v", err)
	}
	all := map[string]corpus{}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(path), ".txt")] = corpus{text: string(data), ordinary: true}
	}
	noise := make([]byte, 1500)
	if _, err := rand.NewChaCha8([32]byte{1}).Read(noise); err != nil {
		t.Fatal(err)
	}
	var ids strings.Builder
	for i := 0; i+16 <= len(noise); i += 16 {
		fmt.Fprintf(&ids, "%x-%x-%x 10.%d.%d.%d:%d\n", noise[i:i+4], noise[i+4:i+6], noise[i+6:i+12], noise[i], noise[i+1], noise[i+2], 1000+int(noise[i+3])*13)
	}
	for name, text := range map[string]string{
		"base64":      base64.StdEncoding.EncodeToString(noise),
		"base32":      fromAlphabet(noise, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
		"hex":         hex.EncodeToString(noise),
		"letters":     fromAlphabet(noise, "abcdefghijklmnopqrstuvwxyz"),
		"punctuation": fromAlphabet(noise, "!\"#$%&'()*+,-./:;<=>?@[]^_`{|}~"),
		"binary":      strings.ToValidUTF8(string(noise), "\uFFFD"),
		"emoji":       fromAlphabet(noise, "😀🎉🚀✅❌⚠🧭🔥🐛💡📦"),
		"identifiers": ids.String(),
		"digits":      strings.Repeat("1234567890", 400),
		"table":       strings.Repeat("|------|------|\n| 12.5 | x |\n", 60),
		"spaces":      strings.Repeat(" ", 4000),
		"tabs":        strings.Repeat("\t", 4000),
		"newlines":    strings.Repeat("\n", 4000),
		"blank lines": strings.Repeat("    \n", 800),
		"dashes":      strings.Repeat("-", 4000),
		"one letter":  strings.Repeat("a", 4000),
	} {
		all[name] = corpus{text: text}
	}
	return all
}

func fromAlphabet(noise []byte, alphabet string) string {
	characters := []rune(alphabet)
	var text strings.Builder
	for _, b := range noise {
		text.WriteRune(characters[int(b)%len(characters)])
	}
	return text.String()
}
