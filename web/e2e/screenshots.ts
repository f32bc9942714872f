// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Makes the pictures of the documentation, and with SHOTS=all those of every state in both themes and at a phone's width:
//
//	make web-screenshots            # into docs/images
//	SHOTS=all make web-screenshots  # the others into web/shots, to look at

import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, it } from 'vitest';
import { launch, visit } from './browser';
import { Stack } from './stack';
import { answered, begin, inspect } from './talk';

const docs = resolve(import.meta.dirname, '../../docs/images');
const shots = resolve(import.meta.dirname, '../shots');
const all = process.env.SHOTS === 'all';

let stack: Stack;
let browser: Browser;

beforeAll(async () => {
  for (const folder of [docs, shots]) mkdirSync(folder, { recursive: true });
  [stack, browser] = await Promise.all([Stack.start(), launch()]);
});

afterAll(async () => {
  await browser?.close();
  await stack?.close();
});

const looks = [
  { name: 'light', colorScheme: 'light', width: 1360, height: 860 },
  { name: 'dark', colorScheme: 'dark', width: 1360, height: 860 },
  { name: 'phone', colorScheme: 'light', width: 390, height: 844 },
  { name: 'phone-dark', colorScheme: 'dark', width: 390, height: 844 },
] as const;

/** The pictures that stand in the documentation: a state, and how it looks there. */
const documented: Record<string, string> = { 'light-fan-out': 'web-chat', 'light-approval': 'web-approval', 'dark-inspector': 'web-inspector', 'light-timeline': 'web-timeline', 'phone-question': 'web-phone' };

for (const look of looks) {
  it(`the page, ${look.name}`, { timeout: 300_000 }, async () => {
    const { name, colorScheme, width, height } = look;
    const page = await visit(browser, await stack.open('alice', 'alice'), { colorScheme, viewport: { width, height }, deviceScaleFactor: all ? 1 : 2, reducedMotion: 'reduce' });
    const shoot = async (state: string) => {
      const wanted = documented[`${name}-${state}`];
      await page.mouse.move(width / 2, height - 2);
      await page.waitForTimeout(400); // for what fades and slides
      if (wanted) await page.screenshot({ path: `${docs}/${wanted}.png` });
      if (all) await page.screenshot({ path: `${shots}/${name}-${state}.png` });
    };
    const menu = async () => width < 860 && (await page.getByRole('button', { name: 'Show chats' }).click());
    await walk(page, shoot, menu);
    await page.context().close();
  });
}

async function walk(page: Page, shoot: (state: string) => Promise<void>, menu: () => Promise<unknown>): Promise<void> {
  await page.getByRole('heading', { name: 'What should your agents do?' }).waitFor();
  await shoot('home');
  await page.getByRole('button', { name: 'Options' }).click();
  await page.getByRole('dialog', { name: 'New chat' }).getByLabel('Workspace').selectOption('A git repository');
  await shoot('new-chat');
  await page.keyboard.press('Escape');
  await menu();
  await shoot('menu');
  await begin(page, 'Explain the plan');
  await page.getByRole('article', { name: 'The assistant is writing' }).waitFor();
  await shoot('streaming');
  await answered(page, 'Keep the old store');
  await shoot('answer');

  await menu();
  await begin(page, 'Review the authentication module for potential issues.');
  await answered(page, 'The review of the authentication module');
  await page.locator('.task-toggle').first().click();
  await shoot('fan-out');
  await page.getByRole('link', { name: 'Timeline' }).click();
  await shoot('timeline');
  await page.getByRole('group', { name: 'View' }).getByRole('link', { name: 'Usage' }).click();
  await shoot('chat-usage');

  await menu();
  await begin(page, 'Summarise what was released this year.');
  await page.getByRole('region', { name: 'Question of Researcher' }).waitFor({ timeout: 40_000 });
  await shoot('question');

  await menu();
  await begin(page, 'Build it in layers');
  await page.locator('.task .task').first().waitFor();
  await shoot('nested');
  await answered(page, 'Every layer is in place.');
  await inspect(page, 'Scribe');
  await page.getByRole('log', { name: 'Transcript' }).getByText('Finished').waitFor();
  await shoot('inspector-nested');
  await page.getByRole('button', { name: 'Close inspector' }).click();

  await menu();
  await begin(page, 'Write a note about the release.');
  await page.getByRole('region', { name: 'Approval of notes__add' }).waitFor({ timeout: 40_000 });
  await shoot('approval');
  await page.getByRole('button', { name: 'Approve' }).click();
  await answered(page, 'The note is in the notebook.');
  await inspect(page, 'Scribe');
  await page.locator('.inspector .tool-head', { hasText: 'notes__add' }).click();
  await shoot('inspector');
  await page.getByRole('button', { name: 'Close inspector' }).click();

  await menu();
  await begin(page, 'Survey every lighthouse in the world.');
  await page.getByRole('button', { name: 'Cancel' }).first().click({ timeout: 40_000 });
  await page.locator('.badge', { hasText: 'Cancelled' }).first().waitFor();
  await shoot('cancelled');
  await page.getByRole('button', { name: 'More' }).click();
  await shoot('chat-menu');
  await page.getByRole('menuitem', { name: 'Delete this chat' }).click();
  await shoot('delete');
  await page.getByRole('button', { name: 'Keep it' }).click();

  await runs(page, shoot, menu);

  for (const [place, state] of [['Roles', 'roles'], ['Models', 'models'], ['Tools', 'tools'], ['Usage', 'usage']] as const) {
    await menu();
    await page.getByRole('navigation', { name: 'Chats' }).getByRole('link', { name: place }).click();
    await page.locator('.panel, .card').first().waitFor();
    await shoot(state);
  }
}

