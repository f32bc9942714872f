// Loaded into the conformance suite (node --import), so that it also runs with Node.js 20: it imports fs.globSync, which
// came with Node.js 22, for a command that the tests do not use.
import fs from "node:fs";
import { register } from "node:module";

const shim = `data:text/javascript,export * from "node:fs"; export function globSync() { throw new Error("needs Node.js 22"); }`;
const hooks = `export function resolve(specifier, context, next) {
  return specifier === "fs" ? { url: ${JSON.stringify(shim)}, shortCircuit: true } : next(specifier, context);
}`;
if (!fs.globSync) register(`data:text/javascript,${encodeURIComponent(hooks)}`);
