// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { Lexer, type Token, type Tokens } from 'marked';
import { Fragment, memo, type ReactNode } from 'react';
import { Code } from './Code';

export { Code };

/**
 * Renders markdown of models and tools. The text becomes elements, never HTML: markup is shown as text,
 * images become links (loading one would reveal to its server what is read here), and links lead only to web pages and mail.
 */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  return <div className="markdown">{blocks(new Lexer({ gfm: true, breaks: false }).lex(text))}</div>;
});

const safeSchemes = new Set(['http:', 'https:', 'mailto:']);

/** Returns the address of a link, or nothing if following it could do more than open a page. */
export function safeHref(href: string): string | undefined {
  try {
    const url = new URL(href);
    return safeSchemes.has(url.protocol) ? url.href : undefined;
  } catch {
    return undefined; // a relative path, or not a URL
  }
}

const blocks = (tokens: Token[]): ReactNode => tokens.map((token, i) => <Fragment key={i}>{block(token)}</Fragment>);
const inlines = (tokens: Token[] | undefined): ReactNode => tokens?.map((token, i) => <Fragment key={i}>{inline(token)}</Fragment>);

function block(token: Token): ReactNode {
  switch (token.type) {
    case 'space':
    case 'def':
      return null;
    case 'heading': {
      // The page has its own headings; those of a message are below them.
      const Heading = `h${Math.min(6, (token as Tokens.Heading).depth + 2)}` as 'h3';
      return <Heading>{inlines(token.tokens)}</Heading>;
    }
    case 'paragraph':
      return <p>{inlines(token.tokens)}</p>;
    case 'code':
      return <Code text={(token as Tokens.Code).text} language={(token as Tokens.Code).lang} />;
    case 'blockquote':
      return <blockquote>{blocks(token.tokens ?? [])}</blockquote>;
    case 'hr':
      return <hr />;
    case 'list':
      return list(token as Tokens.List);
    case 'table':
      return table(token as Tokens.Table);
    case 'checkbox':
      return checkbox(token as Tokens.Checkbox);
    case 'text':
      return token.tokens ? inlines(token.tokens) : entities((token as Tokens.Text).text);
    default:
      return <p className="raw">{token.raw}</p>;
  }
}

function list(token: Tokens.List): ReactNode {
  const items = token.items.map((item, i) => (
    <li key={i} className={item.task ? 'todo' : undefined}>
      {blocks(item.tokens)}
    </li>
  ));
  return token.ordered ? <ol start={Number(token.start) || 1}>{items}</ol> : <ul>{items}</ul>;
}

/** The box of a task: in a list with blank lines it is a part of the paragraph. */
const checkbox = ({ checked }: Tokens.Checkbox): ReactNode => <input type="checkbox" checked={checked} readOnly disabled aria-label={checked ? 'done' : 'not done'} />;

const alignment = (align: 'center' | 'left' | 'right' | null | undefined) => (align ? { textAlign: align } : undefined);

function table(token: Tokens.Table): ReactNode {
  return (
    <div className="table" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>
            {token.header.map((cell, i) => (
              <th key={i} scope="col" style={alignment(token.align[i])}>{inlines(cell.tokens)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {token.rows.map((row, i) => (
            <tr key={i}>
              {row.map((cell, j) => (
                <td key={j} style={alignment(token.align[j])}>{inlines(cell.tokens)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inline(token: Token): ReactNode {
  switch (token.type) {
    case 'text':
      return token.tokens ? inlines(token.tokens) : entities((token as Tokens.Text).text);
    case 'checkbox':
      return checkbox(token as Tokens.Checkbox);
    case 'escape':
      return (token as Tokens.Escape).text;
    case 'strong':
      return <strong>{inlines(token.tokens)}</strong>;
    case 'em':
      return <em>{inlines(token.tokens)}</em>;
    case 'del':
      return <del>{inlines(token.tokens)}</del>;
    case 'codespan':
      return <code>{(token as Tokens.Codespan).text}</code>;
    case 'br':
      return <br />;
    case 'link':
      return link((token as Tokens.Link).href, inlines(token.tokens), token.raw);
    case 'image':
      return link((token as Tokens.Image).href, `Picture: ${(token as Tokens.Image).text || (token as Tokens.Image).href}`, token.raw);
    default:
      return token.raw;
  }
}

function link(href: string, words: ReactNode, raw: string): ReactNode {
  const safe = safeHref(href);
  if (!safe) return raw;
  return (
    <a href={safe} target="_blank" rel="noopener noreferrer nofollow">
      {words}
    </a>
  );
}

const named: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" };

/** Decodes the named character references of markdown. */
const entities = (text: string) => text.replace(/&(amp|lt|gt|quot|#39);/g, (entity) => named[entity] ?? entity);
