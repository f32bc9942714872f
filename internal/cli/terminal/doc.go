// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package terminal prepares text for a person's terminal.
//
// Text of models, tools and other users is not trusted: Clean and Line make control characters visible, and Markdown
// does so before and after it renders. Colours are the sixteen of the terminal's own theme, and are omitted if
// NO_COLOR is set or the output is not a terminal.
package terminal
