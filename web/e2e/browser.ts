// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { existsSync } from 'node:fs';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** The system's Chromium; CHROMIUM names another one. It is started again if it crashes before it shows a page, which Debian's does at times. */
export async function launch(): Promise<Browser> {
  const executablePath = process.env.CHROMIUM ?? places.find((place) => existsSync(place));
  if (!executablePath) throw new Error('There is no Chromium: install the package chromium, or set CHROMIUM to its path.');
  const start = () => chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
  try {
    return await start();
  } catch (error) {
    console.warn(`Chromium did not start, and is started again: ${error}`);
    return start();
  }
}

/** Whatever a page complains about. */
export const complaints = new WeakMap<Page, string[]>();

export async function visit(browser: Browser, link: string, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1360, height: 860 }, locale: 'en-GB', timezoneId: 'UTC', ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(120_000);
  const said: string[] = [];
  complaints.set(page, said);
  page.on('console', (message) => message.type() === 'error' && said.push(message.text()));
  page.on('pageerror', (error) => said.push(String(error)));
  await page.goto(link);
  return page;
}
