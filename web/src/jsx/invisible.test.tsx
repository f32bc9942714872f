// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// @vitest-environment jsdom

import { cleanup, render } from '@testing-library/react';
import { afterEach, describe, expect, it } from 'vitest';
import { Arguments } from '../parts/Arguments';
import { Markdown } from '../parts/Markdown';
import { ToolCard } from '../parts/ToolCard';
import { jsx, jsxs } from './runtime';
import { showInvisible } from './invisible';

afterEach(cleanup);

const turned = 'a\u202eb';
const bidi = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

describe('text that reads as something else than it is', () => {
  it.each([
    ['\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069', '\\u061c\\u200e\\u200f\\u202a\\u202b\\u202c\\u202d\\u202e\\u2066\\u2067\\u2068\\u2069'],
    ['\u0000\u001b[31m\u007f\u0085\u2028', '\\u0000\\u001b[31m\\u007f\\u0085\\u2028'],
    ['tabs\tand\nlines\r\nstay', 'tabs\tand\nlines\r\nstay'],
    ['שלום, 👩‍👩‍👧 ก็ é', 'שלום, 👩‍👩‍👧 ก็ é'],
  ])('%j is written as %j', (text, want) => expect(showInvisible(text)).toBe(want));

  it('is made visible in every element and attribute', () => {
    const Said = ({ children }: { children: string }) => children;
    const { container } = render(
      <div title={turned}>
        {turned} and {[turned, ['deep', turned]]}
        <Said>{turned}</Said>
        <>{turned}</>
        <input placeholder={turned} aria-label={turned} defaultValue={turned} />
      </div>,
    );
    expect(container.textContent).toBe('a\\u202eb and a\\u202ebdeepa\\u202eba\\u202eba\\u202eb');
    expect(container.querySelector('div')?.title).toBe('a\\u202eb');
    expect(container.querySelector('input')).toMatchObject({ placeholder: 'a\\u202eb', value: turned });
  });

  it('is made visible in the page that is built, too', () => {
    expect(render(jsx('p', { children: turned })).container.textContent).toBe('a\\u202eb');
    cleanup();
    expect(render(jsxs('p', { children: [turned, 'c'] })).container.textContent).toBe('a\\u202ebc');
  });

  it.each([
    ['a paragraph', <Markdown text={turned} />],
    ['code', <Markdown text={'`' + turned + '`\n\n```' + turned + '\n' + turned + '\n```'} />],
    ['a link', <Markdown text={`[${turned}](https://example.com/${turned}) ![${turned}](https://example.com/)`} />],
    ['a table', <Markdown text={`| ${turned} |\n|---|\n| ${turned} |`} />],
    ['a list and a heading', <Markdown text={`# ${turned}\n\n- ${turned}\n1. ${turned}\n\n> ${turned}`} />],
    ['markup', <Markdown text={`<b title="${turned}">${turned}</b>`} />],
    ['arguments', <Arguments text={JSON.stringify({ [turned]: turned, list: [turned], long: turned + 'x'.repeat(100) })} />],
    ['the output of a tool', <ToolCard open call={{ id: '1', tool: turned, phase: 'Success', at: '', arguments: `{"x":"${turned}"}`, output: turned, children: [], decision: { decided: 'Denied', by: turned, comment: turned } }} onToggle={() => undefined} />],
  ])('is made visible in %s', (_, element) => {
    const { container } = render(element);
    expect(container.textContent).toContain('a\\u202eb');
    expect(container.innerHTML).not.toMatch(bidi);
  });
});
