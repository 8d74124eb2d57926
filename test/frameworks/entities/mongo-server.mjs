/**
 * The few commands of MongoDB's protocol that the check needs, on documents in memory: MongoDB itself cannot be installed from a
 * registry. The driver of Mongoose speaks to it as to any server.
 */
import { once } from 'node:events';
import { createServer } from 'node:net';
import mongoose from 'mongoose';

const { BSON } = mongoose.mongo;
const OP_MSG = 2013;
const HEADER = 16;

export async function startMongoServer(commands) {
  const collections = new Map();
  const answers = {
    hello: () => ({
      isWritablePrimary: true,
      maxBsonObjectSize: 16e6,
      maxMessageSizeBytes: 48e6,
      maxWriteBatchSize: 1e5,
      maxWireVersion: 21,
      minWireVersion: 0,
    }),
    insert: ({ insert, documents }) => {
      collections.set(insert, [...(collections.get(insert) ?? []), ...documents]);
      return { n: documents.length };
    },
    find({ find, filter, $db }) {
      const ids = filter._id.$in.map(String);
      commands.push(`find ${find} ${ids.length}`);
      const firstBatch = (collections.get(find) ?? []).filter(({ _id }) => ids.includes(String(_id)));
      return { cursor: { id: BSON.Long.fromNumber(0), ns: `${$db}.${find}`, firstBatch } };
    },
    delete({ delete: name, deletes: [{ q }] }) {
      const kept = collections.get(name).filter(({ _id }) => String(_id) !== String(q._id));
      collections.set(name, kept);
      return { n: 1 };
    },
  };
  const sockets = new Set();
  const server = createServer((socket) => {
    sockets.add(socket);
    let received = Buffer.alloc(0);
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      received = Buffer.concat([received, bytes]);
      while (received.length >= 4 && received.length >= received.readInt32LE(0)) {
        const message = received.subarray(0, received.readInt32LE(0));
        received = received.subarray(message.length);
        const command = read(message);
        const answer = answers[Object.keys(command)[0]]?.(command) ?? {};
        socket.write(written({ ok: 1, ...answer }, message.readInt32LE(4)));
      }
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `mongodb://127.0.0.1:${server.address().port}/shop`,
    stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** The command, with the documents of its sequences. */
function read(message) {
  let command = {};
  for (let place = HEADER + 4; place < message.length;) {
    const kind = message[place];
    const size = message.readInt32LE(place + 1);
    const end = place + 1 + size;
    if (kind === 0) command = { ...BSON.deserialize(message.subarray(place + 1, end)), ...command };
    else {
      const named = message.indexOf(0, place + 5);
      const documents = [];
      for (let at = named + 1; at < end; at += message.readInt32LE(at))
        documents.push(BSON.deserialize(message.subarray(at, at + message.readInt32LE(at))));
      command[message.toString('utf8', place + 5, named)] = documents;
    }
    place = end;
  }
  return command;
}

function written(answer, to) {
  const body = BSON.serialize(answer);
  const message = Buffer.alloc(HEADER + 5 + body.length);
  [message.length, 0, to, OP_MSG].forEach((number, place) => message.writeInt32LE(number, place * 4));
  message.set(body, HEADER + 5);
  return message;
}
