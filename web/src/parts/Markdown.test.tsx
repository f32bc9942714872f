// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// @vitest-environment jsdom

import { cleanup, render } from '@testing-library/react';
import { afterEach, describe, expect, it } from 'vitest';
import { Markdown, safeHref } from './Markdown';

afterEach(cleanup);
const html = (text: string) => render(<Markdown text={text} />).container;

describe('markdown', () => {
  it('shows what people write', () => {
    const shown = html('# Plan\n\n**bold** and `code`\n\n1. one\n2. two\n\n- [x] done\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```go\nx := 1\n```\n\n> quote\n\nR&amp;D &lt;3');
    expect(shown.querySelector('h3')?.textContent).toBe('Plan');
    expect(shown.querySelector('strong')?.textContent).toBe('bold');
    expect(shown.querySelectorAll('ol > li')).toHaveLength(2);
    expect(shown.querySelector('li.todo input')).toHaveProperty('checked', true);
    expect(shown.querySelectorAll('td')).toHaveLength(2);
    expect(shown.querySelector('pre')?.textContent).toBe('x := 1');
    expect(shown.querySelector('blockquote')?.textContent).toContain('quote');
    expect(shown.textContent).toContain('R&D <3');
  });

  it('shows the boxes of tasks in lists with and without blank lines', () => {
    for (const text of ['- [x] done\n- [ ] open', '- [x] done\n\n- [ ] open\n\n  more']) {
      const shown = html(text);
      expect([...shown.querySelectorAll('li.todo input')].map((box) => (box as HTMLInputElement).checked)).toEqual([true, false]);
      expect(shown.textContent).not.toMatch(/\[[x ]\]/);
      cleanup();
    }
  });

  it('aligns the columns of a table', () => {
    const shown = html('| a | b |\n|---|--:|\n| 1 | 2 |');
    expect([...shown.querySelectorAll('td')].map((cell) => cell.style.textAlign)).toEqual(['', 'right']);
  });

  it.each([
    '<script>window.pwned=1</script>',
    '<img src=x onerror="window.pwned=1">',
    'text <b onclick="window.pwned=1">bold</b> text',
    '<iframe srcdoc="<script>parent.pwned=1</script>"></iframe>',
    '<svg onload="window.pwned=1"><animate/></svg>',
    '<style>body{display:none}</style>',
    '![x](https://example.com/a.png)',
    '<a href="javascript:window.pwned=1">x</a>',
  ])('makes no element of %s', (text) => {
    const shown = html(text);
    expect(shown.querySelector('script, img, b, iframe, svg, style, [onclick], [onerror], [onload]')).toBeNull();
    expect(shown.querySelector('a[href^="javascript"]')).toBeNull();
    expect(shown.textContent).not.toBe('');
  });

  it('follows links to web pages and mail only', () => {
    const shown = html('[a](https://example.com/) [b](javascript:alert(1)) [c](data:text/html,x) [d](/api/logout) [e](mailto:a@example.com) <https://example.org/>');
    expect([...shown.querySelectorAll('a')].map((link) => link.getAttribute('href'))).toEqual(['https://example.com/', 'mailto:a@example.com', 'https://example.org/']);
    expect(shown.querySelector('a')).toMatchObject({ rel: 'noopener noreferrer nofollow', target: '_blank' });
  });

  it.each(['javascript:alert(1)', 'JaVaScRiPt:alert(1)', ' javascript:alert(1)', 'java\nscript:alert(1)', 'vbscript:x', 'data:text/html,x', 'file:///etc/passwd', '//evil', '/path', ''])('does not follow %j', (href) => {
    expect(safeHref(href)).toBeUndefined();
  });
});
