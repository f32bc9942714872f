// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"encoding/json"
	"net/http"

	"github.com/nestor-dev/nestor/internal/model"
)

// protocol is one of the APIs that the server speaks.
type protocol interface {
	api() model.API
	// key returns the API key of a request, or "".
	key(r *http.Request) string
	// wrongKey returns the error for a key that is wrong or, if it is empty, missing.
	wrongKey(key string) *apiError
	// decode reads a request. In strict mode it rejects what the API rejects.
	decode(r *http.Request, body []byte, strict bool) (encoder, error)
	// failed converts an error to the status and the body with which the API reports it.
	failed(e *apiError) (int, any)
	// list returns the response body for a list of models.
	list(models []string) any
}

type encoder interface {
	conversation() *conversation
	// plain returns the body of a reply without a stream.
	plain(p *response) any
	// stream returns the frames of a streamed reply. The last one completes it: a stream that is cut ends before it.
	stream(p *response) [][]byte
	failedFrame(e *apiError) []byte
	contentType() string
}

// eventStream is the content type of server-sent events.
const eventStream = "text/event-stream"

// malformedFrame is an event whose data is not JSON.
const malformedFrame = "data: {\"id\": \"broken\", \"choices\": [{\"delta\":\n\n"

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // the replies contain nothing that JSON cannot encode
	}
	return data
}

// frame returns a server-sent event. Its name is omitted if it is empty.
func frame(name string, data any) []byte {
	encoded := encode(data)
	line := make([]byte, 0, len(name)+len(encoded)+16)
	if name != "" {
		line = append(append(append(line, "event: "...), name...), '\n')
	}
	line = append(append(line, "data: "...), encoded...)
	return append(line, "\n\n"...)
}
