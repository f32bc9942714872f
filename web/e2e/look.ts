// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';
import { findings } from './axe';

const shots = resolve(import.meta.dirname, '../shots');

const looks = [
  ['light', 'light', 1360],
  ['dark', 'dark', 1360],
  ['phone', 'light', 390],
  ['phone-dark', 'dark', 390],
] as const;

/**
 * Checks a state in both themes, on a wide window and at the width of a phone: axe finds nothing serious, and the page is not wider than the
 * window. With LOOK=1 in the environment it also makes pictures, of the part that is shown, in web/shots.
 */
export async function look(page: Page, state: string, shown?: Locator): Promise<void> {
  const found: Record<string, string[]> = {};
  const scroll = await page.evaluate(() => document.querySelector('.page')?.scrollTop ?? 0);
  if (process.env.LOOK) mkdirSync(shots, { recursive: true });
  for (const [name, colorScheme, width] of looks) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.setViewportSize({ width, height: 844 });
    await page.evaluate(() => new Promise(requestAnimationFrame));
    await shown?.scrollIntoViewIfNeeded();
    if (process.env.LOOK) await page.screenshot({ path: `${shots}/${state}-${name}.png` });
    const all = await findings(page);
    if (all.length > 0) found[name] = all;
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    if (wide > 0) found[`${name} is wider than the window`] = [String(wide)];
  }
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
  await page.setViewportSize({ width: 1360, height: 860 });
  await page.evaluate((top) => document.querySelector('.page')?.scrollTo({ top }), scroll);
  expect(found, state).toEqual({});
}
