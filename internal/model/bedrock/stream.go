// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package bedrock

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream/eventstreamapi"

	"github.com/nestor-dev/nestor/internal/model/wire"
)

// maxFrame bounds a message of a stream, which is held in memory.
const maxFrame = 2 << 20

// preludeSize is how many bytes precede the headers of a message: its length, that of the headers, and their checksum.
const preludeSize = 12

// readStream reads the messages of an event stream until it ends.
func (a *accumulator) readStream(r io.Reader) error {
	decoder := eventstream.NewDecoder()
	var frame bytes.Buffer
	for first := true; ; first = false {
		frame.Reset()
		_, err := io.CopyN(&frame, r, preludeSize)
		switch {
		case errors.Is(err, io.EOF) && frame.Len() == 0:
			return nil
		case err != nil && !first:
			return brokenOff(err)
		case err != nil || !isPrelude(frame.Bytes()):
			return wire.Malformed("the provider sent neither JSON nor an event stream")
		}
		length := int64(binary.BigEndian.Uint32(frame.Bytes()))
		if length > maxFrame {
			return wire.Oversized(fmt.Sprintf("the provider sent an event that is larger than %d MiB", maxFrame>>20))
		}
		if _, err := io.CopyN(&frame, r, length-preludeSize); err != nil {
			return brokenOff(err)
		}
		message, err := decoder.Decode(&frame, nil)
		if err != nil {
			return wire.Malformed("the provider sent a damaged event")
		}
		if err := a.addMessage(&message); err != nil {
			return err
		}
	}
}

// isPrelude reports whether bytes begin a message.
func isPrelude(data []byte) bool {
	return binary.BigEndian.Uint32(data) >= preludeSize && crc32.ChecksumIEEE(data[:8]) == binary.BigEndian.Uint32(data[8:])
}

func brokenOff(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// addMessage adds an event, or returns the error that it reports.
func (a *accumulator) addMessage(message *eventstream.Message) error {
	header := func(name string) string {
		if value, ok := message.Headers.Get(name).(eventstream.StringValue); ok {
			return string(value)
		}
		return ""
	}
	switch header(eventstreamapi.MessageTypeHeader) {
	case eventstreamapi.EventMessageType:
		return a.addEvent(header(eventstreamapi.EventTypeHeader), message.Payload)
	case eventstreamapi.ExceptionMessageType:
		return wire.Reported(0, http.Header{wire.ErrorTypeHeader: {header(eventstreamapi.ExceptionTypeHeader)}}, message.Payload)
	case eventstreamapi.ErrorMessageType:
		return wire.Reported(0, http.Header{wire.ErrorTypeHeader: {header(eventstreamapi.ErrorCodeHeader)}}, []byte(header(eventstreamapi.ErrorMessageHeader)))
	}
	return nil
}
