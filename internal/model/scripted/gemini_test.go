// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/model/scripted"
)

const (
	geminiPath   = "/v1beta/models/m:generateContent"
	geminiStream = "/v1beta/models/m:streamGenerateContent?alt=sse"
	geminiHello  = `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`
)

// signedCall returns a part with a call and its signature, as the server writes it.
func signedCall(t *testing.T, url string) string {
	t.Helper()
	_, _, body := call(t, url+geminiPath, strings.Replace(geminiHello, "hi", "think", 1), nil)
	var reply struct {
		Candidates []struct {
			Content struct{ Parts []json.RawMessage }
		}
	}
	if err := json.Unmarshal([]byte(body), &reply); err != nil || len(reply.Candidates) != 1 || len(reply.Candidates[0].Content.Parts) != 2 {
		t.Fatalf("%v: %s", err, body)
	}
	part := string(reply.Candidates[0].Content.Parts[1])
	return strings.Replace(part, `"id":"a",`, "", 1)
}

func TestGeminiWireIsStrict(t *testing.T) {
	_, url := serve(t, scripted.Options{Scripts: []*scripted.Script{parse(t, thinkingScript)}})
	signed := signedCall(t, url)
	const user = `{"role":"user","parts":[{"text":"hi"}]}`
	const result = `{"role":"user","parts":[{"functionResponse":{"name":"ls","response":{"output":"x"}}}]}`
	use := `{"role":"model","parts":[` + signed + `]}`
	unsigned := `{"role":"model","parts":[{"functionCall":{"name":"ls","args":{}}}]}`
	contents := func(c ...string) string { return `{"contents":[` + strings.Join(c, ",") + `]}` }
	parts := func(p string) string { return contents(`{"role":"user","parts":[` + p + `]}`) }
	with := func(fields string) string { return `{"contents":[` + user + `],` + fields + `}` }
	function := func(f string) string { return with(`"tools":[{"functionDeclarations":[` + f + `]}]`) }
	config := func(c string) string { return with(`"generationConfig":{` + c + `}`) }

	testStrict(t, wireTest{geminiPath, nil, `"status":"INVALID_ARGUMENT"`}, map[string]refusal{
		"no contents":                       {`{}`, "contents is not specified"},
		"an unknown field":                  {with(`"mood":"good"`), `Unknown name "mood": Cannot find field.`},
		"the model in the body":             {with(`"model":"m"`), `Unknown name "model"`},
		"an unknown field of a content":     {contents(`{"role":"user","name":"x","parts":[{"text":"hi"}]}`), `Unknown name "name"`},
		"an unknown field of a part":        {parts(`{"text":"x","mood":1}`), `Unknown name "mood"`},
		"an unknown field of a function":    {function(`{"name":"ls","inputSchema":{}}`), `Unknown name "inputSchema"`},
		"an unknown field of a schema":      {function(`{"name":"ls","parameters":{"type":"OBJECT","properties":{"a":{"type":"STRING","additionalProperties":false}}}}`), `Unknown name "additionalProperties"`},
		"another role":                      {contents(`{"role":"assistant","parts":[{"text":"hi"}]}`), "Please use a valid role: user, model."},
		"no parts":                          {contents(`{"role":"user"}`), "contents.parts must not be empty."},
		"an empty part":                     {parts(`{}`), "required oneof field 'data'"},
		"a part of two kinds":               {parts(`{"text":"x","inlineData":{"mimeType":"image/png","data":"` + pixel + `"}}`), "oneof field 'data' is already set"},
		"an empty text":                     {parts(`{"text":""}`), "empty text parameter"},
		"an empty system instruction":       {with(`"systemInstruction":{"parts":[]}`), "system_instruction"},
		"the model last":                    {contents(user, `{"role":"model","parts":[{"text":"hi"}]}`), "end with a user role"},
		"an image of another type":          {parts(`{"inlineData":{"mimeType":"image/gif","data":"` + gif + `"}}`), "Unsupported MIME type: image/gif"},
		"an image that is not base64":       {parts(`{"inlineData":{"mimeType":"image/png","data":"!"}}`), "Base64 decoding failed"},
		"an image that is none":             {parts(`{"inlineData":{"mimeType":"image/png","data":"eA=="}}`), "Unable to process input image"},
		"an empty image":                    {parts(`{"inlineData":{"mimeType":"image/heic","data":""}}`), "Unable to process input image"},
		"an image of the model":             {contents(user, `{"role":"model","parts":[{"inlineData":{"mimeType":"image/png","data":"`+pixel+`"}}]}`, user), "media is not supported in turns of the model"},
		"a file at an http address":         {parts(`{"fileData":{"mimeType":"image/png","fileUri":"http://example.com/x.png"}}`), "Unsupported file URI type"},
		"an image of a result that is none": {contents(user, use, `{"role":"user","parts":[{"functionResponse":{"name":"ls","response":{},"parts":[{"inlineData":{"mimeType":"image/png","data":"eA=="}}]}}]}`), "Unable to process input image"},
		"a text in a result":                {contents(user, use, `{"role":"user","parts":[{"functionResponse":{"name":"ls","response":{},"parts":[{"text":"x"}]}}]}`), "only inline_data is supported"},
		"a call of the user":                {parts(signed), "function call turns have the role model"},
		"a result of the model":             {contents(user, use, strings.Replace(result, "user", "model", 1)), "function response turns have the role user"},
		"a call without a result":           {contents(user, use, user), "number of function response parts is equal"},
		"a call at the end":                 {contents(user, use), "function calls have their responses"},
		"a result without a call":           {contents(user, result), "function response turn comes immediately after a function call turn"},
		"two results of a call":             {contents(user, use, `{"role":"user","parts":[{"functionResponse":{"name":"ls","response":{}}},{"functionResponse":{"name":"ls","response":{}}}]}`), "number of function response parts is equal"},
		"a result with another name":        {contents(user, use, strings.Replace(result, `"ls"`, `"rm"`, 1)), "does not match a function call"},
		"a result with another id":          {contents(user, use, strings.Replace(result, `"name"`, `"id":"x","name"`, 1)), "does not match a function call"},
		"a result without a name":           {contents(user, use, strings.Replace(result, `"name":"ls",`, ``, 1)), "Name cannot be empty."},
		"a result without a response":       {contents(user, use, strings.Replace(result, `,"response":{"output":"x"}`, ``, 1)), "response is required"},
		"a result that is a text":           {contents(user, use, strings.Replace(result, `{"output":"x"}`, `"x"`, 1)), "(type.googleapis.com/google.protobuf.Struct)"},
		"a call after the model":            {contents(user, `{"role":"model","parts":[{"text":"hi"}]}`, use, result), "function call turn comes immediately after a user turn"},
		"a call first":                      {contents(use, result), "function call turn comes immediately after a user turn"},
		"arguments that are a text":         {contents(user, strings.Replace(unsigned, `{}`, `"{}"`, 1), result), "(type.googleapis.com/google.protobuf.Struct)"},
		"a call without a name":             {contents(user, strings.Replace(unsigned, `"ls"`, `""`, 1), result), "Name cannot be empty."},
		"a call with a bad name":            {contents(user, strings.Replace(unsigned, `"ls"`, `"1ls"`, 1), result), "Invalid function name."},
		"a call without its signature":      {contents(user, unsigned, result), "Function call is missing a thought_signature in functionCall parts."},
		"a later call without signature":    {contents(user, use, result, unsigned, result), "missing a thought_signature"},
		"a foreign signature":               {contents(user, strings.Replace(unsigned, `{"functionCall"`, `{"thoughtSignature":"eHh4","functionCall"`, 1), result), "Corrupted thought signature."},
		"a signature of another call":       {contents(user, strings.Replace(use, `"ls"`, `"rm"`, 1), strings.Replace(result, `"ls"`, `"rm"`, 1)), "Corrupted thought signature."},
		"a signature of an old turn":        {contents(user, `{"role":"model","parts":[{"text":"hi","thoughtSignature":"eHh4"}]}`, user), "Corrupted thought signature."},
		"a function with a bad name":        {function(`{"name":"l s"}`), "Invalid function name."},
		"a function that begins with 1":     {function(`{"name":"1ls"}`), "Must start with a letter or an underscore."},
		"a function with a long name":       {function(`{"name":"` + strings.Repeat("x", 65) + `"}`), "maximum length of 64"},
		"two functions with one name":       {function(`{"name":"ls"},{"name":"ls"}`), "Duplicate function declaration found: ls"},
		"two schemas":                       {function(`{"name":"ls","parameters":{"type":"OBJECT"},"parametersJsonSchema":{"type":"object"}}`), "cannot both be set"},
		"parameters of another type":        {function(`{"name":"ls","parameters":{"type":"STRING"}}`), "schema should be of OBJECT type."},
		"parameters without properties":     {function(`{"name":"ls","parameters":{"type":"OBJECT","properties":{}}}`), "should be non-empty for OBJECT type"},
		"a list without items":              {function(`{"name":"ls","parameters":{"type":"OBJECT","properties":{"a":{"type":"ARRAY"}}}}`), "items: missing field."},
		"a property of no type":             {function(`{"name":"ls","parameters":{"type":"OBJECT","properties":{"a":{"type":"TEXT"}}}}`), "v1beta.Type), \"TEXT\""},
		"a required property that is not":   {function(`{"name":"ls","parameters":{"type":"OBJECT","properties":{"a":{"type":"STRING"}},"required":["b"]}}`), "property is not defined: b"},
		"a JSON schema of another type":     {function(`{"name":"ls","parametersJsonSchema":{"type":"string"}}`), "schema should be of OBJECT type."},
		"a tool config without tools":       {with(`"toolConfig":{"functionCallingConfig":{"mode":"AUTO"}}`), "Function calling config is set without function_declarations."},
		"an unknown mode":                   {with(`"tools":[{"functionDeclarations":[{"name":"ls"}]}],"toolConfig":{"functionCallingConfig":{"mode":"required"}}`), "FunctionCallingConfig.Mode), \"required\""},
		"allowed names in another mode":     {with(`"tools":[{"functionDeclarations":[{"name":"ls"}]}],"toolConfig":{"functionCallingConfig":{"mode":"AUTO","allowedFunctionNames":["ls"]}}`), "mode is ANY or VALIDATED"},
		"an allowed name that is not":       {with(`"tools":[{"functionDeclarations":[{"name":"ls"}]}],"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["rm"]}}`), "The allowed function rm is not declared."},
		"a temperature beyond 2":            {config(`"temperature":2.5`), "temperature must be in the range [0.0, 2.0]."},
		"an output limit of nothing":        {config(`"maxOutputTokens":0`), "max_output_tokens must be positive."},
		"two candidates":                    {config(`"candidateCount":2`), "Multiple candidates"},
		"a budget and a level":              {config(`"thinkingConfig":{"thinkingBudget":1,"thinkingLevel":"LOW"}`), "only one of thinking budget and thinking level"},
		"a large budget":                    {config(`"thinkingConfig":{"thinkingBudget":99999}`), "The thinking budget 99999 is invalid."},
		"an unknown level":                  {config(`"thinkingConfig":{"thinkingLevel":"extreme"}`), "ThinkingLevel"},
		"text that is not JSON":             {`{"contents":`, "Invalid JSON payload received."},
		"text after the JSON":               {geminiHello + "x", "text after the object"},
	}, map[string]string{
		"a tool loop":            contents(user, use, result, use, result),
		"a call of another API":  contents(user, strings.Replace(unsigned, `{"functionCall"`, `{"thoughtSignature":"c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=","functionCall"`, 1), result),
		"an old unsigned call":   contents(user, unsigned, result, `{"role":"model","parts":[{"text":"hi"}]}`, user),
		"parallel calls":         contents(user, `{"role":"model","parts":[`+signed+`,{"functionCall":{"name":"rm"}}]}`, `{"role":"user","parts":[{"functionResponse":{"name":"rm","response":{}}},{"functionResponse":{"name":"ls","response":{}}},{"inlineData":{"mimeType":"image/png","data":"`+pixel+`"}}]}`),
		"a call with an id":      contents(user, strings.Replace(use, `"name"`, `"id":"1","name"`, 1), strings.Replace(result, `"name"`, `"id":"1","name"`, 1)),
		"two contents of a user": contents(user, user),
		"a JSON schema":          function(`{"name":"fs.ls","description":"d","parametersJsonSchema":{"type":"object","additionalProperties":false}}`),
		"a schema":               function(`{"name":"ls","parameters":{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}},"required":["a"]}}`),
		"options":                with(`"systemInstruction":{"role":"user","parts":[{"text":"x"}]},"safetySettings":[],"generationConfig":{"temperature":1,"maxOutputTokens":9,"topK":1,"thinkingConfig":{"includeThoughts":true,"thinkingBudget":-1}}`),
	})
}

