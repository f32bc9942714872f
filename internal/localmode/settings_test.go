// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package localmode

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

func TestModelComesFromEnvironment(t *testing.T) {
	for name, tc := range map[string]struct {
		env         map[string]string
		want        Model
		wantMessage string
	}{
		"nothing":                {nil, Model{}, ""},
		"a key":                  {map[string]string{"OPENAI_API_KEY": "k"}, Model{API: v1beta1.APIOpenAI, BaseURL: openAI, Name: openAIDefault, Key: "k"}, ""},
		"a key and a model":      {map[string]string{"OPENAI_API_KEY": "k", "MODEL": "m"}, Model{API: v1beta1.APIOpenAI, BaseURL: openAI, Name: "m", Key: "k"}, ""},
		"Anthropic's key":        {map[string]string{"ANTHROPIC_API_KEY": "k"}, Model{API: v1beta1.APIAnthropic, Name: anthropicDefault, Key: "k"}, ""},
		"Gemini's key":           {map[string]string{"GEMINI_API_KEY": "k", "MODEL": "m"}, Model{API: v1beta1.APIGemini, Name: "m", Key: "k"}, ""},
		"two keys":               {map[string]string{"OPENAI_API_KEY": "k", "GEMINI_API_KEY": "l"}, Model{}, "OPENAI_API_KEY and GEMINI_API_KEY are set: set MODEL_API to OpenAI or Gemini"},
		"two keys, an API":       {map[string]string{"OPENAI_API_KEY": "k", "GEMINI_API_KEY": "l", "MODEL_API": "gemini"}, Model{API: v1beta1.APIGemini, Name: geminiDefault, Key: "l"}, ""},
		"the Responses API":      {map[string]string{"OPENAI_API_KEY": "k", "MODEL_API": "OpenAIResponses"}, Model{API: v1beta1.APIOpenAIResponses, BaseURL: openAI, Name: openAIDefault, Key: "k"}, ""},
		"the key of another API": {map[string]string{"OPENAI_API_KEY": "k", "MODEL_API": "Anthropic"}, Model{}, "MODEL_API is set, but neither ANTHROPIC_API_KEY nor MODEL_BASE_URL"},
		"an unknown API":         {map[string]string{"MODEL_API": "Cohere"}, Model{}, "use OpenAI, Anthropic, Gemini, OpenAIResponses"},
		"an endpoint":            {map[string]string{"MODEL_BASE_URL": "http://127.0.0.1:1/v1", "MODEL": "m"}, Model{API: v1beta1.APIOpenAI, BaseURL: "http://127.0.0.1:1/v1", Name: "m"}, ""},
		"an endpoint of an API":  {map[string]string{"MODEL_BASE_URL": "http://127.0.0.1:1", "MODEL": "m", "MODEL_API": "Anthropic"}, Model{API: v1beta1.APIAnthropic, BaseURL: "http://127.0.0.1:1", Name: "m"}, ""},
		"an endpoint does not get the key of another vendor": {
			map[string]string{"MODEL_BASE_URL": "http://127.0.0.1:1/v1", "MODEL": "m", "ANTHROPIC_API_KEY": "k"}, Model{API: v1beta1.APIOpenAI, BaseURL: "http://127.0.0.1:1/v1", Name: "m"}, "",
		},
		"an endpoint alone":   {map[string]string{"MODEL_BASE_URL": "http://127.0.0.1:1/v1"}, Model{}, "set MODEL"},
		"a model alone":       {map[string]string{"MODEL": "m"}, Model{}, "neither OPENAI_API_KEY nor MODEL_BASE_URL"},
		"an invalid endpoint": {map[string]string{"MODEL_BASE_URL": "localhost:1", "MODEL": "m"}, Model{}, "must be a URL"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ModelFromEnvironment(func(variable string) string { return tc.env[variable] })
			if tc.wantMessage == "" && (err != nil || got != tc.want) {
				t.Errorf("got %+v, %v; want %+v", got, err, tc.want)
			}
			if tc.wantMessage != "" && (err == nil || !strings.Contains(err.Error(), tc.wantMessage)) {
				t.Errorf("got %v, want an error with %q", err, tc.wantMessage)
			}
		})
	}
}

func TestEachModelHasAChat(t *testing.T) {
	for model, want := range map[Model]string{
		{}:                                   "first",
		{BaseURL: "u", Name: "GPT-4.1-mini"}: "first-gpt-4-1-mini",
		{BaseURL: "u", Name: "org/Model:7b (q4)"}:             "first-org-model-7b-q4",
		{BaseURL: "u", Name: strings.Repeat("a", 33) + "-bc"}: "first-" + strings.Repeat("a", 33),
	} {
		if got := (&Local{options: Options{Model: model}}).ChatName(); got != want {
			t.Errorf("the chat for %q is %q, want %q", model.Name, got, want)
		}
	}
}

func TestStateIsCheckedBeforeUse(t *testing.T) {
	for name, tc := range map[string]struct{ file, content, wantMessage string }{
		"empty":               {"", "", ""},
		"of this version":     {stateFile, fmt.Sprintf(`{"format":%d}`, format), ""},
		"of another version":  {stateFile, `{"format":99,"version":"v9.9.9"}`, "of another version (v9.9.9, format 99"},
		"of an older version": {"cluster/etcd/member", "", "of an earlier version"},
		"garbled":             {stateFile, "{", "make demo-clean"},
		"not of the demo":     {"thesis.txt", "", "was not made by the demo"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if tc.file != "" {
				path := filepath.Join(dir, tc.file)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(tc.content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			err := checkState(dir)
			if tc.wantMessage == "" && err != nil || tc.wantMessage != "" && (err == nil || !strings.Contains(err.Error(), tc.wantMessage)) {
				t.Errorf("checkState: %v, want %q", err, tc.wantMessage)
			}
		})
	}
}

func TestInsufficientSpaceIsReported(t *testing.T) {
	dir := t.TempDir()
	if err := checkSpace(dir, 1); err != nil {
		t.Errorf("one byte needed: %v", err)
	}
	if err := checkSpace(dir, 1<<62); err == nil || !strings.Contains(err.Error(), "DEMO_DIR") {
		t.Errorf("four exabytes needed: %v", err)
	}
	full := fmt.Errorf("write the log: %w", &os.PathError{Op: "write", Path: dir, Err: syscall.ENOSPC})
	if err := explain(full, dir); !strings.Contains(err.Error(), "no space left for "+dir) {
		t.Errorf("a full disk: %v", err)
	}
}

func TestPortInUseIsReported(t *testing.T) {
	taken, err := Listen(t.Context(), "the model", "", "DEMO_MODEL_ADDRESS")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	_, err = Listen(t.Context(), "the model", taken.Addr().(*net.TCPAddr).String(), "DEMO_MODEL_ADDRESS")
	if err == nil || !strings.Contains(err.Error(), "in use") || !strings.Contains(err.Error(), "DEMO_MODEL_ADDRESS") {
		t.Errorf("Listen: %v, want an error that names the variable", err)
	}
}
