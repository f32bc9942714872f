// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { tokens } from '../model/format';
import { Markdown } from './Markdown';

/** The reasoning of a model before its reply, which is folded away. With live, its last words are shown. */
export function Reasoning({ text, used, live }: { text: string; used?: number; live?: boolean }) {
  return (
    <details className="folded reasoning">
      <summary>
        Reasoning {used ? <span className="muted">{tokens(used)} tokens</span> : null}
        {live && <span className="reasoning-end">{text.slice(-160)}</span>}
      </summary>
      <Markdown text={text} />
    </details>
  );
}
