/** Payloads of every kind come through with all their bytes; what is none is set aside and kept. */
import assert from 'node:assert/strict';
import type { CaseDefinition } from './harness';
import { answered, completed, failed, idOf, idsOf, probe, probes, released } from './world';

const body = (data: string, id = 'probe'): string => `{"job":"probe","data":${data},"id":"${id}"`;

/** What naive drivers break: by decoding and encoding, by patterns, by counting characters instead of bytes. */
const DATA: readonly (readonly [what: string, data: string])[] = [
  ['empty lists and objects', '{"list":[],"object":{},"nested":[[],{}]}'],
  ['numbers of 20 digits', '{"id":12345678901234567890,"small":-0.0,"exact":0.30000000000000004,"huge":1e400}'],
  ['every plane of Unicode', '{"text":"ä € 漢字 😀 \u2028 \\u0000"}'],
  ['escapes that could be written otherwise', '{"path":"a\\/b","quote":"\\"","letter":"\\u00e9"}'],
  [
    'texts that look like our counters',
    '{"text":",\\"attempts\\":7}","attempts":9,"crashes":8,"inner":{"attempts":5}}',
  ],
  ['texts with patterns of other languages in them', '{"text":"%d %s $1 \\\\1 {} :name ?"}'],
  ['white space', '{ "a" : 1 ,\n "b" : [ 2 ] }'],
];

/** Texts that others wrote, and their `attempts` before the reservation. */
const FOREIGN: readonly (readonly [what: string, text: string, attempts: number])[] = [
  ['an empty object', '{}', 0],
  ['an empty object with white space', ' { } ', 0],
  ['no id and no attempts', '{"job":"probe","data":{"n":12345678901234567890,"list":[]}}', 0],
  ['no attempts', '{"job":"probe","id":"foreign"}', 0],
  ['attempts that are no number', '{"id":"foreign","attempts":null}', 0],
  [
    'attempts before other fields, as Laravel 12 writes them',
    '{"job":"A@b","data":[],"id":"foreign","attempts":2,"delay":null}',
    2,
  ],
  ['an id that is no text', '{"attempts":1,"id":7}', 1],
  ['attempts of an inner object at the end', '{"id":"foreign","data":{"attempts":7}}', 0],
];

/** As long as one call moves at most, and as a dispatch may be where nothing else is configured. */
const LONGEST = 1024 * 1024;

/** Characters of one to four bytes, and an escape, so that no place at which somebody cuts is harmless. */
const PIECE = 'xé漢😀\\u0000';

/** A body that, with `,"attempts":0}` behind it, has exactly so many bytes. */
function bodyOfBytes(bytes: number): string {
  const room = bytes - Buffer.byteLength(`${body('""')},"attempts":0}`);
  const width = Buffer.byteLength(PIECE);
  return body(`"${PIECE.repeat(Math.floor(room / width))}${'x'.repeat(room % width)}"`);
}

/** Unlike `assert.equal`, shows no megabyte where it fails. */
function assertText(payload: Buffer | undefined, text: string, where: string): void {
  assert(payload?.equals(Buffer.from(text)) === true, `the text is the same to the byte, ${where}`);
}

const NO_OBJECTS = [
  ...['[]', '[{"id":"a","attempts":0}]', '"text"', '42', 'null', 'not json', '', '{"id":"a"', '{"a":1}}', '{"a":1} x'],
];

/** Where a parser may end that takes the character for the end of the text. */
const WITH_NUL = ['{"job":"a"}\0', '{"job":"b"}\0{}', '\0{"job":"c"}', '{"job":"\0"}', '{"job":"e"\0}'];