func TestGeminiKeysAndPaths(t *testing.T) {
	_, url := serve(t, scripted.Options{Scripts: []*scripted.Script{parse(t, "models: [m]\nfallback: {text: Hello.}")}, APIKey: "secret"})
	key := map[string]string{"X-Goog-Api-Key": "secret"}
	for name, tc := range map[string]struct {
		path        string
		headers     map[string]string
		status      int
		wantMessage string
	}{
		"no key":             {geminiPath, nil, http.StatusForbidden, `"PERMISSION_DENIED"`},
		"a wrong key":        {geminiPath, map[string]string{"X-Goog-Api-Key": "other"}, http.StatusBadRequest, `"API_KEY_INVALID"`},
		"the key":            {geminiPath, key, http.StatusOK, "Hello."},
		"the key in the URL": {geminiPath + "?key=secret", nil, http.StatusOK, "Hello."},
		"an unknown model":   {strings.Replace(geminiPath, "/m:", "/x:", 1), key, http.StatusNotFound, "models/x is not found for API version v1beta"},
		"an unknown method":  {"/v1beta/models/m:embedContent", key, http.StatusNotFound, `"NOT_FOUND"`},
		"no method":          {"/v1beta/models/m", key, http.StatusNotFound, `"NOT_FOUND"`},
	} {
		if status, _, body := call(t, url+tc.path, geminiHello, tc.headers); status != tc.status || !strings.Contains(body, tc.wantMessage) {
			t.Errorf("%s: got %d %s, want %d with %q", name, status, body, tc.status, tc.wantMessage)
		}
	}
}

