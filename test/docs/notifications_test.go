// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/webhook"
)

// TestSignatureExample runs the example that verifies a notification, with the request that the operator sends.
func TestSignatureExample(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "tasks", "notifications.md"))
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile("(?s)```js\n(.*?)```").FindSubmatch(text)
	if example == nil {
		t.Fatal("the page has no example")
	}
	node, err := exec.LookPath("node")
	if err != nil && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	header := http.Header{}
	webhook.Sign(header, "k", "u1/post-3", []byte(`{"data":{}}`), time.Now())
	program := `import { createHmac, timingSafeEqual } from "node:crypto";` + "\n" + string(example[1]) + `
const [id, time, signature] = process.argv.slice(1);
const headers = { "webhook-id": id, "webhook-timestamp": time, "webhook-signature": signature };
console.log(verify(headers, '{"data":{}}', "k"), verify(headers, '{"data":1}', "k"), verify(headers, '{"data":{}}', "other"),
  verify({ ...headers, "webhook-id": "u1/post-4" }, '{"data":{}}', "k"), verify({ ...headers, "webhook-timestamp": "1" }, '{"data":{}}', "k"));`
	args := []string{"--input-type=module", "-e", program, header.Get("Webhook-Id"), header.Get("Webhook-Timestamp"), header.Get("Webhook-Signature")}
	output, err := exec.CommandContext(t.Context(), node, args...).CombinedOutput()
	if err != nil || string(output) != "true"+strings.Repeat(" false", 4)+"\n" {
		t.Errorf("%s, %v", output, err)
	}
}