export const payloadCases: readonly CaseDefinition[] = [
  ...DATA.map(([what, data]): CaseDefinition => ({
    name: `a payload keeps every byte through all states: ${what}`,
    requires: ['reserve', 'delay', 'peek', 'failed'],
    async run(world) {
      await world.push(`${body(data)},"attempts":0}`);
      const [ready] = await world.connection.peek(world.queue, 'ready', 1);
      assert.equal(ready?.payload.toString(), `${body(data)},"attempts":0}`);
      await world.settle([released(await world.reserveOne(), 60)]);
      const [delayed] = await world.connection.peek(world.queue, 'delayed', 1);
      assert.equal(delayed?.payload.toString(), `${body(data)},"attempts":1}`);
      await world.advance(61);
      await world.reserveOne({ lease: 60 });
      const [reserved] = await world.connection.peek(world.queue, 'reserved', 1);
      assert.equal(reserved?.payload.toString(), `${body(data)},"attempts":2}`);
      await world.advance(61);
      const again = await world.reserveOne();
      assert.equal(again.payload.toString(), `${body(data)},"crashes":1,"attempts":2}`);
      await world.settle([failed(again)]);
      const entry = await world.failedEntry('probe');
      assert.equal(entry.payload.toString(), `${body(data)},"crashes":1,"exceptions":1,"attempts":2}`);
    },
  })),
  {
    name: 'a payload as long as one call moves keeps every byte through all states, renewed and retried too',
    requires: ['reserve', 'delay', 'renew', 'peek', 'failed', 'exactCounts', 'clear'],
    async run(world) {
      const text = bodyOfBytes(LONGEST);
      const { connection, queue } = world;
      const first = async (state: 'ready' | 'delayed' | 'reserved') =>
        (await connection.peek(queue, state, 1))[0]?.payload;
      await world.pushLater(`${text},"attempts":0}`, 60);
      assertText(await first('delayed'), `${text},"attempts":0}`, 'delayed');
      await world.advance(61);
      const taken = await world.reserveOne({ lease: 60 });
      assertText(taken.payload, `${text},"attempts":1}`, 'reserved');
      await world.advance(50);
      assert.deepEqual(await answered(connection.renew([taken], 60)), ['renewed']);
      await world.advance(50);
      assertText(await first('reserved'), `${text},"attempts":1}`, 'renewed');
      assert.deepEqual(await world.settle([released(taken)]), ['settled']);
      assertText(await first('ready'), `${text},"attempts":1}`, 'released');
      await world.settle([failed(await world.reserveOne())]);
      const entry = await world.failedEntry('probe');
      assertText(entry.payload, `${text},"exceptions":1,"attempts":2}`, 'failed');
      const retried = Buffer.from(`${text},"releases":2,"attempts":0}`);
      assert.equal(await world.failedStore.retry(entry, retried), true);
      assertText(await first('ready'), retried.toString(), 'retried');
      assertText(
        (await world.reserveOne({ lease: 60 })).payload,
        `${text},"releases":2,"attempts":1}`,
        'reserved again',
      );
      await world.advance(61);
      assertText((await world.reserveOne()).payload, `${text},"crashes":1,"releases":2,"attempts":1}`, 'reclaimed');
      assert.equal(await connection.clear(queue), 1);
      assert.deepEqual(await connection.counts(queue), { ready: 0, delayed: 0, reserved: 0 });
    },
  },
  {
    name: 'a payload longer than one call moves comes through with every byte, alone',
    requires: ['reserve', 'failed'],
    async run(world) {
      const long = 'é'.repeat(600_000);
      await world.push(`${body(`"${long}"`, 'a')},"attempts":0}`, `${body(`"${long}"`, 'b')},"attempts":0}`);
      const taken = await world.reserveAll();
      world.handedOut(taken, ['a', 'b']);
      for (const [index, id] of ['a', 'b'].entries()) {
        const expected = Buffer.from(`${body(`"${long}"`, id)},"attempts":1}`);
        assert(taken[index]!.payload.equals(expected), `the text of ${id} is the same to the byte`);
      }
      assert.deepEqual(await world.settle(taken.map(failed)), ['settled', 'settled']);
      assert((await world.failedEntry('b')).payload.includes(long), 'the failed store keeps it whole');
    },
  },
  ...FOREIGN.map(([what, text, attempts]): CaseDefinition => ({
    name: `a text that others wrote is run and counted: ${what}`,
    requires: ['reserve'],
    async run(world) {
      await world.push(text);
      const first = await world.reserveOne();
      assert.equal(first.counters.attempts, attempts + 1);
      const given = JSON.parse(first.payload.toString()) as Record<string, unknown>;
      const sent = JSON.parse(text) as Record<string, unknown>;
      assert.equal(given['attempts'], attempts + 1);
      assert.deepEqual({ ...given, id: 0, attempts: 0 }, { ...sent, id: 0, attempts: 0 });
      assert(first.payload.toString().startsWith(text.trimEnd().slice(0, -1).trimEnd()), 'its own bytes stand first');
      assert.equal(typeof given['id'], 'string');
      if (typeof sent['id'] === 'string') assert.equal(given['id'], sent['id']);
      await world.settle([released(first)]);
      const second = await world.reserveOne();
      assert.equal(second.counters.attempts, attempts + 2);
      assert.equal(idOf(second), given['id'], 'its id stays');
      assert.deepEqual(await world.settle([completed(second)]), ['settled']);
    },
  })),
  {
    name: 'a counter of more than 13 digits is none, and those around it count',
    requires: ['reserve'],
    async run(world) {
      const [most, tooMany] = ['9'.repeat(12), '9'.repeat(15)];
      const tails = [
        `"attempts":${most}}`,
        `"attempts":${tooMany}}`,
        `"crashes":${tooMany},"exceptions":${most},"attempts":3}`,
        `"crashes":1,"exceptions":2,"timeouts":${tooMany},"releases":4,"attempts":3}`,
        ['crashes', 'exceptions', 'timeouts', 'releases', 'attempts'].map((name) => `"${name}":${most}`).join(',') +
          '}',
      ];
      const counts: readonly (readonly number[])[] = [
        [Number(most) + 1, 0, 0, 0, 0],
        [1, 0, 0, 0, 0],
        [4, 0, Number(most), 0, 0],
        [4, 0, 0, 0, 4],
        [Number(most) + 1, Number(most), Number(most), Number(most), Number(most)],
      ];
      await world.push(...tails.map((tail, index) => `{"job":"probe","data":{},"id":"${index}",${tail}`));
      const taken = await world.reserveAll();
      const read = taken.map(({ counters }) => counters);
      assert.deepEqual(
        read.map(({ attempts, crashes, exceptions, timeouts, releases }) => [
          attempts,
          crashes,
          exceptions,
          timeouts,
          releases,
        ]),
        counts,
      );
      assert.deepEqual(idsOf(taken), ['0', '1', '2', '3', '4']);
      assert.deepEqual(
        await world.settle(taken.map((one) => released(one))),
        taken.map(() => 'settled'),
      );
    },
  },
  {
    name: 'the same text pushed twice is two jobs, which end each by itself',
    requires: ['reserve', 'exactCounts'],
    async run(world) {
      await world.push(probe('twin'), probe('twin'));
      const [first, second] = await world.reserveAll();
      assert(first !== undefined && second !== undefined, 'both are handed out');
      assert(!first.payload.equals(second.payload), 'each reservation has a text of its own');
      assert.deepEqual(await world.settle([completed(first)]), ['settled']);
      assert.deepEqual(await world.settle([completed(first), released(second)]), ['lost', 'settled']);
      assert.deepEqual(await world.connection.counts(world.queue), { ready: 1, delayed: 0, reserved: 0 });
    },
  },
  {
    name: 'the same text without an id pushed twice is two jobs, also when both are handed out by one call',
    requires: ['reserve'],
    async run(world) {
      await world.push('{"job":"probe"}', '{"job":"probe"}', '{"job":"probe"}');
      const taken = await world.reserveAll();
      assert.equal(new Set(idsOf(taken)).size, 3);
      assert.deepEqual(await world.settle(taken.map(completed)), ['settled', 'settled', 'settled']);
    },
  },
  {
    name: 'twins that were run one after the other and are released with one delay both come back',
    requires: ['reserve', 'delay'],
    async run(world) {
      await world.push(probe('twin'), probe('twin'));
      const first = await world.reserveOne();
      await world.settle([released(first, 600)]);
      const second = await world.reserveOne();
      await world.settle([released(second, 600)]);
      await world.advance(601);
      assert.equal((await world.reserveAll()).length, 2);
    },
  },
  {
    name: 'what is no JSON object is set aside with its bytes and a reason, and the jobs around it run',
    requires: ['reserve', 'failed', 'exactCounts'],
    async run(world) {
      const good = probes(NO_OBJECTS.length);
      await world.push(...NO_OBJECTS.flatMap((text, index) => [text, good[index]!]));
      const { reservations, setAside } = await world.takeAll();
      assert.deepEqual(
        reservations.map(({ payload }) => payload.toString()),
        good.map((text) => text.replace('"attempts":0', '"attempts":1')),
      );
      assert.equal(setAside.length, NO_OBJECTS.length);
      for (const [index, { id, queue, reason }] of setAside.entries()) {
        assert.equal(queue, world.queue);
        assert(reason.length > 0, 'a reason is given');
        const entry = await world.failedEntry(id);
        assert.equal(entry.payload.toString(), NO_OBJECTS[index]);
        assert.equal(entry.queue, world.queue);
        assert.equal(entry.exception, reason);
      }
      assert.equal(await world.failedStore.count(world.queue), NO_OBJECTS.length);
      assert.deepEqual(await world.connection.counts(world.queue), { ready: 0, delayed: 0, reserved: good.length });
    },
  },
  {
    name: 'a text with a NUL in it is refused by the push, or kept with all its bytes, and the jobs around it run',
    requires: ['reserve', 'exactCounts'],
    async run(world) {
      const good = probes(WITH_NUL.length);
      const taken: string[] = [];
      for (const [index, text] of WITH_NUL.entries()) {
        await world.push(good[index]!);
        const isTaken = await world.push(text).then(
          () => true,
          (error: { code?: unknown }) => {
            assert.equal(error.code, 'E_INVALID_PAYLOAD', 'a refusal says what is wrong with the text');
            return false;
          },
        );
        if (isTaken) taken.push(text);
      }
      const { reservations, setAside } = await world.takeAll();
      const met = reservations.map(({ payload }) => payload.toString());
      for (const text of good) assert(met.includes(text.replace('"attempts":0', '"attempts":1')), `${text} runs`);
      for (const { id } of setAside) met.push((await world.failedEntry(id)).payload.toString());
      for (const text of taken) assert(met.includes(text), `${JSON.stringify(text)} is kept`);
      assert.equal(met.length, good.length + taken.length);
    },
  },
];
