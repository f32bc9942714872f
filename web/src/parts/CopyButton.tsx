// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useEffect, useState } from 'react';
import { showInvisible } from '../jsx/invisible';
import { Icon } from './Icon';

/** How long a button reports what became of the copy. */
const reporting = 2000;

/** Copies a text as it is shown: invisible characters are escapes, because what is pasted into a terminal must not surprise. */
export function CopyButton({ text, what, words }: { text: string; what: string; words?: string }) {
  const [state, setState] = useState<'ready' | 'copied' | 'refused'>('ready');
  useEffect(() => {
    if (state === 'ready') return;
    const timer = setTimeout(() => setState('ready'), reporting);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(showInvisible(text));
      setState('copied');
    } catch {
      setState('refused'); // the page is not served over TLS, or the browser asked and the person declined
    }
  };
  const label = state === 'copied' ? 'Copied' : state === 'refused' ? 'The browser does not allow it' : `Copy ${what}`;
  return (
    <button type="button" className={`button ghost small copy ${state}${words ? '' : ' icon-only'}`} aria-label={label} title={label} onClick={() => void copy()}>
      <Icon name={state === 'copied' ? 'check' : state === 'refused' ? 'ban' : 'copy'} size={14} />
      {words && <span>{state === 'copied' ? 'Copied' : words}</span>}
    </button>
  );
}
