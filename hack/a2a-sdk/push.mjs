// A client on the A2A SDK for JavaScript that is notified, for tests. It starts a release with a push notification configuration, waits for
// the notification of the question, verifies its signature with the gateway's keys, and cancels the task.
// Usage: node push.mjs GATEWAY AGENT, with the token in NESTOR_TOKEN.
import { createHash, randomUUID } from "node:crypto";
import { createServer } from "node:http";

import { Role, Task, TaskState } from "@a2a-js/sdk";
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory } from "@a2a-js/sdk/client";
import { createRemoteJWKSet, jwtVerify } from "jose";

const [gateway, agent] = process.argv.slice(2);
const secret = randomUUID();
const keys = createRemoteJWKSet(new URL("/.well-known/jwks.json", gateway));

// waiting are the states that the program waits for, with what to do when they are notified.
const waiting = new Map();
const notified = (state) => new Promise((resolve) => waiting.set(state, resolve));
const receiver = createServer(async (request, response) => {
  let body = "";
  for await (const piece of request) body += piece;
  try {
    if (request.headers["x-a2a-notification-token"] !== secret) throw new Error("another token");
    const { payload } = await jwtVerify(request.headers.authorization.replace("Bearer ", ""), keys, { audience: request.headers.host, algorithms: ["ES256"] });
    if (payload.request_body_sha256 !== createHash("sha256").update(body).digest("hex")) throw new Error("another body");
    const { task } = JSON.parse(body);
    if (payload.task_id !== task.id) throw new Error("another task");
    response.writeHead(204).end();
    waiting.get(task.status.state)?.(Task.fromJSON(task));
  } catch (error) {
    console.error(error);
    response.writeHead(403).end();
  }
});
await new Promise((resolve) => receiver.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${receiver.address().port}/notifications`;

const fetchImpl = (input, init = {}) => {
  const headers = new Headers(init.headers);
  headers.set("Authorization", `Bearer ${process.env.NESTOR_TOKEN}`);
  return fetch(input, { ...init, headers });
};
const factory = new ClientFactory({ transports: [new JsonRpcTransportFactory({ fetchImpl })], cardResolver: new DefaultAgentCardResolver({ fetchImpl }) });
const client = await factory.createFromUrl(agent);
if (!(await client.getAgentCard()).capabilities.pushNotifications) throw new Error("the card does not offer push notifications");

const asked = notified("TASK_STATE_INPUT_REQUIRED");
const config = (id, taskId) => ({ tenant: "", id, taskId, url, token: secret, authentication: undefined });
const started = await client.sendMessage({
  tenant: "",
  metadata: undefined,
  configuration: { acceptedOutputModes: [], taskPushNotificationConfig: config("first", ""), historyLength: undefined, returnImmediately: true },
  message: {
    messageId: randomUUID(), contextId: "", taskId: "", role: Role.ROLE_USER, metadata: undefined, extensions: [], referenceTaskIds: [],
    parts: [{ content: { $case: "text", value: "Release the notes" }, metadata: undefined, filename: "", mediaType: "" }],
  },
});
const task = started.payload?.value ?? started;
const question = await asked;
console.log(`notified: ${question.status.message.parts[0].content.value}`);

const list = async () => (await client.listTaskPushNotificationConfig({ tenant: "", taskId: task.id, pageSize: 0, pageToken: "" })).configs;
await client.createTaskPushNotificationConfig(config("second", task.id));
const two = await list();
if (two.map((c) => c.id).join() !== "first,second" || two.some((c) => c.token)) throw new Error(`configurations: ${JSON.stringify(two)}`);
await client.deleteTaskPushNotificationConfig({ tenant: "", taskId: task.id, id: "second" });
const one = await client.getTaskPushNotificationConfig({ tenant: "", taskId: task.id, id: "first" });
if (one.url !== url || (await list()).length !== 1) throw new Error(`configuration: ${JSON.stringify(one)}`);

const cancelled = notified("TASK_STATE_CANCELED");
await client.cancelTask({ tenant: "", id: task.id, metadata: undefined });
const end = await cancelled;
if (end.status.state !== TaskState.TASK_STATE_CANCELED || end.id !== task.id) throw new Error("another end");
console.log("cancelled");
receiver.close();
receiver.closeAllConnections();
