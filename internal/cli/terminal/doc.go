// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package terminal prepares text for a person's terminal.
//
// What models, tools and other users wrote is never trusted to be text: Clean and Line make control characters visible
// instead of passing them on, and Markdown does so too before and after it renders. Colours are the sixteen of the
// terminal's own theme, and are left out where NO_COLOR is set or nobody looks.
package terminal
