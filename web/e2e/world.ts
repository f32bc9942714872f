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
  afterEach(() => {
    const said = complaints.get(alice)!.splice(0).filter((text) => !expected.test(text));
    expect(said).toEqual([]);
  });
}
