/** Payloads of every kind keep all their bytes. Anything else is set aside and kept. */
import assert from 'node:assert/strict';
import type { WaitingState } from '../../connections/contract';
import type { Counters } from '../../payload/counters';
import { type CaseDefinition, cases } from './harness';
import { completed, counted, failed, idOf, idsOf, numbered, probe, probeWith, released, type World } from './world';

const body = (data: string, id = 'probe'): string => `{"job":"probe","data":${data},"id":"${id}"`;

/** Data that naive drivers break by decoding and encoding it, by patterns, or by counting characters instead of bytes. */
const DATA: readonly (readonly [what: string, data: string])[] = [
  ['empty lists and objects', '{"list":[],"object":{},"nested":[[],{}]}'],
  ['numbers of 20 digits', '{"id":12345678901234567890,"small":-0.0,"exact":0.30000000000000004,"huge":1e400}'],
  ['every plane of Unicode', '{"text":"ä € 漢字 😀 \u2028 \\u0000"}'],
  ['escapes that could be written otherwise', '{"path":"a\\/b","quote":"\\"","letter":"\\u00e9"}'],
  [
    'texts that look like our counters',
    '{"text":",\\"attempts\\":7}","attempts":9,"crashes":8,"inner":{"attempts":5}}',
  ],
  ['placeholders of other languages in texts', '{"text":"%d %s $1 \\\\1 {} :name ?"}'],
  ['white space', '{ "a" : 1 ,\n "b" : [ 2 ] }'],
];

/** Payloads written by other software, and their `attempts` before the reservation. */
const FOREIGN: readonly (readonly [what: string, text: string, attempts: number])[] = [
  ['an empty object', '{}', 0],
  ['an empty object with white space', ' { } ', 0],
  ['no id and no attempts', '{"job":"probe","data":{"n":12345678901234567890,"list":[]}}', 0],
  ['no attempts', '{"job":"probe","id":"foreign"}', 0],
  ['attempts that are not a number', '{"id":"foreign","attempts":null}', 0],
  [
    'attempts before other fields, as Laravel 12 writes them',
    '{"job":"A@b","data":[],"id":"foreign","attempts":2,"delay":null}',
    2,
  ],
  ['an id that is not a string', '{"attempts":1,"id":7}', 1],
  ['attempts of an inner object at the end', '{"id":"foreign","data":{"attempts":7}}', 0],
];

/** Bytes that one call can move, and by default the longest payload of a dispatch. */
const LONGEST = 1024 * 1024;

/** Characters of one to four bytes and an escape, so that a cut at nearly any byte breaks the text. */
const PIECE = 'xé漢😀\\u0000';

/** A body that has exactly `bytes` bytes once `,"attempts":0}` follows it. */
function bodyOfBytes(bytes: number): string {
  const room = bytes - Buffer.byteLength(`${body('""')},"attempts":0}`);
  const width = Buffer.byteLength(PIECE);
  return body(`"${PIECE.repeat(Math.floor(room / width))}${'x'.repeat(room % width)}"`);
}

/** Unlike `assert.equal`, does not print a megabyte when it fails. */
function assertText(payload: Buffer | undefined, text: string, where: string): void {
  assert(payload?.equals(Buffer.from(text)) === true, `the text is the same to the byte, ${where}`);
}

/** Asserts that the first job of a state has this payload. */
async function shows(world: World, state: WaitingState, text: string, where: string = state): Promise<void> {
  const [job] = await world.connection.queues.peek!(world.queue, state, 1);
  assertText(job?.payload, text, where);
}

const NO_OBJECTS = [
  '[]',
  '[{"id":"a","attempts":0}]',
  '"text"',
  '42',
  'null',
  'not json',
  '',
  '{"id":"a"',
  '{"a":1}}',
  '{"a":1} x',
];

/** A parser may take NUL for the end of the text. */
const WITH_NUL = ['{"job":"a"}\0', '{"job":"b"}\0{}', '\0{"job":"c"}', '{"job":"\0"}', '{"job":"e"\0}'];

