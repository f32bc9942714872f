// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useSyncExternalStore } from 'react';

/** What was typed and not sent, by place. It is kept until the page is closed, and nowhere else. */
const texts = new Map<string, string>();
const listeners = new Set<() => void>();

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** The place of the input of a chat, or of the start page of a namespace. */
export const placeOf = (namespace: string, chat = '') => `${namespace}/${chat}`;

/** Sets what an input has, whether it is shown or not. */
export function keepDraft(place: string, text: string): void {
  if (text) texts.set(place, text);
  else texts.delete(place);
  for (const listener of listeners) listener();
}

/** The text of an input, which survives a visit of another page. */
export function useDraft(place: string): [string, (text: string) => void] {
  return [useSyncExternalStore(subscribe, () => texts.get(place) ?? ''), (text) => keepDraft(place, text)];
}