func TestGeminiStream(t *testing.T) {
	script := parse(t, `
fallback:
  reasoning: Let me look.
  text: I look.
  chunkSize: 6
  toolCalls: [{name: ls, arguments: {path: "."}}, {id: x, name: rm, arguments: {}}]
  usage: {promptTokens: 30, cachedTokens: 10, completionTokens: 12, reasoningTokens: 4}
`)
	_, url := serve(t, scripted.Options{Scripts: []*scripted.Script{script}})
	_, headers, body := call(t, url+geminiStream, geminiHello, nil)
	if headers.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%v: %s", headers, body)
	}
	var events []string
	for event := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		events = append(events, strings.TrimPrefix(event, "data: "))
	}
	var signature string
	for _, part := range strings.Split(body, `"thoughtSignature":"`)[1:] {
		signature, _, _ = strings.Cut(part, `"`)
	}
	_, id, _ := strings.Cut(events[0], `"responseId":"`)
	id, _, _ = strings.Cut(id, `"`)
	chunk := func(part string) string {
		return `{"candidates":[{"content":{"parts":[{` + part + `}],"role":"model"},"index":0}],"modelVersion":"m","responseId":"` + id + `"}`
	}
	want := []string{
		chunk(`"text":"Let me","thought":true`), chunk(`"text":" look.","thought":true`),
		chunk(`"text":"I look"`), chunk(`"text":"."`),
		chunk(`"functionCall":{"args":{"path":"."},"name":"ls"},"thoughtSignature":"` + signature + `"`),
		chunk(`"functionCall":{"args":{},"id":"x","name":"rm"}`),
		`{"candidates":[{"finishReason":"STOP","index":0}],"modelVersion":"m","responseId":"` + id + `","usageMetadata":{"cachedContentTokenCount":10,"candidatesTokenCount":8,"promptTokenCount":30,"thoughtsTokenCount":4,"totalTokenCount":42}}`,
	}
	if diff := cmp.Diff(want, events); diff != "" || signature == "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if _, _, again := call(t, url+geminiStream, geminiHello, nil); again != body {
		t.Error("the same request got other bytes")
	}

	// Without alt=sse a stream is a list of the same responses.
	_, _, body = call(t, url+strings.TrimSuffix(geminiStream, "?alt=sse"), geminiHello, nil)
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(body), &list); err != nil || len(list) != len(want) || string(list[0]) != want[0] {
		t.Errorf("%v: %s", err, body)
	}
}

