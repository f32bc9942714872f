// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { faithful } from './format';

/** A line of a diff, without its line break. */
export interface Line {
  kind: 'same' | 'added' | 'removed' | 'note';
  text: string;
  /** Line numbers, counted from 1, where they are known. */
  before?: number;
  after?: number;
}

/** More cells than this are not compared: the old lines are then shown as removed and the new ones as added. */
const mostCells = 4_000_000;

const noBreak = 'No line break at the end.';

/** The lines of a text, and whether the last one has a line break. */
function split(text: string): { lines: string[]; ends: boolean } {
  if (text === '') return { lines: [], ends: true };
  const ends = text.endsWith('\n');
  return { lines: (ends ? text.slice(0, -1) : text).split('\n'), ends };
}

export const linesIn = (text: string) => split(text).lines.length;

/** Compares two texts by lines. Every line of both is in the result. */
export function compare(before: string, after: string): Line[] {
  const a = split(before);
  const b = split(after);
  const lines = compareLines(a.lines, b.lines);
  if (a.ends !== b.ends) {
    const last = lines.findLastIndex(({ kind }) => kind === 'same');
    if (last === lines.length - 1 && last >= 0) {
      // Only the line break of the last line differs.
      const { text } = lines[last]!;
      lines.splice(last, 1, { kind: 'removed', text }, { kind: 'added', text });
    }
  }
  if (!a.ends) insertAfterLast(lines, 'removed', a.ends === b.ends);
  if (!b.ends && a.ends !== b.ends) insertAfterLast(lines, 'added', false);
  return lines;
}

/** Adds the note that a side has no line break at its end. */
function insertAfterLast(lines: Line[], kind: 'removed' | 'added', both: boolean): void {
  const at = both ? lines.length - 1 : lines.findLastIndex((line) => line.kind === kind);
  lines.splice(at + 1, 0, { kind: 'note', text: noBreak });
}

function compareLines(a: string[], b: string[]): Line[] {
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const same = (text: string): Line => ({ kind: 'same', text });
  return [
    ...a.slice(0, head).map(same),
    ...compareMiddle(a.slice(head, a.length - tail), b.slice(head, b.length - tail)),
    ...a.slice(a.length - tail).map(same),
  ];
}

/** Finds a longest common subsequence. */
function compareMiddle(a: string[], b: string[]): Line[] {
  const removed = (text: string): Line => ({ kind: 'removed', text });
  const added = (text: string): Line => ({ kind: 'added', text });
  if (a.length === 0 || b.length === 0 || a.length * b.length > mostCells) return [...a.map(removed), ...b.map(added)];
  const width = b.length + 1;
  const length = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      length[i * width + j] = a[i] === b[j] ? length[(i + 1) * width + j + 1]! + 1 : Math.max(length[(i + 1) * width + j]!, length[i * width + j + 1]!);
    }
  }
  const lines: Line[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) {
      lines.push({ kind: 'same', text: a[i++]! });
      j++;
    } else if (length[(i + 1) * width + j]! >= length[i * width + j + 1]!) {
      lines.push(removed(a[i++]!));
    } else {
      lines.push(added(b[j++]!));
    }
  }
  return [...lines, ...a.slice(i).map(removed), ...b.slice(j).map(added)];
}

/** The part of a changed line that differs from its counterpart, as start and end. */
export function changedPart(text: string, other: string): [number, number] {
  let head = 0;
  while (head < text.length && head < other.length && text[head] === other[head]) head++;
  let tail = 0;
  while (tail < text.length - head && tail < other.length - head && text[text.length - 1 - tail] === other[other.length - 1 - tail]) tail++;
  return [head, text.length - tail];
}

/** The counterpart of each changed line: blocks of as many removed as added lines are changes of lines. */
export function counterparts(lines: Line[]): Map<Line, Line> {
  const found = new Map<Line, Line>();
  for (let i = 0; i < lines.length; ) {
    let removed = i;
    while (lines[removed]?.kind === 'removed') removed++;
    let added = removed;
    while (lines[added]?.kind === 'added') added++;
    const count = removed - i;
    if (count > 0 && added - removed === count) {
      for (let n = 0; n < count; n++) {
        found.set(lines[i + n]!, lines[removed + n]!);
        found.set(lines[removed + n]!, lines[i + n]!);
      }
    }
    i = Math.max(added, i + 1);
  }
  return found;
}

