// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/openai"
	"github.com/nestor-dev/nestor/internal/model/scripted"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

func TestKeyNeverReachesTheError(t *testing.T) {
	for name, script := range map[string]string{
		"echoed whole":           reply("error: {status: 401, message: 'Incorrect API key provided: " + testKey + ".'}"),
		"echoed in part":         reply("error: {status: 401, message: 'Incorrect API key provided: sk-test-****cdef.'}"),
		"echoed as header":       reply("raw: {status: 400, body: 'bad header Authorization: Bearer " + testKey + "'}"),
		"echoed at the cut":      reply("error: {status: 400, message: '" + strings.Repeat("x", 990) + testKey + "'}"),
		"echoed in broken JSON":  events(`{"` + testKey),
		"echoed in a page":       rawReply("text/html", "<p>"+testKey+"</p>"),
		"cut through in a page":  rawReply("text/html", strings.Repeat("x", 188)+testKey),
		"cut through in JSON":    events(`{"` + strings.Repeat("x", 186) + testKey),
		"echoed inside a stream": events(`{"error":{"message":"no: ` + testKey + `"}}`),
	} {
		t.Run(name, func(t *testing.T) {
			client, _ := playScript(t, script)
			_, err := client.Complete(t.Context(), question(), nil)
			var failed *model.Error
			if !errors.As(err, &failed) {
				t.Fatalf("error is %v, want a *model.Error", err)
			}
			asJSON, marshalErr := json.Marshal(failed)
			if marshalErr != nil {
				t.Fatal(marshalErr)
			}
			for _, text := range []string{err.Error(), fmt.Sprintf("%+v %#v", failed, failed), string(asJSON)} {
				if strings.Contains(text, "01234") || strings.Contains(text, "cdef") || strings.Contains(text, "sk-test") {
					t.Errorf("the key, or a part of it, is in %q", text)
				}
			}
		})
	}
}

func TestLongProviderMessagesAreTruncated(t *testing.T) {
	client, _ := playScript(t, reply("error: {status: 400, message: '"+strings.Repeat("ä", 4000)+"'}"))
	_, err := client.Complete(t.Context(), question(), nil)
	if err == nil || len([]rune(err.Error())) > 600 || !strings.HasSuffix(err.Error(), "ä…") {
		t.Errorf("got %d bytes: %v", len(err.Error()), err)
	}
}

func TestKeyIsReadForEachCall(t *testing.T) {
	script, err := scripted.Parse("test.yaml", []byte(reply("text: Hello.")))
	if err != nil {
		t.Fatal(err)
	}
	listening := httptest.NewServer(scripted.NewServer(scripted.Options{Scripts: []*scripted.Script{script}, APIKey: "second"}))
	defer listening.Close()
	keys := []string{"first", "second"}
	client, err := openai.NewClient(wire.Endpoint{BaseURL: listening.URL + "/v1", Key: func(context.Context) (string, error) {
		key := keys[0]
		keys = keys[1:]
		return key, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	var failed *model.Error
	if _, err := client.Complete(t.Context(), question(), nil); !errors.As(err, &failed) || failed.Kind != model.Unauthorized {
		t.Fatalf("with the old key: %v, want Unauthorized", err)
	}
	if strings.Contains(failed.Message, "first") {
		t.Errorf("the key is in the message: %v", failed)
	}
	if _, err := client.Complete(t.Context(), question(), nil); err != nil {
		t.Errorf("with the new key: %v", err)
	}
}

func TestUnreadableKeySendsNoRequest(t *testing.T) {
	client, err := openai.NewClient(wire.Endpoint{BaseURL: "http://127.0.0.1:1/v1", Key: func(context.Context) (string, error) {
		return "", errors.New(`secret "openai" not found`)
	}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Complete(t.Context(), question(), nil)
	var failed *model.Error
	if !errors.As(err, &failed) || failed.Kind != model.NoKey || !strings.Contains(failed.Message, `secret "openai" not found`) {
		t.Errorf("got %v, want NoKey with the reason", err)
	}
}

func TestEnvironmentIsNotRead(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-from-the-environment-1")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/wrong")
	t.Setenv("OPENAI_ORG_ID", "org")
	script, err := scripted.Parse("test.yaml", []byte(reply("text: Hello.")))
	if err != nil {
		t.Fatal(err)
	}
	server := scripted.NewServer(scripted.Options{Scripts: []*scripted.Script{script}})
	listening := httptest.NewServer(server)
	defer listening.Close()
	client, err := openai.NewClient(wire.Endpoint{BaseURL: listening.URL + "/v1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Complete(t.Context(), question(), nil); err != nil {
		t.Fatal(err)
	}
	if server.Requests()[0].Authorized {
		t.Error("a key was sent although the endpoint has none")
	}
}

func TestInvalidBaseURLIsRejected(t *testing.T) {
	for _, address := range []string{"", "api.example.com", "ftp://api.example.com", "http://", "://"} {
		if _, err := openai.NewClient(wire.Endpoint{BaseURL: address}); err == nil {
			t.Errorf("%q was accepted", address)
		}
	}
}

func TestModelsAreListed(t *testing.T) {
	client, _ := playScript(t, "models: [small, large]\n"+reply("text: Hello."))
	names, err := client.Models(t.Context())
	if err != nil || strings.Join(names, " ") != "small large" {
		t.Errorf("got %v, %v", names, err)
	}
	unauthorized, err := scripted.Parse("test.yaml", []byte(reply("text: Hello.")))
	if err != nil {
		t.Fatal(err)
	}
	locked := connect(t, scripted.NewServer(scripted.Options{Scripts: []*scripted.Script{unauthorized}, APIKey: "another"}), 0)
	var failed *model.Error
	if _, err := locked.Models(t.Context()); !errors.As(err, &failed) || failed.Kind != model.Unauthorized {
		t.Errorf("got %v, want Unauthorized", err)
	}
}
