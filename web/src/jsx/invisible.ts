// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

/** Characters that affect text instead of being visible: control characters, and those that change the order of others. */
const invisible = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Replaces such characters by escapes such as \u202e: text must not look like something else. */
export const showInvisible = (text: string) => text.replace(invisible, (char) => '\\u' + char.charCodeAt(0).toString(16).padStart(4, '0'));

/** A person's own input is not changed. */
const typed = new Set(['value', 'defaultValue']);

type Props = Record<string, unknown>;

/** Returns the properties of an element with invisible characters escaped. For a component, only its children are text. */
export function showInvisibleProps(type: unknown, props: Props): Props {
  let safe = props;
  for (const [name, value] of Object.entries(props)) {
    if (name !== 'children' && (typeof type !== 'string' || typeof value !== 'string' || typed.has(name))) continue;
    const changed = showInvisibleIn(value);
    if (changed !== value) safe = { ...safe, [name]: changed };
  }
  return safe;
}

function showInvisibleIn(value: unknown): unknown {
  if (typeof value === 'string') return showInvisible(value);
  if (!Array.isArray(value)) return value;
  const safe = value.map(showInvisibleIn);
  return safe.some((part, i) => part !== value[i]) ? safe : value;
}
