// The same work with any client of the OpenAI door: a question, an approval, a failure, an abort and a retry.
import assert from 'node:assert/strict';

const { NESTOR_NAMESPACE, NESTOR_STEPS } = process.env;
const role = (name) => `${NESTOR_NAMESPACE}/${name}`;
// step waits for something on the other side: hold makes writes wait, entered waits until one has begun, and release
// lets them continue.
const step = async (name) => assert.ok((await fetch(`${NESTOR_STEPS}/${name}`)).ok);

// exercise runs all steps. reply sends a conversation, which ends with a message of the user, and returns the next
// message of the assistant in the client's own form; text returns its text, and user makes a message of the user.
export async function exercise({ reply, text, user }) {
  const release = async (version) => {
    const conversation = [user('Release the notes')];
    conversation.push(await reply(role('releaser'), conversation));
    assert.equal(text(conversation.at(-1)), 'Which version?');
    conversation.push(user(version));
    conversation.push(await reply(role('releaser'), conversation));
    assert.match(text(conversation.at(-1)), /box__write/);
    assert.match(text(conversation.at(-1)), new RegExp(`notes-${version}`));
    conversation.push(user('approve'));
    return conversation;
  };

  // A question and an approval.
  let conversation = await release('1.2');
  assert.equal(text(await reply(role('releaser'), conversation)), 'Released the notes: wrote notes-1.2.');

  // A failure.
  await assert.rejects(async () => reply(role('releaser'), [user('Give up')]), said(/It cannot be done/));

  // An abort while the tool runs, and the same request again.
  conversation = await release('1.3');
  await step('hold');
  const controller = new AbortController();
  const aborted = assert.rejects(async () => reply(role('releaser'), conversation, controller.signal));
  await step('entered');
  controller.abort();
  await aborted;
  const again = reply(role('releaser'), conversation);
  await step('release');
  assert.match(text(await again), /Released the notes: wrote notes-1\.3\./);

  // What the client repeats by itself, and then on request.
  for (let i = 0; i < 2; i++) {
    await assert.rejects(async () => reply(role('waits'), [user('Say hello')]), said(/cannot start yet/));
  }
  console.log('ok');
}

// said returns a check that an error, or one of its causes, contains a text.
export const said = (pattern) => (error) => {
  const texts = [];
  for (let e = error; e; e = e.cause ?? e.lastError) texts.push(String(e.message), String(e.responseBody ?? ''));
  assert.match(texts.join('\n'), pattern);
  return true;
};
