import { afterReserve, noCounters, readCounters, readCountersOfAny, withCounters } from '../../src/payload/counters';
import { decodeEnvelope, decodeJob, type Envelope } from '../../src/payload/envelope';
import { encodePayload } from '../../src/payload/payload-text';
import { InvalidPayloadError } from '../../src/payload/errors';
import { classesOf, definitionOf } from './classes';
import { Vault } from '../../src/payload/vault';

class SendEmail {
  declare to: string;
}

const definition = definitionOf(SendEmail);
const classes = classesOf();

const STRING_JOB = String.raw`App\\Jobs\\SendEmail@handle`;
const DATA = '{"to":"ada@example.org","tags":[],"big":12345678901234567890}';

/** One string job, as each version of Laravel writes it. */
const WRITTEN_BY: readonly (readonly [version: string, text: string])[] = [
  [
    '5.5',
    `{"displayName":"${STRING_JOB}","job":"${STRING_JOB}","maxTries":3,"timeout":90,"timeoutAt":1763683200,"data":${DATA},"id":"Zk3","attempts":0}`,
  ],
  [
    '5.8',
    `{"displayName":"SendEmail","job":"${STRING_JOB}","maxTries":3,"delay":null,"timeout":90,"timeoutAt":1763683200,"data":${DATA},"id":"Zk3","attempts":0}`,
  ],
  [
    '7',
    `{"uuid":"5b1b","displayName":"SendEmail","job":"${STRING_JOB}","maxTries":3,"maxExceptions":null,"delay":null,"timeout":90,"timeoutAt":1763683200,"data":${DATA},"id":"Zk3","attempts":0}`,
  ],
  [
    '8',
    `{"uuid":"5b1b","displayName":"SendEmail","job":"${STRING_JOB}","maxTries":3,"maxExceptions":null,"failOnTimeout":false,"backoff":null,"timeout":90,"retryUntil":1763683200,"data":${DATA},"id":"Zk3","attempts":0}`,
  ],
  [
    '12',
    `{"uuid":"5b1b","displayName":"SendEmail","job":"${STRING_JOB}","maxTries":3,"maxExceptions":null,"failOnTimeout":false,"backoff":null,"timeout":90,"retryUntil":1763683200,"data":${DATA},"createdAt":1763680000,"id":"Zk3","attempts":0,"delay":600}`,
  ],
  [
    '13, with hooks',
    `{"uuid":"5b1b","displayName":"SendEmail","job":"${STRING_JOB}","maxTries":3,"maxExceptions":null,"failOnTimeout":false,"backoff":null,"timeout":90,"retryUntil":1763683200,"data":${DATA},"createdAt":1763680000,"illuminate:log:context":{"data":{"trace":"s:2:\\"t1\\";"},"hidden":[]},"id":"Zk3","attempts":0,"delay":null}`,
  ],
  [
    'Horizon',
    `{"uuid":"5b1b","displayName":"SendEmail","job":"${STRING_JOB}","maxTries":"3","timeout":90,"retryUntil":1763683200,"data":${DATA},"id":"5b1b","attempts":0,"type":"job","tags":[],"silenced":false,"pushedAt":"1763680000.1234"}`,
  ],
];

const decoded = (text: string): [Envelope, SendEmail] => {
  const envelope = decodeEnvelope(Buffer.from(text));
  return [envelope, decodeJob(envelope, definition, classes, new Vault()) as SendEmail];
};

describe('a string job of Laravel', () => {
  it.each(WRITTEN_BY)('is read as version %s writes it', (_, text) => {
    const [envelope, job] = decoded(text);

    expect(envelope).toMatchObject({ kind: 'string', names: ['App\\Jobs\\SendEmail', 'SendEmail'] });
    expect(envelope.chosen).toMatchObject({ tries: 3, timeout: 90, retryUntil: 1_763_683_200_000 });
    expect(envelope.chosen.backoff).toBeUndefined();
    expect(envelope.chosen.failOnTimeout).toBeUndefined();
    expect(job).toBeInstanceOf(SendEmail);
    expect(job).toMatchObject({ to: 'ada@example.org', tags: [] });
  });

  it.each(WRITTEN_BY)('keeps its bytes when it is reserved, as version %s writes it', (_, text) => {
    const payload = Buffer.from(text);
    const reserved = withCounters(payload, afterReserve(noCounters)).toString();

    expect(reserved).toContain(DATA);
    expect(JSON.parse(reserved)).toEqual({ ...JSON.parse(text), attempts: 1 });
  });
});

describe('a class job of Laravel', () => {
  const text = String.raw`{"uuid":"5b1b","displayName":"App\\Jobs\\SendEmail","job":"Illuminate\\Queue\\CallQueuedHandler@call","maxTries":"none of our business","data":{"commandName":"App\\Jobs\\SendEmail","command":"O:18:\"App\\Jobs\\SendEmail\":0:{}"},"id":"Zk3","attempts":0}`;

  it('is recognised by its class, and options that nobody can read do not matter', () => {
    expect(decodeEnvelope(Buffer.from(text))).toMatchObject({
      kind: 'illuminate',
      name: 'App\\Jobs\\SendEmail',
      names: ['App\\Jobs\\SendEmail'],
      displayName: 'App\\Jobs\\SendEmail',
      chosen: {},
    });
  });

  it('cannot be restored without a format', () => {
    expect(() => decoded(text)).toThrow(InvalidPayloadError);
  });
});

function reversed(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const members = Object.entries(value).map(([key, member]): [string, unknown] => [key, reversed(member)]);
  return Object.fromEntries(members.toReversed());
}

describe('a job of Onqueue that a Laravel worker reserved and released', () => {
  const job = Object.assign(Object.create(SendEmail.prototype) as object, {
    to: 'a/é',
    at: new Date(0),
    seen: new Map([['x', new Set([1n])]]),
    none: new Set(),
  });
  const text = encodePayload({ definition, job, chosen: { backoff: { delays: [1, 5], jitter: 0 } }, id: 'i', classes });

  /** What cjson makes of a payload: another order of keys, `[]` as `{}`, escaped slashes. */
  const rewritten = (fields: object): string =>
    JSON.stringify(reversed(fields)).replaceAll('/', '\\/').replaceAll('[]', '{}');

  it('is still read', () => {
    const fields = { ...(JSON.parse(text) as Record<string, unknown>), attempts: 1, crashes: 2 };

    const [envelope, back] = decoded(rewritten(fields));

    expect(envelope.chosen.backoff).toEqual({ delays: [1, 5], jitter: 0 });
    expect(Object.fromEntries(Object.entries(back))).toEqual({ ...job });
    expect(readCounters(Buffer.from(rewritten(fields)))).toBeUndefined();
    expect(readCountersOfAny(rewritten(fields))).toEqual({
      attempts: 1,
      crashes: 2,
      exceptions: 0,
      timeouts: 0,
      releases: 0,
    });
  });
});
