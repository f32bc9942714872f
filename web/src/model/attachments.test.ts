// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { describe, expect, it } from 'vitest';
import { attach, largest, mediaTypeOf, nameOf, sizeOf } from './attachments';

const file = (name: string, type: string, content: BlobPart = 'x') => new File([content], name, { type });

describe('attachments', () => {
  it('have the media types of the API', () => {
    expect(mediaTypeOf(file('a.png', 'image/png'))).toBe('image/png');
    expect(mediaTypeOf(file('notes.md', ''))).toBe('text/markdown');
    expect(mediaTypeOf(file('values.yaml', 'application/x-yaml'))).toBe('application/yaml');
    expect(mediaTypeOf(file('main.go', ''))).toBe('text/plain');
    expect(mediaTypeOf(file('page.html', 'text/html; charset=utf-8'))).toBe('text/html');
    expect(mediaTypeOf(file('film.mp4', 'video/mp4'))).toBeUndefined();
    expect(mediaTypeOf(file('drawing.svg', 'image/svg+xml'))).toBeUndefined();
  });

  it('have names that are unique and accepted', () => {
    const one = { name: 'a.png', mediaType: 'image/png', data: '' };
    expect(nameOf('a.png', [])).toBe('a.png');
    expect(nameOf('a.png', [one, { ...one, name: 'a-2.png' }])).toBe('a-3.png');
    expect(nameOf('a/b`c\n', [])).toBe('a_b_c_');
    expect(nameOf('', [])).toBe('attachment');
  });

  it('keep the content of files', async () => {
    const content = new Uint8Array(100_000).map((_, i) => i % 256);
    const { attachments, problems } = await attach([], [file('a.png', 'image/png', content)]);
    expect(problems).toEqual([]);
    expect(sizeOf(attachments[0]!)).toBe(content.length);
    expect(Uint8Array.from(atob(attachments[0]!.data!), (c) => c.charCodeAt(0))).toEqual(content);
  });

  it('are refused with what to do', async () => {
    const half = new Uint8Array(largest / 2 + 1);
    const { attachments, problems } = await attach([], [file('a.png', 'image/png', half), file('b.png', 'image/png', half), file('c.mp4', 'video/mp4'), file('d.txt', 'text/plain', '')]);
    expect(attachments.map((one) => one.name)).toEqual(['a.png']);
    expect(problems).toEqual([
      'b.png has 256 KiB: the attachments of a message have at most 512 KiB together.',
      'c.mp4 cannot be attached: attach PNG, JPEG, GIF or WebP images, or text.',
      'd.txt is empty.',
    ]);
    const many = await attach([], Array.from({ length: 9 }, (_, i) => file(`${i}.txt`, 'text/plain')));
    expect(many.attachments).toHaveLength(8);
    expect(many.problems).toEqual(['8.txt cannot be attached: a message has at most 8 attachments.']);
  });
});
