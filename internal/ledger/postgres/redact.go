// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/nestor-dev/nestor/internal/ledger"
)

var secretParameters = []string{"password", "sslpassword"}

// parseDSN parses a connection string into a name without secrets, and the secrets.
//
// A password with an unescaped reserved character shifts the boundaries between the parts of a URL, so that a part of it becomes
// a host, a path or a parameter. Such a string is refused without repeating any of it.
func parseDSN(dsn string) (name string, secrets []string, err error) {
	scheme, rest, ok := strings.Cut(dsn, "://")
	if !ok {
		return "", nil, malformed("it has no ://")
	}
	if strings.Contains(rest, "#") {
		return "", nil, malformed("it has a #")
	}
	rest, query, _ := strings.Cut(rest, "?")
	authority, path, _ := strings.Cut(rest, "/")
	if strings.Contains(query, "@") || strings.Contains(path, "@") || strings.Count(authority, "@") > 1 {
		return "", nil, malformed("it has an @ where none is expected")
	}
	user, host, found := strings.Cut(authority, "@")
	if !found {
		user, host = "", authority
	}
	secrets, err = secretsOf(user, query)
	if err != nil {
		return "", nil, err
	}
	if _, err := url.PathUnescape(path); err != nil {
		return "", nil, malformed("the name of its database is not a valid part of a URL")
	}
	if !validHosts(host) {
		return "", nil, malformed("its port is not a number")
	}
	return scheme + "://" + host + "/" + path, secrets, nil
}

// validHosts reports whether the ports of a list of hosts are numbers: a password without its @ ends up there.
func validHosts(hosts string) bool {
	for host := range strings.SplitSeq(hosts, ",") {
		host = host[strings.LastIndex(host, "]")+1:]
		if _, port, ok := strings.Cut(host, ":"); ok && strings.Trim(port, "0123456789") != "" {
			return false
		}
	}
	return true
}

func secretsOf(user, query string) ([]string, error) {
	var secrets []string
	_, password, _ := strings.Cut(user, ":")
	plain, err := url.PathUnescape(password)
	if err != nil {
		return nil, malformed("its password is not a valid part of a URL")
	}
	secrets = append(secrets, password, plain)
	if query == "" {
		return secrets, nil
	}
	for pair := range strings.SplitSeq(query, "&") {
		key, value, found := strings.Cut(pair, "=")
		key, keyErr := url.QueryUnescape(key)
		plain, err := url.QueryUnescape(value)
		if err != nil || keyErr != nil || !found {
			return nil, malformed("one of its parameters is not a valid part of a URL")
		}
		if !slices.Contains(secretParameters, strings.ToLower(key)) {
			continue
		}
		secrets = append(secrets, value, plain)
	}
	return secrets, nil
}

func malformed(why string) error {
	return fmt.Errorf("open ledger: %w: the postgres connection string is malformed: %s; write reserved characters of the "+
		"user and the password as %%XX, for example %%40 for @", ledger.ErrInvalid, why)
}

// redact removes the secrets from text.
func (d *database) redact(message string) string {
	for _, secret := range d.secrets {
		if secret != "" {
			message = strings.ReplaceAll(message, secret, "xxxxx")
		}
	}
	return message
}
