// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

const number = new Intl.NumberFormat('en');
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

/** A number of bytes, such as 300 KiB. */
export function bytes(count: number): string {
  if (count < 1024) return `${count} bytes`;
  if (count < 1024 * 1024) return `${Math.round(count / 1024)} KiB`;
  return `${(count / 1024 / 1024).toFixed(1)} MiB`;
}

/** 850 ms, 4.2 s, 1 min 05 s, 2 h 03 min. */
export function duration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 10) return `${Number.isInteger(seconds) ? seconds : seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  const left = Math.floor(seconds % 60);
  if (minutes < 60) return left === 0 ? `${minutes} min` : `${minutes} min ${pad(left)} s`;
  return minutes % 60 === 0 ? `${minutes / 60} h` : `${Math.floor(minutes / 60)} h ${pad(minutes % 60)} min`;
}

const pad = (value: number) => String(value).padStart(2, '0');

/** 812, 1.2K, 3.4M. */
export const tokens = (count: number | undefined) => (count === undefined ? '–' : count < 1000 ? number.format(count) : compact.format(count));

export const whole = (count: number | undefined) => number.format(count ?? 0);

/** Formats millionths of a currency, with as many digits as are significant: $0.42, or 0.42 EUR. Unknown is not free. */
export function money(micros: number | undefined, currency?: string): string {
  if (micros === undefined) return 'unknown';
  const value = micros / 1e6;
  const text = value === 0 ? '0' : value.toLocaleString('en', value >= 1 ? { minimumFractionDigits: 2, maximumFractionDigits: 2 } : { maximumSignificantDigits: 2 });
  return currency === 'USD' ? `$${text}` : currency ? `${text} ${currency}` : text;
}

/** Formats the sums of costs, one for each currency: $0.42 + 0.10 EUR. */
export function moneyByCurrency(costs: { costMicros?: number; currency?: string }[]): string {
  const sums = new Map<string | undefined, number>();
  for (const { costMicros, currency } of costs) sums.set(currency, (sums.get(currency) ?? 0) + (costMicros ?? 0));
  return [...sums].map(([currency, micros]) => money(micros, currency)).join(' + ');
}

/** now, 5 min, 3 h, 2 d. */
export function ago(time: string, now: number): string {
  const seconds = (now - Date.parse(time)) / 1000;
  if (seconds < 60) return 'now';
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} d`;
}

/** A date and time, as the person's browser writes them. */
export const moment = (time: string) => new Date(time).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });

export const clock = (time: string | number) => new Date(time).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
export const clockSeconds = (time: string | number) => new Date(time).toLocaleTimeString('en-GB');

/** Indents JSON, or returns the text unchanged if it is not JSON. */
export function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** Reports whether JSON.parse loses nothing of a text: no duplicate name, no digit of a number, no order. */
export function faithful(text: string): boolean {
  try {
    const bare = text.replace(/"(?:[^"\\]|\\.)*"|\s+/g, (part) => (part.startsWith('"') ? JSON.stringify(JSON.parse(part)) : ''));
    return JSON.stringify(JSON.parse(text)) === bare;
  } catch {
    return false;
  }
}

/**
 * Reports whether every number of a value is what the API server has. JSON.parse rounds integers above 2^53; the API server itself keeps 64 bits
 * of an integer, and other numbers as JavaScript does.
 */
export function exact(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
  return typeof value !== 'object' || value === null || Object.values(value).every(exact);
}

/** Makes every character of a text visible: characters that are invisible, change the order or only look like a space become escapes. */
export function visible(text: string): string {
  return text.replace(/[\p{C}\p{Z}]/gu, (char) =>
    char === ' ' || char === '\n' || char === '\t' ? char : Array.from({ length: char.length }, (_, i) => '\\u' + char.charCodeAt(i).toString(16).padStart(4, '0')).join(''),
  );
}

/** The first line of a text, at most so many characters of it, and whole words if possible. */
export function firstWords(text: string, most = 80): string {
  const line = (text.split('\n').find((candidate) => candidate.trim()) ?? '').trim().replace(/\s+/g, ' ');
  const characters = Array.from(line);
  if (characters.length <= most) return line;
  const end = characters.slice(0, most).lastIndexOf(' ');
  return `${characters.slice(0, end > most - 24 ? end : most - 1).join('')}…`;
}

/** Returns a valid name for a chat, derived from its message. */
export function slug(text: string, suffix: string): string {
  const words = text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9\s-]/g, '')
    .split(/[\s-]+/)
    .filter(Boolean)
    .slice(0, 5)
    .join('-')
    .slice(0, 40)
    .replace(/-+$/, '');
  return `${words || 'chat'}-${suffix}`;
}

export function randomSuffix(): string {
  const letters = 'bcdfghjklmnpqrstvwxz2456789';
  return Array.from(crypto.getRandomValues(new Uint8Array(5)), (byte) => letters[byte % letters.length]).join('');
}

export const plural = (count: number, one: string, many = one + 's') => `${whole(count)} ${count === 1 ? one : many}`;

/** 18 Nov 2026, 07:00. */
export const day = (time: string) => new Date(time).toLocaleString('en-GB', { day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit' });

/** The beginning of a revision, which identifies it for a person. */
export const brief = (revision: string) => revision.slice(0, 8);