export const payloadCases: readonly CaseDefinition[] = [
  ...DATA.flatMap(([what, data]) =>
    cases(['reserve', 'delay', 'peek', 'failed'], {
      async [`a payload keeps every byte through all states: ${what}`](world) {
        const text = body(data);
        await world.pushText(`${text},"attempts":0}`);
        await shows(world, 'ready', `${text},"attempts":0}`);
        await world.settle([released(await world.reserveOne(), 60)]);
        await shows(world, 'delayed', `${text},"attempts":1}`);
        await world.advance(61);
        await world.reserveOne({ lease: 60 });
        await shows(world, 'reserved', `${text},"attempts":2}`);
        await world.advance(61);
        const again = await world.reserveOne();
        assert.equal(again.payload.toString(), `${text},"crashes":1,"attempts":2}`);
        await world.settle([failed(again)]);
        const entry = await world.failedEntry('probe');
        assert.equal(entry.payload.toString(), `${text},"crashes":1,"exceptions":1,"attempts":2}`);
      },
    }),
  ),
  ...cases(['reserve', 'delay', 'renew', 'peek', 'failed', 'exactCounts', 'clear'], {
    async 'a payload as long as one call can move keeps every byte through all states, renewals and retries'(world) {
      const text = bodyOfBytes(LONGEST);
      await world.pushEntries([{ payload: `${text},"attempts":0}`, delay: 60 }]);
      await shows(world, 'delayed', `${text},"attempts":0}`);
      await world.advance(61);
      const taken = await world.reserveOne({ lease: 60 });
      assertText(taken.payload, `${text},"attempts":1}`, 'reserved');
      await world.advance(50);
      assert.deepEqual(await world.connection.renew!([taken], 60), ['renewed']);
      await world.advance(50);
      await shows(world, 'reserved', `${text},"attempts":1}`, 'renewed');
      await world.settles(released(taken));
      await shows(world, 'ready', `${text},"attempts":1}`, 'released');
      await world.settle([failed(await world.reserveOne())]);
      const entry = await world.failedEntry('probe');
      assertText(entry.payload, `${text},"exceptions":1,"attempts":2}`, 'failed');
      const retried = `${text},"releases":2,"attempts":0}`;
      assert.equal(await world.failedStore.retry(entry, Buffer.from(retried)), true);
      await shows(world, 'ready', retried, 'retried');
      const again = await world.reserveOne({ lease: 60 });
      assertText(again.payload, `${text},"releases":2,"attempts":1}`, 'reserved again');
      await world.advance(61);
      const reclaimed = await world.reserveOne();
      assertText(reclaimed.payload, `${text},"crashes":1,"releases":2,"attempts":1}`, 'reclaimed');
      assert.equal(await world.connection.queues.clear!(world.queue), 1);
      await world.holds({});
    },
  }),
  ...cases(['reserve', 'failed'], {
    async 'a payload longer than one call can move arrives with every byte, in a call of its own'(world) {
      const long = 'é'.repeat(600_000);
      const bodies = ['a', 'b'].map((id) => body(`"${long}"`, id));
      await world.pushText(...bodies.map((text) => `${text},"attempts":0}`));
      const taken = await world.reserveAll();
      world.handedOut(taken, ['a', 'b']);
      for (const [index, text] of bodies.entries()) {
        assertText(taken[index]?.payload, `${text},"attempts":1}`, `as number ${index}`);
      }
      await world.settles(...taken.map(failed));
      assert((await world.failedEntry('b')).payload.includes(long), 'the failed store keeps it whole');
    },
  }),
  ...FOREIGN.flatMap(([what, text, attempts]) =>
    cases(['reserve'], {
      async [`a payload written by other software runs and is counted: ${what}`](world) {
        await world.pushText(text);
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
        await world.settles(completed(second));
      },
    }),
  ),
  ...cases(['reserve'], {
    async 'a counter of more than 13 digits is ignored, and the counters after it count'(world) {
      const [most, tooMany] = [10 ** 12 - 1, 10 ** 15 - 1];
      const all = { crashes: most, exceptions: most, timeouts: most, releases: most, attempts: most };
      const tails: readonly (readonly [written: Partial<Counters>, read: Partial<Counters>])[] = [
        [{ attempts: most }, { attempts: most + 1 }],
        [{ attempts: tooMany }, {}],
        [
          { crashes: tooMany, exceptions: most, attempts: 3 },
          { exceptions: most, attempts: 4 },
        ],
        [
          { crashes: 1, exceptions: 2, timeouts: tooMany, releases: 4, attempts: 3 },
          { releases: 4, attempts: 4 },
        ],
        [all, { ...all, attempts: most + 1 }],
      ];
      const texts = tails.map(([written], index) =>
        JSON.stringify({ job: 'probe', data: {}, id: `${index}`, ...written }),
      );
      await world.pushText(...texts);
      const taken = await world.reserveAll();
      assert.deepEqual(idsOf(taken), ['0', '1', '2', '3', '4']);
      for (const [index, [, read]] of tails.entries()) counted(taken[index], read);
      await world.settles(...taken.map((one) => released(one)));
    },
    async 'equal payloads without an id are separate jobs, even when one call hands them all out'(world) {
      await world.pushText('{"job":"probe"}', '{"job":"probe"}', '{"job":"probe"}');
      const taken = await world.reserveAll();
      assert.equal(new Set(idsOf(taken)).size, 3);
      await world.settles(...taken.map(completed));
    },
  }),
  ...cases(['reserve', 'exactCounts'], {
    async 'the same payload pushed twice makes two jobs, which end separately'(world) {
      const [first, second] = await world.holdAll(['twin', 'twin']);
      assert(!first.payload.equals(second.payload), 'each reservation has a payload of its own');
      await world.settles(completed(first));
      assert.deepEqual(await world.settle([completed(first), released(second)]), ['lost', 'settled']);
      await world.holds({ ready: 1 });
    },
    async 'a payload with a NUL is either refused by the push or kept with all its bytes, and the jobs around it run'(
      world,
    ) {
      const good = numbered(WITH_NUL.length);
      const expected = good.map((id) => probeWith('"attempts":1', id));
      for (const [index, text] of WITH_NUL.entries()) {
        await world.push(good[index]!);
        try {
          await world.pushText(text);
          expected.push(text);
        } catch (error) {
          assert.equal((error as { code?: unknown }).code, 'E_INVALID_PAYLOAD', 'a refusal says what is wrong');
        }
      }
      const { reservations, setAside } = await world.takeAll();
      const met = reservations.map(({ payload }) => payload.toString());
      for (const { id } of setAside) met.push((await world.failedEntry(id)).payload.toString());
      for (const text of expected) assert(met.includes(text), `${JSON.stringify(text)} is there`);
      assert.equal(met.length, expected.length);
    },
  }),
  ...cases(['reserve', 'delay'], {
    async 'two jobs with equal payloads that are released with equal delays both come back'(world) {
      await world.push('twin', 'twin');
      for (let run = 0; run < 2; run += 1) await world.settle([released(await world.reserveOne(), 600)]);
      await world.advance(601);
      assert.equal((await world.reserveAll()).length, 2);
    },
  }),
  ...cases(['reserve', 'failed', 'exactCounts'], {
    async 'a payload that is not a JSON object is set aside with its bytes and a reason, and the jobs around it run'(
      world,
    ) {
      const good = numbered(NO_OBJECTS.length);
      await world.pushText(...NO_OBJECTS.flatMap((text, index) => [text, probe(good[index]!)]));
      const { reservations, setAside } = await world.takeAll();
      const run = reservations.map(({ payload }) => payload.toString());
      const expected = good.map((id) => probeWith('"attempts":1', id));
      assert.deepEqual(run, expected);
      assert.equal(setAside.length, NO_OBJECTS.length);
      for (const [index, { id, queue, reason }] of setAside.entries()) {
        assert(reason.length > 0, 'a reason is given');
        const entry = await world.failedEntry(id);
        assert.equal(entry.payload.toString(), NO_OBJECTS[index]);
        assert.deepEqual([queue, entry.queue, entry.exception], [world.queue, world.queue, reason]);
      }
      assert.equal(await world.failedStore.count(world.queue), NO_OBJECTS.length);
      await world.holds({ reserved: good.length });
    },
  }),
];