/** A change of a file that a tool call asks for. */
export interface FileChange {
  path: string;
  /** Each block is a diff of its own: the call does not say where in the file it is. */
  blocks: { title?: string; lines: Line[] }[];
  /** The content before is unknown, so that every line is shown as added. */
  whole: boolean;
  /** The whole new content, if the call has it. */
  content?: string;
  /** The arguments that the diff does not show. */
  rest: Record<string, unknown>;
}

/**
 * Returns the change that a call of the workspace tools write and patch asks for. It is undefined for other calls, and for
 * arguments that a diff would not show completely.
 */
export function changeIn(tool: string | undefined, args: string): FileChange | undefined {
  if ((tool !== 'write' && tool !== 'patch') || !faithful(args)) return undefined;
  const value: unknown = JSON.parse(args);
  if (!isObject(value) || typeof value.path !== 'string') return undefined;
  const { path, content, edits, ...rest } = value;
  if (tool === 'write') return typeof content === 'string' && edits === undefined ? { path, whole: true, content, rest, blocks: [{ lines: compare('', content) }] } : undefined;
  if (!Array.isArray(edits) || edits.length === 0 || content !== undefined) return undefined;
  const blocks = edits.map(blockOf);
  return blocks.every((block) => block !== undefined) ? { path, whole: false, rest, blocks } : undefined;
}

/** The file that a call of write names, and what has arrived of its content, if the arguments are not complete. Undefined for other calls. */
export function writtenSoFar(tool: string | undefined, args: string): { path: string; content: string } | undefined {
  if (tool !== 'write') return undefined;
  const path = /"path"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(args)?.[1];
  const content = /"content"\s*:\s*"((?:[^"\\]|\\.)*)/.exec(args)?.[1];
  return path === undefined && content === undefined ? undefined : { path: textIn(path), content: textIn(content) };
}

/** The text of a JSON string whose last escape may be cut off. */
function textIn(raw = ''): string {
  try {
    return JSON.parse(`"${raw.replace(/\\u[0-9a-f]{0,3}$/i, '').replace(/[\u0000-\u001f]/g, ' ')}"`) as string;
  } catch {
    return raw;
  }
}

function blockOf(edit: unknown, index: number, all: unknown[]): FileChange['blocks'][number] | undefined {
  if (!isObject(edit)) return undefined;
  const { old_string: before, new_string: after, replace_all: every, occurrence, ...other } = edit;
  if (typeof before !== 'string' || typeof after !== 'string' || Object.keys(other).length > 0) return undefined;
  if ((every !== undefined && typeof every !== 'boolean') || (occurrence !== undefined && typeof occurrence !== 'number')) return undefined;
  const where = every ? 'every occurrence' : occurrence ? `occurrence ${occurrence}` : '';
  const title = [all.length > 1 ? `Edit ${index + 1}` : '', where].filter(Boolean).join(', ');
  return { ...(title ? { title } : {}), lines: compare(before, after) };
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

/** A file of a unified diff. */
export interface FileDiff {
  path: string;
  from?: string;
  binary: boolean;
  hunks: { head: string; lines: Line[] }[];
}

/** Reads a unified diff as git writes it. */
export function parseUnified(text: string): FileDiff[] {
  const files: FileDiff[] = [];
  let file: FileDiff | undefined;
  let before = 0;
  let after = 0;
  let left = { before: 0, after: 0 };
  for (const line of text.split('\n')) {
    const inHunk = left.before > 0 || left.after > 0;
    if (!inHunk && line.startsWith('diff --git ')) {
      file = { path: pathIn(line), binary: false, hunks: [] };
      files.push(file);
      continue;
    }
    if (!file) continue;
    const hunk = !inHunk && /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line);
    if (hunk) {
      [before, after] = [Number(hunk[1]), Number(hunk[3])];
      left = { before: Number(hunk[2] ?? 1), after: Number(hunk[4] ?? 1) };
      file.hunks.push({ head: line, lines: [] });
    } else if (inHunk) {
      const { lines } = file.hunks.at(-1)!;
      const content = line.slice(1);
      if (line.startsWith('+')) {
        lines.push({ kind: 'added', text: content, after: after++ });
        left.after--;
      } else if (line.startsWith('-')) {
        lines.push({ kind: 'removed', text: content, before: before++ });
        left.before--;
      } else if (line.startsWith('\\')) {
        lines.push({ kind: 'note', text: noBreak });
      } else {
        lines.push({ kind: 'same', text: content, before: before++, after: after++ });
        left.before--;
        left.after--;
      }
    } else if (line.startsWith('\\ No newline')) {
      file.hunks.at(-1)?.lines.push({ kind: 'note', text: noBreak });
    } else headIn(file, line);
  }
  return files;
}

