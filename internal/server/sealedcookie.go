// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

const (
	// chunkSize bounds the value of a cookie, because browsers drop cookies of more than 4096 bytes.
	chunkSize = 3800
	// maxChunks bounds the cookies of a value: proxies refuse a header of more than 8 KiB by default.
	maxChunks = 2
)

// sealedCookie is a value in one or more cookies that only the replicas can read and change.
type sealedCookie struct {
	name     string
	keys     sessionKeys
	secure   bool
	sameSite http.SameSite
}

// hostCookie returns a cookie name that browsers accept over TLS and for this host only.
func hostCookie(name string, secure bool) string {
	if secure {
		return "__Host-" + name
	}
	return name
}

func (c sealedCookie) chunk(i int) string {
	if i == 0 {
		return c.name
	}
	return fmt.Sprintf("%s-%d", c.name, i+1)
}

// read reports whether the browser sent a value that was sealed for this cookie. A value that cannot be opened counts as none.
func (c sealedCookie) read(r *http.Request, value any) (found bool, err error) {
	var sealed strings.Builder
	for i := range maxChunks {
		cookie, err := r.Cookie(c.chunk(i))
		if err != nil {
			break
		}
		sealed.WriteString(cookie.Value)
	}
	if sealed.Len() == 0 {
		return false, nil
	}
	err = c.keys.open(c.name, sealed.String(), value)
	if errors.Is(err, errUnsealed) {
		return false, nil
	}
	return err == nil, err
}

// write replaces the value for a time.
func (c sealedCookie) write(w http.ResponseWriter, value any, life time.Duration) error {
	sealed, err := c.keys.seal(c.name, value)
	if err != nil {
		return err
	}
	if len(sealed) > maxChunks*chunkSize {
		return fmt.Errorf("your tokens have %d bytes with encryption, more than the %d that fit into cookies: an administrator can let the issuer put fewer groups or claims into the ID token",
			len(sealed), maxChunks*chunkSize)
	}
	for i := range maxChunks {
		part := sealed[:min(len(sealed), chunkSize)]
		sealed = sealed[len(part):]
		c.set(w, i, part, int(life/time.Second))
	}
	return nil
}

func (c sealedCookie) clear(w http.ResponseWriter) {
	for i := range maxChunks {
		c.set(w, i, "", 0)
	}
}

// set writes a chunk; an empty one removes what an earlier value left.
func (c sealedCookie) set(w http.ResponseWriter, i int, part string, maxAge int) {
	if part == "" {
		maxAge = -1
	}
	http.SetCookie(w, &http.Cookie{Name: c.chunk(i), Value: part, Path: "/", MaxAge: maxAge, HttpOnly: true, Secure: c.secure, SameSite: c.sameSite})
}
