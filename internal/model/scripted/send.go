// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// send sends the reply, and stops when the client disconnects.
func (p *response) send(w http.ResponseWriter, r *http.Request) {
	if !p.wait(r, p.script.Latency) {
		return
	}
	switch {
	case p.script.Error != nil:
		writeError(w, p.protocol, p.failure)
	case p.script.Raw != nil:
		p.sendRaw(w)
	case p.streamed():
		p.sendStream(w, r)
	case p.script.Fault != nil:
		p.sendFault(w, r)
	default:
		writeJSON(w, http.StatusOK, p.encoder.plain(p))
	}
}

// wait waits and reports whether the client is still connected.
func (p *response) wait(r *http.Request, d duration) bool {
	if d == 0 || p.noDelay {
		return true
	}
	timer := time.NewTimer(time.Duration(d))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

func (p *response) sendRaw(w http.ResponseWriter) {
	for name, value := range p.script.Raw.Headers {
		w.Header().Set(name, value)
	}
	w.WriteHeader(p.status())
	_, _ = w.Write([]byte(p.script.Raw.Body))
}

// sendFault sends a reply without a stream that has a fault.
func (p *response) sendFault(w http.ResponseWriter, r *http.Request) {
	switch p.script.Fault.Kind {
	case faultHang:
		<-r.Context().Done()
		return
	case faultError:
		writeError(w, p.protocol, p.failure)
		return
	}
	data, err := json.Marshal(p.encoder.plain(p))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	if p.script.Fault.Kind == faultMalformed {
		_, _ = w.Write(data[:len(data)/2])
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	_, _ = w.Write(data[:len(data)/2])
	panic(http.ErrAbortHandler)
}

// sendStream sends the frames of the reply. Its fault comes after a number of them, but always before the last.
func (p *response) sendStream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", p.encoder.contentType())
	w.Header().Set("Cache-Control", "no-cache")
	flusher := http.NewResponseController(w)
	// Flush each frame only if the script sets a delay or a fault: a single write for the whole reply makes thousands
	// of calls per second possible.
	paced := !p.noDelay && p.script.ChunkDelay > 0 || p.script.Fault != nil
	frames := p.encoder.stream(p)
	last := len(frames) - 1
	for i, next := range frames {
		if f := p.script.Fault; f != nil && i == min(f.After, last) {
			_ = flusher.Flush()
			p.breakStream(w, r)
			return
		}
		if i > 0 && i < last && !p.wait(r, p.script.ChunkDelay) {
			return
		}
		if _, err := w.Write(next); err != nil {
			return
		}
		if paced {
			_ = flusher.Flush()
		}
	}
}

func (p *response) breakStream(w http.ResponseWriter, r *http.Request) {
	switch p.script.Fault.Kind {
	case faultHang:
		<-r.Context().Done()
	case faultMalformed:
		broken := []byte(malformedFrame)
		if p.encoder.contentType() == awsEventStream {
			broken = malformedEvent()
		}
		_, _ = w.Write(broken)
	case faultError:
		_, _ = w.Write(p.encoder.failedFrame(p.failure))
	default:
		panic(http.ErrAbortHandler)
	}
}
