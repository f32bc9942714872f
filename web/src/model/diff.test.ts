// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { describe, expect, it } from 'vitest';
import { changedPart, changeIn, compare, counterparts, hunksOf, parseUnified, type Line, writtenSoFar } from './diff';

const signs = { same: ' ', added: '+', removed: '-', note: '\\' };
const shown = (lines: Line[]) => lines.map(({ kind, text }) => signs[kind] + text);

describe('comparing', () => {
  it('finds what changed', () => {
    expect(shown(compare('a\nb\nc\n', 'a\nx\nc\n'))).toEqual([' a', '-b', '+x', ' c']);
    expect(shown(compare('', 'a\n'))).toEqual(['+a']);
    expect(shown(compare('a\n', ''))).toEqual(['-a']);
    expect(shown(compare('a\nb\nc\nd\n', 'b\nd\ne\n'))).toEqual(['-a', ' b', '-c', ' d', '+e']);
  });

  it('shows line breaks at the end', () => {
    expect(shown(compare('a', 'a\n'))).toEqual(['-a', '\\No line break at the end.', '+a']);
    expect(shown(compare('a\n', 'a'))).toEqual(['-a', '+a', '\\No line break at the end.']);
    expect(shown(compare('a', 'b'))).toEqual(['-a', '+b', '\\No line break at the end.']);
    expect(shown(compare('', 'a'))).toEqual(['+a', '\\No line break at the end.']);
  });

  it('loses no line of either text', () => {
    let seed = 7;
    const random = (n: number) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
    for (let round = 0; round < 300; round++) {
      const text = () => Array.from({ length: random(8) }, () => 'abc'[random(3)]).join('\n') + (random(2) ? '\n' : '');
      const [a, b] = [text(), text()];
      const lines = compare(a, b);
      const side = (...kinds: Line['kind'][]) => lines.filter(({ kind }) => kinds.includes(kind)).map((line) => line.text).join('\n');
      expect(side('same', 'removed')).toBe(a.replace(/\n$/, ''));
      expect(side('same', 'added')).toBe(b.replace(/\n$/, ''));
    }
  });

  it('does not compare what is too large', () => {
    const many = (prefix: string) => Array.from({ length: 5000 }, (_, i) => prefix + i).join('\n') + '\n';
    expect(compare(many('a'), many('b'))).toHaveLength(10_000);
  });

  it('leaves out unchanged lines far from a change, and numbers the others', () => {
    const text = (change: Record<number, string>) => Array.from({ length: 30 }, (_, i) => change[i + 1] ?? `line ${i + 1}`).join('\n') + '\n';
    const hunks = hunksOf(compare(text({}), text({ 2: 'two', 20: 'twenty\nand more', 25: 'end' })));
    expect(hunks.map(({ lines }) => lines.map(({ kind, before, after }) => `${signs[kind]}${before ?? ''},${after ?? ''}`))).toEqual([
      [' 1,1', '-2,', '+,2', ' 3,3', ' 4,4', ' 5,5'],
      [' 17,17', ' 18,18', ' 19,19', '-20,', '+,20', '+,21', ' 21,22', ' 22,23', ' 23,24', ' 24,25', '-25,', '+,26', ' 26,27', ' 27,28', ' 28,29'],
    ]);
    expect(hunksOf(compare('a\n', 'a\n'))).toEqual([]);
    expect(shown(hunksOf(compare('a', 'a\n'))[0]!.lines)).toEqual(['-a', '\\No line break at the end.', '+a']);
  });

  it('finds the part of a line that changed', () => {
    expect(changedPart('return a + b', 'return a - b')).toEqual([9, 10]);
    expect(changedPart('aa', 'aaa')).toEqual([2, 2]);
    const lines = compare('one\ntwo\nsame\nx\n', 'One\nTwo\nsame\n');
    expect([...counterparts(lines)].map(([line, other]) => [line.text, other.text])).toEqual([['one', 'One'], ['One', 'one'], ['two', 'Two'], ['Two', 'two']]);
  });
});

