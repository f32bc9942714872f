// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { visit } from './browser';
import { look } from './look';
import { answered, begin } from './talk';
import { alice, browser, open, stack } from './world';

open();

const inbox = async (page: Page) => {
  await page.getByRole('navigation', { name: 'Chats' }).getByRole('link', { name: /^Runs/ }).click();
  await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor();
};
/** The run of a chat, by the address of the chat. */
const ofChat = (page: Page, address: string) => page.locator('.inbox-run').filter({ has: page.locator(`a[href="${address}"]`) });

const run = (page: Page, name: string) => page.locator('.inbox-run').filter({ has: page.getByRole('link', { name, exact: true }) });
const timeout = 120_000;

describe('the inbox', () => {
  it('approves a call of a standalone task, with the arguments that are shown', async () => {
    await stack.create('alice', 'AgentTask', 'alice', 'note-task', { type: 'Agent', role: 'scribe', instruction: 'Write a note about the release.', user: 'alice' });
    await inbox(alice);
    const item = run(alice, 'note-task');
    const request = item.getByRole('region', { name: 'Approval of notes__add' });
    await request.waitFor({ timeout });
    expect(await request.locator('.arguments, .diff').first().innerText()).toContain('- <b>approvals</b> show the exact arguments');
    await alice.waitForFunction(() => document.title.startsWith('(1) '));
    await request.getByLabel('Comment for the agent').fill('Go ahead');
    await request.getByRole('button', { name: 'Approve', exact: true }).click();
    await item.getByText('The note is written.').waitFor({ timeout });
    await item.locator('.badge', { hasText: 'Done' }).waitFor({ timeout });
    await alice.waitForFunction(() => !document.title.startsWith('('));
  });

  it('answers a question of a standalone task', async () => {
    await stack.create('alice', 'AgentTask', 'alice', 'question-task', { type: 'Agent', role: 'researcher', instruction: 'Ask for the year.', user: 'alice' });
    const item = run(alice, 'question-task');
    await item.getByText('Which year do you mean?').waitFor({ timeout });
    await item.getByLabel('Answer').fill('It is 2024');
    await item.getByRole('button', { name: 'Answer' }).click();
    await item.getByText('The year is known.').waitFor({ timeout });
  });

  it('decides and answers for chats, and shows those that wait first', async () => {
    await begin(alice, 'Write a note about the release.');
    const chat = new URL(alice.url()).pathname;
    await inbox(alice);
    const item = ofChat(alice, chat);
    await item.getByRole('region', { name: 'Approval of notes__add' }).getByRole('button', { name: 'Deny' }).click({ timeout });
    await item.locator('.badge', { hasText: 'Idle' }).waitFor({ timeout });
    await item.getByRole('link', { name: 'Write a note about the release.' }).click();
    await answered(alice, 'was not allowed to write the note');

    await begin(alice, 'Summarise what was released this year.');
    const asking = new URL(alice.url()).pathname;
    await inbox(alice);
    const question = alice.getByRole('region', { name: 'Waiting for you' }).locator('.inbox-run').first();
    await question.locator(`a[href="${asking}"]`).waitFor({ timeout });
    await question.getByLabel('Answer').fill('It is 2024', { timeout });
    await question.getByRole('button', { name: 'Answer' }).click();
    await ofChat(alice, asking).locator('.badge', { hasText: 'Idle' }).waitFor({ timeout });
    await ofChat(alice, asking).getByRole('link', { name: 'Summarise what was released this year.' }).click();
    await answered(alice, 'Three releases came out');
  });

  it('filters and finds, and keeps that in its address', async () => {
    await inbox(alice);
    await run(alice, 'question-task').waitFor();
    await alice.getByLabel('Kind').selectOption('Tasks');
    await alice.getByLabel('Find a run').fill('note is written');
    await run(alice, 'question-task').waitFor({ state: 'detached' });
    expect(await alice.locator('.inbox-run').count()).toBe(1);
    await alice.reload();
    await run(alice, 'note-task').waitFor();
    expect(await alice.getByLabel('Find a run').inputValue()).toBe('note is written');
    await alice.getByRole('group', { name: 'State' }).getByRole('button', { name: /^Failed/ }).click();
    await alice.getByRole('heading', { name: 'No matching runs' }).waitFor();
  });

  it('has the runs of all namespaces for those who may see them, and of no others', async () => {
    await stack.create('bob', 'AgentTask', 'bob', 'bobs-task', { type: 'Agent', role: 'scribe', instruction: 'Write a note about the release.', user: 'bob' });
    const admin = await visit(browser, await stack.open('admin', 'alice'));
    await inbox(admin);
    const item = run(admin, 'bobs-task');
    await item.getByText('in bob', { exact: true }).first().waitFor({ timeout });
    await run(admin, 'note-task').waitFor();
    await admin.getByLabel('In namespace').selectOption('bob');
    await run(admin, 'note-task').waitFor({ state: 'detached' });
    await item.getByRole('region', { name: 'Approval of notes__add' }).getByRole('button', { name: 'Approve', exact: true }).click({ timeout });
    await item.locator('.badge', { hasText: 'Done' }).waitFor({ timeout });
    await inbox(alice);
    await run(alice, 'note-task').waitFor();
    expect(await run(alice, 'bobs-task').count()).toBe(0);
    await admin.context().close();
  });

  it('notifies in the browser, after the person has asked for it', async () => {
    const other = await visit(browser, await stack.open('alice', 'alice'));
    await other.context().grantPermissions(['notifications']);
    await other.evaluate(() => {
      const shown: string[] = [];
      Object.assign(window, { shown });
      document.hasFocus = () => false;
      window.Notification = class {
        static permission = 'granted';
        static requestPermission = () => Promise.resolve('granted');
        constructor(title: string, options: { body: string }) {
          shown.push(`${title}: ${options.body}`);
        }
      } as unknown as typeof Notification;
    });
    await inbox(other);
    await run(other, 'note-task').waitFor();
    await other.getByRole('button', { name: 'Notify me' }).click();
    await other.getByRole('button', { name: 'Notifications on' }).waitFor();
    await stack.create('alice', 'AgentTask', 'alice', 'notified-task', { type: 'Agent', role: 'researcher', instruction: 'Ask for the year, and tell me.', user: 'alice' });
    await other.waitForFunction(() => (window as unknown as { shown: string[] }).shown.length > 0, undefined, { timeout });
    expect(await other.evaluate(() => (window as unknown as { shown: string[] }).shown)).toEqual(['notified-task asks: Which **year** do you mean?']);
    await other.context().close();
  });
});

