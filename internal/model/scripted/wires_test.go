// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/model/scripted"
)

// A PNG of one pixel, and the first bytes of other images.
const (
	pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	gif   = "R0lGODlhAQABAAAAACw="
)

// call posts a request to an API and returns the status, the headers and the body of the response.
func call(t testing.TB, url, body string, headers map[string]string) (int, http.Header, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(data)
}

// refusal is a request that an API refuses, and a part of the message.
type refusal struct{ body, says string }

// wireTest is how to reach one API.
type wireTest struct {
	path    string
	headers map[string]string
	// form is a part of each error's body.
	form string
}

// testStrict checks that the requests are refused in strict mode with 400 in the API's form, and accepted in lenient mode
// if they are JSON of the right types.
func testStrict(t *testing.T, wire wireTest, refused map[string]refusal, accepted map[string]string) {
	options := scripted.Options{Scripts: []*scripted.Script{parse(t, "fallback: {text: Hello.}")}}
	_, url := serve(t, options)
	options.Lenient = true
	_, lenient := serve(t, options)
	for name, tc := range refused {
		t.Run(name, func(t *testing.T) {
			status, _, body := call(t, url+wire.path, tc.body, wire.headers)
			if status != http.StatusBadRequest || !strings.Contains(body, quote(tc.says)[1:len(quote(tc.says))-1]) || !strings.Contains(body, wire.form) {
				t.Errorf("got %d %s, want 400 with %q", status, body, tc.says)
			}
			status, _, body = call(t, lenient+wire.path, tc.body, nil)
			if json.Valid([]byte(tc.body)) && status != http.StatusOK && !strings.Contains(body, "unmarshal") {
				t.Errorf("lenient mode refused it: %d %s", status, body)
			}
		})
	}
	for name, body := range accepted {
		t.Run("accepts "+name, func(t *testing.T) {
			if status, _, got := call(t, url+wire.path, body, wire.headers); status != http.StatusOK {
				t.Errorf("%s was refused: %s", body, got)
			}
		})
	}
}
