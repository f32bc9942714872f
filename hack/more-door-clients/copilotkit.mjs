// CopilotKit without its page: its core runs an agent over AG-UI. A question, an approval, a failure, an abort and a
// retry.
import assert from 'node:assert/strict';
import { HttpAgent } from '@ag-ui/client';
import { CopilotKitCore } from '@copilotkit/core';

const { NESTOR_URL, NESTOR_TOKEN, NESTOR_NAMESPACE, NESTOR_STEPS } = process.env;
const step = async (name) => assert.ok((await fetch(`${NESTOR_STEPS}/${name}`)).ok);
const core = new CopilotKitCore({});

// conversation returns a thread with an agent. Its run ends with the last message, or with an error.
const conversation = (role) => {
  const headers = { Authorization: `Bearer ${NESTOR_TOKEN}` };
  const agent = new HttpAgent({ url: `${NESTOR_URL}/ag-ui/${NESTOR_NAMESPACE}/${role}`, headers });
  core.addAgent__unsafe_dev_only({ id: agent.threadId, agent });
  let failure = '';
  agent.subscribe({
    onRunErrorEvent: ({ event }) => { failure = event.message; },
    onRunFailed: ({ error }) => { failure ||= error.message; },
  });
  let count = 0;
  const run = async (params) => {
    failure = '';
    await core.runAgent({ agent, ...params }).catch((error) => { failure ||= error.message; });
    return failure ? `error: ${failure}` : agent.messages.at(-1).content;
  };
  const say = (content, params) => {
    agent.addMessage({ id: `${agent.threadId}-${count++}`, role: 'user', content });
    return run(params);
  };
  return { agent, say, run };
};

// Replies reach the run as resume entries if the client knows interrupts, and as messages otherwise.
const reply = (thread, content, payload) => {
  const [interrupt] = thread.agent.pendingInterrupts ?? [];
  if (!interrupt) return thread.say(content);
  return thread.run({ resume: [{ interruptId: interrupt.id, status: 'resolved', payload }] });
};
const release = async (version) => {
  const thread = conversation('releaser');
  assert.equal(await thread.say('Release the notes'), 'Which version?');
  assert.match(await reply(thread, version, { answer: version }), new RegExp(`notes-${version}`));
  return thread;
};

let thread = await release('1.2');
assert.match(await reply(thread, 'approve', { approved: true }), /Released the notes: wrote notes-1\.2\./);

assert.match(await conversation('releaser').say('Give up'), /error: It cannot be done/);

thread = await release('1.3');
await step('hold');
const aborted = reply(thread, 'approve', { approved: true });
await step('entered');
thread.agent.abortRun();
await aborted;
await step('release');

thread = conversation('waits');
assert.match(await thread.say('Say hello', { runId: 'once' }), /cannot start yet/);
assert.match(await thread.run({ runId: 'once' }), /cannot start yet/);
console.log('ok');
process.exit();
