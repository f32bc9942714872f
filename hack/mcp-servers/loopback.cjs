// Loaded into servers that listen on all interfaces (node --require), so that they listen on loopback alone. It tells
// the address on standard error, so that port 0 can be asked for, and ends the server when its standard input ends, so
// that none outlives the test that started it.
const net = require("node:net");

const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (port, ...rest) {
  const callbacks = rest.filter((argument) => typeof argument === "function");
  this.once("listening", () => process.stderr.write(`loopback: http://127.0.0.1:${this.address().port}\n`));
  process.stdin.resume().once("end", () => process.exit(0));
  return listen.call(this, { port: Number(port), host: "127.0.0.1" }, ...callbacks);
};