/** The inbox with something of each kind, and the pages of runs. */
async function runs(page: Page, shoot: (state: string) => Promise<void>, menu: () => Promise<unknown>): Promise<void> {
  const tag = Date.now().toString(36);
  const task = (name: string, spec: object) => stack.create('alice', 'AgentTask', 'alice', `${name}-${tag}`, { user: 'alice', ...spec });
  await task('release-note', { type: 'Agent', role: 'scribe', instruction: 'Write a note about the release.' });
  await task('yearly-report', { type: 'Agent', role: 'researcher', instruction: 'Ask for the year.' });
  await task('foundation', { type: 'Agent', role: 'scribe', instruction: 'Build the first layer.' });
  await task('note-by-hand', { type: 'Tool', tool: 'notes__add', arguments: { title: 'By hand', text: 'One line' } });
  await menu();
  await page.getByRole('navigation', { name: 'Chats' }).getByRole('link', { name: /^Runs/ }).click();
  await page.getByRole('link', { name: `release-note-${tag}` }).waitFor({ timeout: 60_000 });
  await page.locator('.inbox-run .approval').first().waitFor({ timeout: 60_000 });
  await page.locator('.inbox-run .question textarea').first().waitFor({ timeout: 60_000 });
  await page.locator('.inbox-run.success', { hasText: `foundation-${tag}` }).waitFor({ timeout: 60_000 });
  await shoot('runs');
  await page.getByRole('link', { name: `release-note-${tag}` }).click();
  await page.locator('.run .approval').waitFor();
  await shoot('run-waiting');
  await page.goBack();
  await page.getByRole('link', { name: `note-by-hand-${tag}` }).click();
  await page.getByRole('region', { name: 'Result' }).waitFor();
  await shoot('run-tool');
  await page.goBack();
  await page.getByRole('link', { name: `foundation-${tag}` }).click();
  await page.getByRole('region', { name: 'Result' }).waitFor();
  await shoot('run');
  await page.getByRole('button', { name: 'Inspect', exact: true }).click();
  await page.getByRole('log', { name: 'Transcript' }).getByText('Finished').waitFor();
  await shoot('run-inspector');
  await page.getByRole('button', { name: 'Close inspector' }).click();
}

it('the pages of those who cannot come in', { timeout: 120_000 }, async () => {
  if (!all) return;
  const { url } = await stack.tokens();
  for (const { name, colorScheme, width, height } of looks) {
    const options = { colorScheme, viewport: { width, height } };
    const outside = await visit(browser, url, options);
    await outside.getByRole('heading', { name: 'Sign in to Nestor' }).waitFor();
    await outside.screenshot({ path: `${shots}/${name}-sign-in.png` });
    const nobody = await visit(browser, await stack.open('nobody', 'alice'), options);
    await nobody.getByRole('alert').waitFor();
    await nobody.screenshot({ path: `${shots}/${name}-no-permissions.png` });
    const link = new URL(await stack.open('alice', 'alice'));
    const used = await visit(browser, `${link.origin}/login?token=used`, options);
    await used.getByRole('heading', { name: 'This page needs a link' }).waitFor();
    await used.screenshot({ path: `${shots}/${name}-link.png` });
    const cut = await visit(browser, link.href, options);
    await cut.getByRole('heading', { name: 'What should your agents do?' }).waitFor();
    await cut.route('**/api/stream*', (route) => route.abort());
    await cut.reload();
    await cut.getByText('Retrying automatically.').waitFor();
    await cut.screenshot({ path: `${shots}/${name}-offline.png` });
    for (const page of [outside, nobody, used, cut]) await page.context().close();
  }
});