func TestGeminiEndings(t *testing.T) {
	for script, want := range map[string]string{
		"{text: The, finishReason: length}":                       `"finishReason":"MAX_TOKENS"`,
		"{text: The, finishReason: content_filter}":               `"finishReason":"SAFETY"`,
		"{finishReason: content_filter}":                          `"promptFeedback":{"blockReason":"SAFETY"}`,
		"{refusal: I cannot.}":                                    `"finishMessage":"I cannot.","finishReason":"SAFETY"`,
		"{text: The, finishReason: recitation}":                   `"finishReason":"RECITATION"`,
		"{toolCalls: [{name: ls, arguments: '{\"path\": '}]}":     `"finishReason":"MALFORMED_FUNCTION_CALL"`,
		"{error: {status: 429, retryAfter: 1500ms, message: No}}": `"retryDelay":"1.5s"`,
		"{text: Hello., usage: {omit: true}}":                     `"text":"Hello."`,
	} {
		_, url := serve(t, scripted.Options{Scripts: []*scripted.Script{parse(t, "fallback: "+script)}})
		_, headers, plain := call(t, url+geminiPath, geminiHello, nil)
		_, _, stream := call(t, url+geminiStream, geminiHello, nil)
		if !strings.Contains(plain, want) || !strings.Contains(stream, want) || headers.Get("Retry-After") != "" {
			t.Errorf("%s: got %s and %s, want %s", script, plain, stream, want)
		}
		if strings.Contains(script, "omit") == strings.Contains(plain, "usageMetadata") && !strings.Contains(script, "error") {
			t.Errorf("%s: usage: %s", script, plain)
		}
	}
}
