// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { Fragment, memo, useEffect, useState, type ReactNode } from 'react';
import type { highlight, Piece } from '../highlight/languages';
import { CopyButton } from './CopyButton';

/** A longer text is shown without colours: to colour it would block the page. */
const longest = 50_000;

let loaded: typeof highlight | undefined;

/** Returns the function that colours code once it is loaded, which the first code block starts. */
function useHighlighter(wanted: boolean): typeof highlight | undefined {
  const [ready, setReady] = useState(() => loaded);
  useEffect(() => {
    if (!wanted || ready) return;
    let current = true;
    import('../highlight/languages').then(
      (module) => {
        loaded = module.highlight;
        if (current) setReady(() => loaded);
      },
      () => undefined, // code without colours is complete
    );
    return () => {
      current = false;
    };
  }, [wanted, ready]);
  return ready;
}

/** The first word of what follows the fence: the rest is for other programs. */
const languageOf = (info: string | undefined) => info?.trim().split(/[\s,{:]/)[0]?.toLowerCase() || undefined;

/** Text in a fixed-width font that can be copied, coloured if its language is known. */
export const Code = memo(function Code({ text, language, label = 'Code' }: { text: string; language?: string; label?: string }) {
  const name = languageOf(language);
  const coloured = name !== undefined && text.length <= longest;
  const colour = useHighlighter(coloured);
  const pieces = coloured && colour ? colour(text, name) : undefined;
  return (
    <div className={`code-frame${name ? ' named' : ''}`}>
      {name && <span className="code-language">{name}</span>}
      <pre className="code" tabIndex={0} role="region" aria-label={name && label === 'Code' ? `Code in ${name}` : label} data-language={name}>
        <code>{pieces ? shown(pieces) : text}</code>
      </pre>
      <CopyButton text={text} what={label.toLowerCase()} />
    </div>
  );
});

const shown = (pieces: Piece[]): ReactNode =>
  pieces.map((piece, i) =>
    typeof piece === 'string' ? (
      <Fragment key={i}>{piece}</Fragment>
    ) : (
      <span key={i} className={piece.className}>
        {shown(piece.pieces)}
      </span>
    ),
  );
