import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Class } from '../../src/base/class';
import { decodeValue, decodeEnvelope, decodeJob, decodeMiddleware } from '../../src/payload/envelope';
import { encodeValue } from '../../src/payload/encoder';
import { noCounters, readCounters } from '../../src/payload/counters';
import { BUILT_INS } from '../../src/payload/built-ins';
import { chainedJobOf, readCarried, type ChainLink } from '../../src/payload/chain';
import { encodePayload } from '../../src/payload/payload-text';
import { classesOf, definitionOf } from './classes';
import { Vault } from '../../src/payload/vault';

const page = readFileSync(join(__dirname, '../../docs/format.md'), 'utf8');

const matches = (pattern: RegExp): string[] => [...page.matchAll(pattern)].map((match) => match[1]!);

const blocks = matches(/```json\n(.*?)\n```/gs);
const commands = matches(/RPUSH queues:default '(.*)'/g);
const rows = [...page.matchAll(/^\| `([\w:]+)` \| `(["[{n].*?)` \|/gm)].map(
  ([, type, form]) => [type!, form!] as const,
);

class RateLimited {
  declare key: string;
  handle(): void {}
}
class AnyJob {}

const known = new Map<string, Class>([['RateLimited', RateLimited]]);
const classes = classesOf(known);
const definition = (name: string, version = 2) => definitionOf(AnyJob, { name, version });

describe('docs/format.md', () => {
  it('has examples of every kind', () => {
    expect(blocks).toHaveLength(10);
    expect(commands).toHaveLength(1);
    expect(rows.length).toBeGreaterThan(30);
  });

  it.each([...blocks, ...commands])('shows payloads that can be read: %s', (text) => {
    const envelope = decodeEnvelope(Buffer.from(text));

    expect(decodeJob(envelope, definition(envelope.name), classes, new Vault())).toBeInstanceOf(AnyJob);
    expect(decodeMiddleware(envelope, classes, new Vault())).toEqual(expect.any(Array));
    expect(readCounters(Buffer.from(text))).toBeDefined();
  });

  it('shows first exactly what is written', () => {
    const job = Object.assign(new AnyJob(), { podcastId: 42, publishAt: new Date('2026-11-21') });
    const { version: _, ...unversioned } = definition('ProcessPodcast');
    const written = { ...unversioned, version: undefined };
    const id = decodeEnvelope(Buffer.from(blocks[0]!)).id!;

    expect(encodePayload({ definition: written, job, chosen: {}, id, classes })).toBe(blocks[0]);
  });

  it('shows a chain and its carrier as they are read', () => {
    const [, , , , chained, carrier] = blocks.map((text) => decodeEnvelope(Buffer.from(text)));
    const names = (links: readonly ChainLink[]) => links.map((link) => chainedJobOf(link, 'main'));

    const { links, caught } = chained!.chain;
    expect(names([...links, caught!])).toMatchObject([
      { name: 'Resize', queue: 'images', connection: 'main' },
      { name: 'Store', queue: 'images', connection: 'main', id: '019c7d7a-2c00-7a6b-9d3e-5f0c1b2a394f' },
      { name: 'Alert', queue: 'default', connection: 'other' },
    ]);
    expect(names(readCarried(carrier!.fields['data']))).toMatchObject([
      { name: 'Resize', queue: 'images', connection: 'other' },
    ]);
  });

  it('names all options and counters as they are read', () => {
    const [, everything, counters] = blocks.map((text) => Buffer.from(text));

    expect(decodeEnvelope(everything!).chosen).toEqual({
      tries: 5,
      maxExceptions: 3,
      failOnTimeout: true,
      backoff: { delays: [10, 60, 300], jitter: 0.1 },
      timeout: 120,
      retryUntil: 1_795_219_200_000,
      maxCrashes: 3,
    });
    expect(readCounters(counters!)?.counters).toEqual({
      attempts: 1,
      crashes: 1,
      exceptions: 2,
      timeouts: 1,
      releases: 3,
    });
    expect(readCounters(Buffer.from(commands[0]!))?.counters).toEqual(noCounters);
  });

  it.each(rows)('shows a %s as it is written and read: %s', (type, form) => {
    const value = decodeValue(JSON.parse(form), { '': type }, classes);

    const { command, types } = encodeValue(value, classes, 'X');

    expect(JSON.parse(JSON.stringify(command))).toEqual(JSON.parse(form));
    expect(types).toEqual({ '': type });
  });

  it('lists every type', () => {
    const listed = rows.map(([type]) => type);

    expect(listed.toSorted()).toEqual([...BUILT_INS.keys(), 'undefined', 'class:RateLimited'].toSorted());
  });
});