function headIn(file: FileDiff, line: string): void {
  if (line.startsWith('rename from ')) file.from = unquote(line.slice('rename from '.length));
  else if (line.startsWith('rename to ')) file.path = unquote(line.slice('rename to '.length));
  else if (line.startsWith('+++ ') && line !== '+++ /dev/null') file.path = unquote(line.slice(4)).replace(/^b\//, '');
  else if (line.startsWith('--- ') && line !== '--- /dev/null') file.path = unquote(line.slice(4)).replace(/^a\//, '');
  else if (line.startsWith('Binary files ') || line === 'GIT binary patch') file.binary = true;
}

/** The path in "diff --git a/PATH b/PATH", for files without other lines. */
function pathIn(line: string): string {
  const rest = line.slice('diff --git '.length);
  const quoted = / "b\/((?:[^"\\]|\\.)*)"$/.exec(rest);
  if (quoted) return unquote(`"${quoted[1]}"`);
  // Both paths are the same here, so that the second one begins in the middle.
  const middle = (rest.length - 1) / 2;
  return rest[middle] === ' ' ? rest.slice(middle + 3) : rest.replace(/^.* b\//, '');
}

const escapes: Record<string, string> = { n: '\n', t: '\t', r: '\r', '"': '"', '\\': '\\' };

/** Decodes a path that git has quoted: C escapes, and bytes in octal. */
function unquote(path: string): string {
  const name = path.replace(/\t$/, '');
  if (!/^".*"$/.test(name)) return name;
  const bytes: number[] = [];
  const encoder = new TextEncoder();
  for (const [, octal, escape, plain] of name.slice(1, -1).matchAll(/\\([0-7]{3})|\\(.)|([^\\]+)/g)) {
    if (octal) bytes.push(Number.parseInt(octal, 8));
    else bytes.push(...encoder.encode(escape ? (escapes[escape] ?? escape) : plain));
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}

/** The hunks that a tool reported about one file. */
export const reportedHunks = (diff: string): FileDiff['hunks'] => parseUnified(`diff --git a/f b/f\n${diff}`)[0]?.hunks ?? [];

/** A diff between two whole files. Unchanged lines far from a change are left out. */
export function hunksOf(lines: Line[], context = 3): FileDiff['hunks'] {
  let before = 1;
  let after = 1;
  const placed = lines.map((line): Line => {
    if (line.kind === 'same') return { ...line, before: before++, after: after++ };
    if (line.kind === 'added') return { ...line, after: after++ };
    return line.kind === 'removed' ? { ...line, before: before++ } : line;
  });
  const hunks: FileDiff['hunks'] = [];
  let end = -1;
  placed.forEach((line, i) => {
    if (line.kind === 'same') return;
    const start = Math.max(end, i - context, 0);
    if (hunks.length === 0 || start > end) hunks.push({ head: '', lines: [] });
    end = Math.max(end, Math.min(placed.length, i + 1 + context));
    hunks.at(-1)!.lines.push(...placed.slice(start, end));
  });
  return hunks;
}

/** The number of added and removed lines. */
export function countsOf(lines: Line[]): { added: number; removed: number } {
  return { added: lines.filter(({ kind }) => kind === 'added').length, removed: lines.filter(({ kind }) => kind === 'removed').length };
}
