// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

/** What acts on text instead of being seen: control characters, and those that change the order in which others are shown. */
const unseen = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** A text in which such characters are written as escapes, as \u202e: text must not read as something else than it is. */
export const seen = (text: string) => text.replace(unseen, (char) => '\\u' + char.charCodeAt(0).toString(16).padStart(4, '0'));

/** What a person types stays as it was typed. */
const typed = new Set(['value', 'defaultValue']);

type Props = Record<string, unknown>;

/** The properties of an element in which no text has characters that cannot be seen. Of a component only what stands between its tags is text to be shown. */
export function seenProps(type: unknown, props: Props): Props {
  let safe = props;
  for (const [name, value] of Object.entries(props)) {
    if (name !== 'children' && (typeof type !== 'string' || typeof value !== 'string' || typed.has(name))) continue;
    const changed = seenText(value);
    if (changed !== value) safe = { ...safe, [name]: changed };
  }
  return safe;
}

function seenText(value: unknown): unknown {
  if (typeof value === 'string') return seen(value);
  if (!Array.isArray(value)) return value;
  const safe = value.map(seenText);
  return safe.some((part, i) => part !== value[i]) ? safe : value;
}
