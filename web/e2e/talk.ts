// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Locator, Page } from 'playwright-core';

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

/** Waits for an answer of the orchestrator. */
export const answered = (page: Page, text: string | RegExp, timeout = 120_000) => page.getByRole('article', { name: 'Assistant', exact: true }).filter({ hasText: text }).first().waitFor({ timeout });

export const task = (page: Page, name: string) => page.locator('section.task').filter({ hasText: name }).first();

export const inspect = (page: Page, name: string) => page.getByRole('button', { name: new RegExp(`^Inspect ${name}`) }).first().click();

export const badge = (of: Locator, label: string) => of.locator('.badge', { hasText: label }).first().waitFor({ timeout: 120_000 });
