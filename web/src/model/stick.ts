// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

/** A box that scrolls, as the browser measures it. */
type Box = { scrollHeight: number; scrollTop: number; clientHeight: number };

/**
 * Whether the end of a box stays in sight after it was scrolled, or has grown. A person who scrolls up leaves it. Content that grows before the
 * browser reports a scroll to the end does not.
 */
export function sticks(box: Box, before: { stuck: boolean; top: number }): boolean {
  const near = box.scrollHeight - box.scrollTop - box.clientHeight < 80;
  return near || (before.stuck && box.scrollTop >= before.top);
}
