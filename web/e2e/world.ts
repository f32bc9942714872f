// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { complaints, launch, visit } from './browser';
import { Stack } from './stack';

/** What open sets for the tests of a file: the stack, a browser, and the page of Alice in her namespace. */
export let stack: Stack;
export let browser: Browser;
export let alice: Page;

/** For pages that may complain, because the tests stop something. */
export const anything = /^/;

/**
 * Starts the stack and opens the page of Alice before the tests of a file, and ends both after them. The page must not complain. Alice may not
 * list namespaces, which the page asks; expected is what else the tests make it say.
 */
export function open(options: BrowserContextOptions = {}, expected = /status of 403/): void {
  beforeAll(async () => {
    [stack, browser] = await Promise.all([Stack.start(), launch()]);
    alice = await visit(browser, await stack.open('alice', 'alice'), options);
  });
  afterAll(async () => {
    await browser?.close();
    await stack?.close();
  });
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') await tell();
    const said = complaints.get(alice)!.splice(0).filter((text) => !expected.test(text));
    expect(said).toEqual([]);
  });
}

/** Prints what the pages show, so that the output of CI tells why a test failed. */
async function tell(): Promise<void> {
  for (const page of browser.contexts().flatMap((context) => context.pages())) {
    const text = await page.locator('body').innerText({ timeout: 10_000 }).catch(String);
    console.log(`${page.url()}\n${text.slice(0, 4000)}`);
  }
}
