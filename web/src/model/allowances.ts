// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { ArgumentPattern } from '../api/types';
import { faithful } from './format';

/** The limits of the API. */
const mostPatterns = 4;
const longestPattern = 256;

/** An argument of a call that an allowance can be restricted to. */
export interface Restriction {
  name: string;
  /** A proposal: the value of the call, or its directory. */
  pattern: string;
}

/** Returns the pattern that matches exactly a text: a star and a backslash stand for themselves after a backslash. */
export const exactly = (text: string) => text.replace(/[\\*]/g, '\\$&');

/**
 * The arguments of a call that an allowance can be restricted to: texts of limited length. For a path in a directory the
 * proposal is everything in that directory.
 */
export function restrictionsOf(args: string): Restriction[] {
  if (!faithful(args)) return [];
  const value: unknown = JSON.parse(args);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  return Object.entries(value)
    .flatMap(([name, text]) => (typeof text === 'string' && /^[a-zA-Z0-9._-]{1,64}$/.test(name) && text !== '' ? [{ name, pattern: propose(text) }] : []))
    .filter(({ pattern }) => pattern.length <= longestPattern)
    .slice(0, mostPatterns);
}

function propose(text: string): string {
  const directory = /^[^\s;&|<>$`]+\//.exec(text)?.[0];
  return directory && !directory.split('/').includes('..') ? `${exactly(directory)}*` : exactly(text);
}

/** The calls of an allowance in words. */
export function describe(tool: string, patterns: ArgumentPattern[] | undefined): string {
  if (!patterns?.length) return `every call of ${tool}`;
  return `calls of ${tool} with ${patterns.map(({ name, pattern }) => `${name} ${pattern}`).join(' and ')}`;
}