describe('calls that change files', () => {
  it('are shown as diffs', () => {
    const patch = changeIn('patch', JSON.stringify({ path: 'a.go', edits: [{ old_string: 'x\n', new_string: 'y\n', replace_all: true }, { old_string: 'p', new_string: '', occurrence: 2 }] }))!;
    expect(patch).toMatchObject({ path: 'a.go', whole: false, rest: {} });
    expect(patch.blocks.map(({ title }) => title)).toEqual(['Edit 1, every occurrence', 'Edit 2, occurrence 2']);
    expect(shown(patch.blocks[0]!.lines)).toEqual(['-x', '+y']);
    expect(changeIn('write', '{"path":"a","content":"x\\n","worktree":"w"}')).toMatchObject({ whole: true, rest: { worktree: 'w' } });
  });

  it.each([
    ['bash', '{"path":"a","content":"x"}'],
    ['notes__write', '{"path":"a","content":"x"}'],
    ['write', '{"path":"a","content":1}'],
    ['write', '{"path":"a"}'],
    ['write', '{"content":"x"}'],
    ['write', '{"path":"a","path":"b","content":"x"}'],
    ['write', 'not json'],
    ['patch', '{"path":"a","edits":[]}'],
    ['patch', '{"path":"a","edits":[{"old_string":"x"}]}'],
    ['patch', '{"path":"a","edits":[{"old_string":"x","new_string":"y","also":1}]}'],
    ['patch', '{"path":"a","edits":[{"old_string":"x","new_string":"y","replace_all":"no"}]}'],
    ['patch', '{"path":"a","content":"z","edits":[{"old_string":"x","new_string":"y"}]}'],
  ])('%s of %s is not', (tool, args) => expect(changeIn(tool, args)).toBeUndefined());
});

describe('a unified diff', () => {
  it('is read as git writes it', () => {
    const text = [
      'diff --git a/a b.txt b/a b.txt', 'index 1..2 100644', '--- a/a b.txt', '+++ b/a b.txt', '@@ -1,3 +1,3 @@ func x()', ' one', '-two', '+Two', '\\ No newline at end of file', ' three',
      'diff --git a/old.go b/new.go', 'similarity index 90%', 'rename from old.go', 'rename to new.go', '@@ -5 +5 @@', '---x', '+++y',
      'diff --git a/pic.png b/pic.png', 'new file mode 100644', 'Binary files /dev/null and b/pic.png differ',
      'diff --git "a/\\303\\244.txt" "b/\\303\\244.txt"', 'new file mode 100644', '--- /dev/null', '+++ "b/\\303\\244.txt"', '@@ -0,0 +1 @@', '+diff --git a/x b/x',
      'diff --git a/empty file b/empty file', 'new file mode 100644', '',
    ].join('\n');
    const files = parseUnified(text);
    expect(files.map(({ path }) => path)).toEqual(['a b.txt', 'new.go', 'pic.png', 'ä.txt', 'empty file']);
    expect(files[0]!.hunks[0]!.lines).toEqual([
      { kind: 'same', text: 'one', before: 1, after: 1 }, { kind: 'removed', text: 'two', before: 2 }, { kind: 'added', text: 'Two', after: 2 },
      { kind: 'note', text: 'No line break at the end.' }, { kind: 'same', text: 'three', before: 3, after: 3 },
    ]);
    expect(files[1]).toMatchObject({ from: 'old.go', hunks: [{ lines: [{ text: '--x' }, { text: '++y' }] }] });
    expect(files[2]!.binary).toBe(true);
    // A line of a file that looks like a header is a line.
    expect(files[3]!.hunks[0]!.lines).toEqual([{ kind: 'added', text: 'diff --git a/x b/x', after: 1 }]);
  });

  it('that was cut off is read up to there', () => {
    expect(parseUnified('diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n a\n-b')[0]!.hunks[0]!.lines).toHaveLength(2);
    expect(parseUnified('')).toEqual([]);
  });
});

describe('a call of write that is not complete', () => {
  it.each([
    ['{"path":"a b.md","content":"one\\ntwo\\n\\u00e9', { path: 'a b.md', content: 'one\ntwo\né' }],
    ['{"path":"a.md","content":"one\\u00', { path: 'a.md', content: 'one' }],
    ['{"content":"one"', { path: '', content: 'one' }],
    ['{"pa', undefined],
  ])('has what arrived: %s', (args, expected) => {
    expect(writtenSoFar('write', args)).toEqual(expected);
  });

  it('is only one of write', () => {
    expect(writtenSoFar('bash', '{"path":"a","content":"b"}')).toBeUndefined();
  });
});
