// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { visit } from './browser';
import { look } from './look';
import { answered, begin, task } from './talk';
import { alice, browser, open, stack } from './world';

open({ reducedMotion: 'reduce' });

const timeout = 120_000;
let admin: Page;

beforeAll(async () => {
  admin = await visit(browser, await stack.open('admin', 'alice'), { reducedMotion: 'reduce' });
});

describe('a chat', () => {
  it('says that a reply was cut off, and continues it', async () => {
    await begin(alice, 'Count to ten');
    await alice.getByText('reached the limit of output tokens and is cut off').waitFor({ timeout });
    await look(alice, 'settings-cut-off');
    await alice.getByRole('button', { name: 'Continue', exact: true }).click();
    await answered(alice, 'six, seven');
    expect(await alice.getByRole('button', { name: 'Continue', exact: true }).count()).toBe(0);
  });

  it('shows what was said before a delegation above its task', async () => {
    await begin(alice, 'Index the notes');
    await answered(alice, 'A scribe makes the index.');
    await task(alice, 'Scribe').waitFor({ timeout });
    const said = await alice.getByRole('article', { name: 'Assistant', exact: true }).first().boundingBox();
    const below = await task(alice, 'Scribe').boundingBox();
    expect(said!.y).toBeLessThan(below!.y);
  });

  it('has settings, which those who may change them change after a dry run', async () => {
    await alice.getByRole('group', { name: 'View' }).getByRole('link', { name: 'Settings' }).click();
    await alice.getByText('You may not change chats in this namespace.').waitFor();
    await admin.locator('.chat-item', { hasText: 'Index the notes' }).click();
    await admin.getByRole('group', { name: 'View' }).getByRole('link', { name: 'Settings' }).click();
    await admin.getByRole('region', { name: 'Conditions' }).getByText('Ready True').waitFor({ timeout });
    await admin.getByRole('spinbutton', { name: /^Levels of agents/ }).fill('3');
    await admin.getByRole('button', { name: 'Check with a dry run' }).click();
    await admin.getByText('This would change in alice').waitFor();
    await look(admin, 'settings-chat');
    await admin.getByRole('button', { name: 'Apply to alice' }).click();
    await admin.getByText(/is changed/).waitFor();
    await expect.poll(() => admin.getByRole('region', { name: 'YAML of the chat' }).innerText(), { timeout }).toContain('maxDepth: 3');
    await look(admin, 'settings-events', admin.getByRole('region', { name: 'Events' }));
  });
});

describe('a role', () => {
  beforeAll(async () => {
    await admin.getByRole('navigation', { name: 'Chats' }).getByRole('link', { name: 'Roles' }).click();
  });

  it('shows its effective prompt, also if it is built in', async () => {
    await admin.getByRole('button', { name: 'Prompt of Task Planner' }).click();
    await admin.getByText('## Response Requirements').waitFor();
    await look(admin, 'settings-prompt', admin.getByRole('article', { name: 'Task Planner' }));
  });

  it('shows how a program connects to it', async () => {
    await admin.getByRole('button', { name: 'Connect a program to Task Planner' }).click();
    const dialog = admin.getByRole('dialog', { name: 'Connect a program to Task Planner' });
    await dialog.getByText("baseURL: 'https://gateway.invalid/v1'").waitFor();
    await look(admin, 'settings-connect');
    await dialog.getByLabel('Program', { exact: true }).selectOption('A2A');
    await dialog.getByText('https://gateway.invalid/a2a/alice/planner/v1/message:send').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
  });

  it('is tried as a draft, beside what is built in, and nothing is applied', async () => {
    await admin.getByRole('link', { name: 'Edit Task Planner' }).click();
    await admin.getByLabel(/^System prompt/).fill('You write poems.');
    await admin.getByLabel('Task', { exact: true }).fill('Write a haiku.');
    await admin.getByLabel('Beside it, on the same task').selectOption('As it is built in');
    await admin.getByRole('button', { name: 'Try it' }).click();
    const runs = admin.locator('.try-runs > div');
    for (const i of [0, 1]) await runs.nth(i).getByText('An old pond').waitFor({ timeout });
    expect(await runs.locator('h3').allInnerTexts()).toEqual(['The draft', 'As it is built in']);
    await look(admin, 'settings-try', admin.getByRole('region', { name: 'Try it' }));
    await admin.getByRole('link', { name: 'Back to the list' }).click();
    await admin.getByRole('article', { name: 'Task Planner' }).getByText('built in').waitFor();
    expect(await admin.getByRole('article', { name: /^try-/ }).count()).toBe(0);
  });
});