describe('a run', () => {
  it('has a page with its result, what it delegated, its timeline and the inspector', async () => {
    await stack.create('alice', 'AgentTask', 'alice', 'layers', { type: 'Agent', role: 'scribe', instruction: 'Build the first layer.', user: 'alice' });
    await inbox(alice);
    await run(alice, 'layers').getByRole('link', { name: 'layers' }).click();
    await alice.waitForURL(/\/alice\/runs\/layers$/);
    await alice.getByRole('region', { name: 'Result' }).getByText('Every layer is in place.').waitFor({ timeout });
    const below = alice.getByRole('region', { name: 'Delegated work' });
    await below.locator('section.task').first().waitFor();
    await alice.getByRole('link', { name: 'Timeline' }).click();
    await alice.getByRole('img', { name: /Timeline of [23] runs/ }).waitFor();
    await alice.getByRole('link', { name: 'Overview' }).click();
    await below.getByRole('button', { name: /^Inspect Scribe/ }).first().click();
    await alice.getByRole('log', { name: 'Transcript' }).getByText('Build the second layer.').first().waitFor();
    await alice.getByRole('button', { name: 'Close inspector' }).click();
  });

  it('of a tool shows the call and its result, and has the inspector', async () => {
    await stack.create('alice', 'AgentTask', 'alice', 'tool-call', { type: 'Tool', tool: 'notes__add', arguments: { title: 'By hand', text: 'One line' }, user: 'alice' });
    await alice.goto(new URL('/alice/runs/tool-call', alice.url()).href);
    await alice.getByRole('region', { name: 'Arguments' }).getByText('By hand').first().waitFor();
    await alice.getByRole('region', { name: 'Result' }).waitFor({ timeout });
    await alice.locator('.chat-head .badge', { hasText: 'Done' }).waitFor({ timeout });
    await alice.getByRole('button', { name: 'Inspect', exact: true }).click();
    await alice.getByRole('complementary', { name: 'Inspector of tool-call' }).getByText('Finished', { exact: true }).waitFor({ timeout });
  });

  it('runs again with the same spec and another name, when it is confirmed', async () => {
    await alice.goto(new URL('/alice/runs/tool-call', alice.url()).href);
    await alice.getByRole('button', { name: 'Run again' }).click({ timeout });
    const dialog = alice.getByRole('dialog', { name: 'Run again?' });
    await dialog.getByText('This calls notes__add with the same arguments').waitFor();
    await dialog.getByRole('button', { name: 'Not now' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(new URL(alice.url()).pathname).toBe('/alice/runs/tool-call');
    await alice.getByRole('button', { name: 'Run again' }).click();
    await dialog.getByRole('button', { name: 'Run again' }).click();
    await alice.waitForURL(/\/alice\/runs\/tool-call-again-/);
    await alice.getByRole('region', { name: 'Arguments' }).getByText('By hand').first().waitFor({ timeout });
    await alice.locator('.chat-head .badge', { hasText: 'Done' }).waitFor({ timeout });
    // A copy of an agent's task runs, too.
    await alice.goto(new URL('/alice/runs/layers', alice.url()).href);
    await alice.getByRole('button', { name: 'Run again' }).click({ timeout });
    await dialog.getByRole('button', { name: 'Run again' }).click();
    await alice.waitForURL(/\/alice\/runs\/layers-again-/);
    await alice.getByRole('region', { name: 'Result' }).getByText('Every layer is in place.').waitFor({ timeout });
  });

  it('with a number that the browser rounds is run again with kubectl', async () => {
    await stack.create('alice', 'AgentTask', 'alice', 'large', { type: 'Tool', tool: 'notes__add', arguments: { title: 'Large', text: 'A number', number: 2 ** 60 }, user: 'alice' });
    await alice.goto(new URL('/alice/runs/large', alice.url()).href);
    await alice.getByRole('region', { name: 'Arguments' }).getByText('Your browser has rounded a number').waitFor({ timeout });
    await alice.getByRole('button', { name: 'Run again' }).click({ timeout });
    const dialog = alice.getByRole('dialog', { name: 'Run it again with kubectl' });
    await dialog.getByText('kubectl get agenttasks.nestor.dev large -n alice -o yaml').waitFor();
    await look(alice, 'runs-again-kubectl');
    await dialog.getByRole('button', { name: 'Close', exact: true }).last().click();
    await dialog.waitFor({ state: 'detached' });
  });

  it('can be cancelled', async () => {
    await stack.create('alice', 'AgentTask', 'alice', 'slow', { type: 'Agent', role: 'scribe', instruction: 'Count slowly to twelve.', user: 'alice' });
    await alice.goto(new URL('/alice/runs/slow', alice.url()).href);
    await alice.getByRole('button', { name: 'Cancel this run' }).click({ timeout });
    await alice.locator('.chat-head .badge', { hasText: 'Cancelled' }).waitFor({ timeout });
  });

  it('that does not exist says so', async () => {
    await alice.goto(new URL('/alice/runs/none', alice.url()).href);
    await alice.getByRole('heading', { name: 'Run not found' }).waitFor();
  });

  it('of a trigger is linked from the trigger', async () => {
    await alice.getByRole('navigation', { name: 'Chats' }).getByRole('link', { name: 'Triggers' }).click();
    await alice.getByRole('button', { name: 'Fire nightly' }).click();
    const runs = alice.getByRole('list', { name: 'Runs of nightly' });
    await runs.locator('summary').first().click({ timeout });
    await runs.getByRole('link').first().click();
    await alice.waitForURL(/\/alice\/runs\/nightly-/);
    await alice.getByRole('link', { name: 'trigger nightly' }).waitFor();
    await alice.getByRole('region', { name: 'Result' }).waitFor({ timeout });
  });
});

describe('a new chat', () => {
  const options = async () => {
    await alice.getByRole('link', { name: 'New chat' }).first().click();
    await alice.getByRole('button', { name: 'Options' }).click();
    return alice.getByRole('dialog', { name: 'New chat' });
  };

  it('has the role, model, files, limits and title that were chosen, and shows them as YAML', async () => {
    const dialog = await options();
    await dialog.getByLabel('Title').fill('The plan: a talk');
    await dialog.getByLabel('Name').fill('Not A Name');
    await dialog.getByText('Lower-case letters').waitFor();
    expect(await dialog.getByRole('button', { name: 'Done' }).isEnabled()).toBe(false);
    await dialog.getByLabel('Name').fill('the-plan');
    await dialog.getByLabel('Role').selectOption('orchestrator');
    await dialog.getByLabel('Model provider').selectOption('default');
    await dialog.getByLabel('Model', { exact: true }).fill('scripted');
    await dialog.getByLabel('Workspace').selectOption('A git repository');
    await dialog.getByLabel('URL').fill('https://git.example.com/team/app.git');
    await dialog.getByLabel('Branch, tag or commit').fill('main');
    await dialog.getByLabel('Tokens').fill('100000');
    await dialog.getByText('YAML', { exact: true }).click();
    const yaml = await dialog.getByLabel('YAML of the chat').innerText();
    expect(yaml).toContain('name: the-plan');
    expect(yaml).toContain('    nestor.dev/title: "The plan: a talk"');
    expect(yaml).toContain('      url: https://git.example.com/team/app.git\n      ref: main');
    expect(yaml).toContain('  limits:\n    maxTotalTokens: 100000');
    await dialog.getByLabel('Workspace').selectOption('No files');
    await dialog.getByRole('button', { name: 'Done' }).click();
    await alice.getByText('at most 100K tokens').waitFor();
    await alice.locator('.composer textarea').fill('Explain the plan');
    await alice.locator('.composer textarea').press('Enter');
    await alice.waitForURL(/\/alice\/chats\/the-plan$/);
    await answered(alice, 'Keep the old store');
    await alice.getByRole('heading', { name: 'The plan: a talk' }).waitFor();
    await alice.waitForFunction(() => document.title.includes('The plan: a talk – Nestor'));
  });

  it('is renamed, in lists too', async () => {
    await alice.getByRole('button', { name: 'More' }).click();
    await alice.getByRole('menuitem', { name: 'Rename' }).click();
    const dialog = alice.getByRole('dialog', { name: 'Rename this chat' });
    await dialog.getByLabel('Title').fill('Another title');
    await dialog.getByRole('button', { name: 'Rename' }).click();
    await alice.getByRole('heading', { name: 'Another title' }).waitFor();
    await alice.locator('.chat-list').getByText('Another title').waitFor();
    await inbox(alice);
    await run(alice, 'Another title').getByText('the-plan').waitFor();
    await run(alice, 'Another title').getByRole('link').click();
  });

  it('is exported as Markdown and as JSON', async () => {
    const exported = async (name: string) => {
      await alice.getByRole('button', { name: 'More' }).click();
      const [download] = await Promise.all([alice.waitForEvent('download'), alice.getByRole('menuitem', { name }).click()]);
      const parts: Buffer[] = [];
      for await (const part of await download.createReadStream()) parts.push(part as Buffer);
      return { name: download.suggestedFilename(), text: Buffer.concat(parts).toString('utf8') };
    };
    await answered(alice, 'Keep the old store');
    const markdown = await exported('Export as Markdown');
    expect(markdown.name).toBe('the-plan.md');
    expect(markdown.text).toMatch(/^# Another title\n/);
    expect(markdown.text).toContain('> Keep the old store until a week has passed.');
    const json = await exported('Export as JSON');
    expect(json.name).toBe('the-plan.json');
    const read = JSON.parse(json.text) as { chat: { metadata: { name: string } }; messages: unknown[]; transcript: { kind: string }[] };
    expect(read.chat.metadata.name).toBe('the-plan');
    expect(read.messages).toHaveLength(2);
    expect(read.transcript.map(({ kind }) => kind)).toContain('Assistant');
  });

  it('can have the settings of another one', async () => {
    await alice.getByRole('button', { name: 'More' }).click();
    await alice.keyboard.press('ArrowDown');
    await alice.keyboard.press('Enter');
    await alice.getByText('The new chat has the settings of Another title').waitFor();
    await alice.getByText('at most 100K tokens').waitFor();
    await alice.locator('.composer textarea').fill('What is 17 * 23?');
    await alice.locator('.composer textarea').press('Enter');
    await alice.getByRole('heading', { name: 'Copy of Another title' }).waitFor();
    await answered(alice, '391');
  });
});
