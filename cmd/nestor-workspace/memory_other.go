// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package main

// hideMemory does nothing on this system.
func hideMemory() error { return nil }
