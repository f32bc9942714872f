// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';

/** Begins a chat with a message, and waits until it is shown. */
export async function begin(page: Page, text: string): Promise<void> {
  await page.getByRole('link', { name: 'New chat' }).first().click();
  await page.getByRole('heading', { name: 'What should your agents do?' }).waitFor();
  await say(page, text);
  await page.waitForURL(/\/chats\//);
  await page.getByRole('article').filter({ hasText: text }).waitFor();
}

export async function say(page: Page, text: string): Promise<void> {
  const input = page.locator('.composer textarea');
  await input.fill(text);
  await input.press('Enter');
}

/** Waits for an answer of the orchestrator. Without one, the error has what the page shows. */
export async function answered(page: Page, text: string | RegExp, timeout = 120_000): Promise<void> {
  try {
    await page.getByRole('article', { name: 'Assistant', exact: true }).filter({ hasText: text }).first().waitFor({ timeout });
  } catch (error) {
    throw new Error(`no answer with ${text}; the page shows:\n${await page.locator('body').innerText()}`, { cause: error });
  }
}

/** Decides a request, and again if the page moved it away under the pointer. */
export async function decide(request: Locator, decision: 'Approve' | 'Deny'): Promise<void> {
  const button = request.getByRole('button', { name: decision, exact: true });
  const open = async () => {
    if (await button.isVisible()) await button.click({ timeout: 5_000 }).catch(() => undefined); // it may be decided meanwhile
    return button.count();
  };
  await expect.poll(open, { timeout: 120_000, interval: 1_000 }).toBe(0);
}

export const task = (page: Page, name: string) => page.locator('section.task').filter({ hasText: name }).first();

export const inspect = (page: Page, name: string) => page.getByRole('button', { name: new RegExp(`^Inspect ${name}`) }).first().click();

export const badge = (of: Locator, label: string) => of.locator('.badge', { hasText: label }).first().waitFor({ timeout: 120_000 });
